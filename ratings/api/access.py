"""Authentication and authorization of calls: a token, its scopes, and the present role of its owner."""

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja.security import HttpBearer

from ..models import SCOPES_OF, ApiToken, Collection, Rater, Scope
from ..people import throttle, tokens
from ..people.bearer import token_of, too_many
from ..web.problems import Problem

# The end of a refusal: who has the right that the scope gives.
WHO_MAY = {
    Scope.READ: "analysts and admins read",
    Scope.IMPORT: "admins import",
    Scope.RATE: "raters rate",
    Scope.MANAGE: "superusers manage",
}


class TokenRequest(HttpRequest):
    """A call, after `Bearer` has read its token, as the type of an argument."""

    auth: ApiToken


class Bearer(HttpBearer):
    """A token in the header Authorization. Cookies and sessions are ignored."""

    def __call__(self, request: HttpRequest) -> ApiToken:
        token = token_of(request)
        if not throttle.allows_call(request, "token", throttle.CALLS_PER_TOKEN, token.key_hash):
            raise too_many()
        tokens.record_use(token)
        return token

    authenticate = None


def collections_of(request: TokenRequest):
    """The collections that the token reaches, with any permission."""
    token = request.auth
    visible = Collection.objects.visible_to(token.user)
    return visible.filter(pk=token.collection_id) if token.collection_id else visible


def collection_in(request: TokenRequest, slug: str, scope: str | None = None) -> Collection:
    """The collection, with `.role` set. Raises Http404 for one of others, and Problem 403 without the scope."""
    collection = collections_of(request).with_left_out().filter(slug=slug).first()
    if collection is None:
        raise Http404
    collection.role = collection.role_of(request.auth.user)
    if scope:
        require_scope(request, scope)
        if scope not in SCOPES_OF[collection.role]:
            raise Problem(403, f"Its owner is {collection.role} here, and only {WHO_MAY[scope]}.", kind="role")
    return collection


def require_scope(request: TokenRequest, scope: str) -> None:
    """Raises Problem 403 for a token without the scope."""
    if scope not in request.auth.scopes:
        has = ", ".join(request.auth.scopes)
        detail = f"The token cannot {scope}, only {has}. Make one with the scope {scope}."
        raise Problem(403, detail, kind="scope")


def rater_in(request: TokenRequest, slug: str) -> Rater:
    """The token's owner as a rater. Raises as `collection_in`."""
    collection = collection_in(request, slug, Scope.RATE)
    members = Rater.objects.members().with_versions()
    return get_object_or_404(members, collection=collection, user=request.auth.user)
