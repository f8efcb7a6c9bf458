"""Who may see what. Every page fetches its collection here; what is not yours does not exist."""

import hashlib

from django.contrib import messages
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import redirect_to_login
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse

from .models import Collection, Job, Rater, Role
from .prepared import Blank, Prepared
from .queue.acts import with_guidelines


def collection_for(request: HttpRequest, slug: str, *roles: str) -> Collection:
    """The collection, with `.role` set, if the user has one of `roles` in it. Raises Http404 otherwise."""
    collection = Collection.objects.visible_to(request.user, *roles).filter(slug=slug).first()
    if collection is None:
        raise Http404("No such collection.")
    collection.role = collection.role_of(request.user)
    return collection


def rater_in(request: HttpRequest, slug: str) -> Rater:
    """This account as a rater of the collection, with that and with what `with_guidelines` adds.

    One query, for it is asked at every save.

    Raises Http404 for everybody who does not rate there; superusers are admins.
    """
    user = request.user
    rater = None if user.is_superuser else _rater.first(slug=slug, user=user.pk)
    if rater is None:
        raise Http404("You do not rate in a collection of this name.")
    return rater


def _who_rates() -> QuerySet:
    user = Blank("user", Rater, "user")
    rates = {"collection__memberships__user": user, "collection__memberships__role": Role.RATER}
    raters = with_guidelines(Rater.objects.filter(user=user, **rates))
    return raters.filter(collection__slug=Blank("slug", Collection, "slug"))


_rater = Prepared(_who_rates)


def rater_for(request: HttpRequest, collection: Collection) -> Rater:
    """The rater of this account. Raises Http404 when a membership has no rater."""
    rater = Rater.objects.select_related("collection").filter(collection=collection, user=request.user).first()
    if rater is None:
        raise Http404("No such rater.")
    return rater


def archives_for(request: HttpRequest) -> QuerySet[Job]:
    """The archives that were brought. Raises Http404 for who makes no collections: for all but superusers."""
    if not request.user.is_superuser:
        raise Http404("You make no collections here.")
    return Job.objects.filter(kind=Job.Kind.ARCHIVE).select_related("by", "collection")


def account_key(user) -> str:
    """What a browser keeps unsent ratings under: no other account has it, neither here nor on another server.

    Of no secret, so that it outlives a change of the server's secret key.
    """
    return hashlib.sha256(f"{user.pk} {user.date_joined.isoformat()}".encode()).hexdigest()[:24]


def wants_json(request: HttpRequest) -> bool:
    """Whether a script asks. A browser that follows a link or sends a form takes anything, and gets a page."""
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


# The modules of their views have the names of these pages.
PAGES_OF_ADMINS = {"adjudicate", "anchors", "guidelines", "imports", "people", "pool", "progress"}


class SignInRequired(LoginRequiredMiddleware):
    """Every view asks for a sign-in unless it says @login_not_required: forgetting is safe."""

    def handle_no_permission(self, request: HttpRequest, view_func) -> HttpResponse:
        """After an act, sign in leads to a page and not to the act: a GET there would be a dead end."""
        if wants_json(request):
            return JsonResponse({"error": "Nobody is signed in."}, status=401)
        if request.method in ("GET", "HEAD"):
            return super().handle_no_permission(request, view_func)
        messages.warning(request, "You were signed out: what you just did was not saved. Sign in and do it again.")
        slug, module = request.resolver_match.kwargs.get("slug"), view_func.__module__.rpartition(".")[2]
        page = module if module in PAGES_OF_ADMINS else "rate"
        return redirect_to_login(reverse(page, args=[slug]) if slug else reverse("home"))
