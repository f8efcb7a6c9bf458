"""Who may see what. Every page fetches its collection here; what is not yours does not exist."""

from django.http import Http404, HttpRequest

from .models import Collection, Rater


def collection_for(request: HttpRequest, slug: str, *roles: str) -> Collection:
    """The collection, with `.role` set, if the user has one of `roles` in it. Raises Http404 otherwise."""
    collection = Collection.objects.visible_to(request.user, *roles).filter(slug=slug).first()
    if collection is None:
        raise Http404("No such collection.")
    collection.role = collection.role_of(request.user)
    return collection


def rater_for(request: HttpRequest, collection: Collection) -> Rater:
    """The rater of this account. Raises Http404 when a membership has no rater."""
    rater = Rater.objects.select_related("collection").filter(collection=collection, user=request.user).first()
    if rater is None:
        raise Http404("No such rater.")
    return rater
