"""Access control: decorators that give a view its collection, rater or archives, or answer 404."""

import hashlib
from collections.abc import Callable, Iterable
from functools import partial, wraps

from django.contrib import messages
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.db.models import F, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import add_never_cache_headers
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from ..database.prepared import Blank, Prepared
from ..models import Collection, Deletion, Job, Rater, Role
from ..web import sent
from ..web.pages import wants_json
from ..web.ways_back import page_above

READERS = (Role.ANALYST, Role.ADMIN)

View = Callable[..., HttpResponse]


class SignedInRequest(HttpRequest):
    """The request of a view that only people with an account reach, as the type of its argument."""

    user: User


def with_access(access: Callable[..., object], *argument_names: str) -> Callable[[View], View]:
    """A decorator: the view gets the result of `access` in place of those arguments of its address.

    `access` gets the request and the arguments with these names, and raises Http404 for people without access. The
    view has it as its attribute `access`, so that access can be checked before a request body is read.
    """

    def decorated(view: View) -> View:
        @wraps(view)
        def wrapped(request: HttpRequest, **kwargs) -> HttpResponse:
            arguments = [kwargs.pop(name) for name in argument_names]
            return view(request, access(request, *arguments), **kwargs)

        wrapped.access = access
        return wrapped

    return decorated


def of_collection(*roles: str) -> Callable[[View], View]:
    """A decorator: call view(request, collection, …) for members with one of `roles`; without roles, for all."""
    return with_access(partial(collection_for, roles=roles), "slug")


def readers_page(view: View) -> View:
    """A decorator: a view for GET, called as view(request, collection, …) for analysts and admins."""
    return require_safe(of_collection(*READERS)(view))


def admin_page(view: View) -> View:
    """A decorator: a view for GET, called as view(request, collection, …) for admins of the collection."""
    return require_safe(of_collection(Role.ADMIN)(view))


def admin_act(view: View) -> View:
    """A decorator: a view for POST, called as view(request, collection, …) for admins of the collection."""
    return require_POST(of_collection(Role.ADMIN)(view))


