"""Who may see what. Every page fetches its collection here; what is not yours does not exist."""

from django.contrib import messages
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

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


class SignInRequired(LoginRequiredMiddleware):
    """Every view asks for a sign-in unless it says @login_not_required: forgetting is safe."""

    def handle_no_permission(self, request: HttpRequest, view_func) -> HttpResponse:
        """After an act, sign in leads to a page and not to the act: a GET there would be a dead end."""
        if request.method in ("GET", "HEAD"):
            return super().handle_no_permission(request, view_func)
        messages.warning(request, "You were signed out: what you just did was not saved. Sign in and do it again.")
        slug, act = request.resolver_match.kwargs.get("slug"), request.resolver_match.url_name
        page = "adjudicate" if act.endswith("adjudication") else "rate"
        return redirect_to_login(reverse(page, args=[slug]) if slug else reverse("home"))