def record_act(view: View) -> View:
    """A decorator like `admin_act`, for acts that a collection refuses once an admin has put it away.

    These are the changes of its record: pairs, ratings, decisions. The attribute `of_record` marks such views, so
    that pages of a collection that is put away show no form for them.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, collection: Collection, **kwargs) -> HttpResponse:
        return refusal_if_away(request, collection) or view(request, collection, **kwargs)

    wrapped.of_record = True
    return admin_act(wrapped)


def refusal_if_away(request: HttpRequest, collection: Collection) -> HttpResponse | None:
    """The answer to a change of the record if the collection is put away; None if it is in use."""
    if not collection.put_away_at:
        return None
    messages.error(request, f"{collection} is put away, so nothing was changed. Take it out again first.")
    return redirect("collection", collection.slug)


def collection_for(request: HttpRequest, slug: str, roles: Iterable[str] = ()) -> Collection:
    """The collection with this slug, if the user has one of `roles` in it. Raises Http404 otherwise.

    Without `roles` any role will do. The collection gets two attributes. `role` is the user's role in it;
    superusers are admins everywhere. `own_memberships` has the rows of `memberships_of`, for the switcher in the
    head of the page; None for superusers, who need no membership.
    """
    visible = Collection.objects.visible_to(request.user, *roles)
    # `left_out`, how many raters are left out, is read in the same query: pages of results name it among the
    # options of each number.
    collection = visible.with_left_out().filter(slug=slug).first()
    if collection is None:
        raise Http404("No such collection.")
    if request.user.is_superuser:
        collection.own_memberships, collection.role = None, Role.ADMIN
        return collection
    collection.own_memberships = memberships_of(request.user)
    role_by_slug = {row["slug"]: row["role"] for row in collection.own_memberships}
    collection.role = role_by_slug.get(slug)
    return collection


def memberships_of(user) -> list[dict]:
    """Name, slug, role and put_away_at of each collection in which the user has a role, by name."""
    columns = {name: F(f"collection__{name}") for name in ("name", "slug", "put_away_at")}
    of_user = user.memberships.filter(collection__slug__isnull=False)
    return list(of_user.order_by("collection__name").values("role", **columns))


class NotARater(Http404):
    """The account does not rate in the collection, or does no longer."""


def rater_in(request: HttpRequest, slug: str) -> Rater:
    """The rater of this account, annotated by `with_versions`. One query, since every save calls it.

    Raises NotARater for everybody who may not open the desk there.
    """
    rater = _rater.first(slug=slug, user=request.user.pk)
    if rater is None:
        raise NotARater(gettext("You do not rate in a collection of this name. Its admins can say why."))
    return rater


def _raters_of() -> QuerySet:
    raters = Rater.objects.members().with_versions().filter(user=Blank("user", Rater, "user"))
    return raters.filter(collection__slug=Blank("slug", Collection, "slug"))


_rater = Prepared(_raters_of)
of_rater = with_access(rater_in, "slug")


def superuser_for(request: HttpRequest) -> User:
    """The superuser who asks. Raises Http404 for all others."""
    if not request.user.is_superuser:
        raise Http404("Only superusers see this page.")
    return request.user


def superuser_page(view: View) -> View:
    """A decorator: a view for GET, called as view(request, superuser, …) for superusers."""
    return require_safe(with_access(superuser_for)(view))


def superuser_act(view: View) -> View:
    """A decorator: a view for POST, called as view(request, superuser, …) for superusers."""
    return require_POST(with_access(superuser_for)(view))


def deletion_for(request: HttpRequest, pk: int) -> Deletion:
    """The deletion of a collection. Raises Http404 for all but its admins and superusers."""
    return get_object_or_404(Deletion.objects.of_admin(request.user), pk=pk)


of_deletion = with_access(deletion_for, "pk")


def making_for(request: HttpRequest, kind: str, pk: int) -> Job:
    """The job that makes a collection. Raises Http404 for all but superusers, and whoever asked for a copy."""
    jobs = Job.objects.filter(kind=kind).select_related("by", "collection")
    if not request.user.is_superuser:
        jobs = jobs.filter(kind=Job.Kind.COPY, by=request.user)
    return get_object_or_404(jobs, pk=pk)


of_makings = with_access(making_for, "kind", "pk")


def may_make(user: User | AnonymousUser) -> bool:
    """Whether the person may make collections: superusers, and accounts that a superuser lets."""
    return user.has_perm("ratings.add_collection")


def maker_for(request: HttpRequest) -> User:
    """The person who asks. Raises Http404 for all who may not make collections."""
    if not may_make(request.user):
        raise Http404("You may not make collections.")
    return request.user


of_makers = with_access(maker_for)


def source_for(request: HttpRequest, slug: str) -> Collection:
    """The collection to copy. Raises Http404 for all but its admins who may make collections."""
    maker_for(request)
    return collection_for(request, slug, [Role.ADMIN])


of_source = with_access(source_for, "slug")


def account_key(user) -> str:
    """The name under which a browser stores unsent ratings: unique to the account, on this and other servers.

    It does not depend on the server's secret key, which may change.
    """
    return hashlib.sha256(f"{user.pk} {user.date_joined.isoformat()}".encode()).hexdigest()[:24]


class NotStored(MiddlewareMixin):
    """Middleware that forbids caching: after a sign-out, the next person could read cached pages."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        add_never_cache_headers(response)
        return response


class SignInRequired(LoginRequiredMiddleware):
    """Middleware: every view requires a sign-in, unless it has @login_not_required."""

    def handle_no_permission(self, request: HttpRequest, view_func) -> HttpResponse:
        """The answer to somebody who is not signed in, such as after the end of their session.

        A script gets 401, a person a redirect to the sign-in. But what they wrote in a form, which a redirect
        would lose, comes back on a page, to be copied.
        """
        if wants_json(request):
            return JsonResponse({"error": gettext("Nobody is signed in.")}, status=401)
        if request.method in ("GET", "HEAD"):
            return super().handle_no_permission(request, view_func)
        # After the sign-in comes the page above: the address of an act has no page of its own.
        to_sign_in = redirect_to_login(page_above(request.path_info))
        if written := sent.written(request):
            context = {"sign_in": to_sign_in.url, "written": written, "files": bool(request.FILES)}
            return render(request, "ratings/signed_out.html", context, status=403)
        warning = gettext("You were signed out: what you just did was not saved. Sign in and do it again.")
        messages.warning(request, warning)
        return to_sign_in


class PagesForActs(MiddlewareMixin):
    """Middleware: a page in place of the empty answer 405, where somebody opens the address of an act."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        is_act = request.method in ("GET", "HEAD") and response.status_code == 405
        if not is_act or response.content or wants_json(request):
            return response
        page = render(request, "405.html", {"above": page_above(request.path_info)}, status=405)
        page["Allow"] = response["Allow"]
        return page
