"""The token of a call of the API, from its header Authorization."""

from django.http import HttpRequest

from ..models import ApiToken
from ..web.problems import Problem
from . import throttle, tokens
from .sign_in import second_factor

NO_FACTOR = "The role of the token's owner needs a second factor. Once they set one up, the token works again."


def token_of(request: HttpRequest) -> ApiToken:
    """The API token that the call sends, if it is valid.

    Raises Problem with 401 for a call without a valid token; with 429 once its address sent too many such calls in
    a minute; with 403 if the token's owner lacks the second factor that their role needs.
    """
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    token = tokens.valid_token(key.strip()) if scheme.lower() == "bearer" else None
    if token is None:
        if not throttle.allows_call(request, "address", throttle.CALLS_PER_ADDRESS):
            raise too_many()
        raise Problem(401, headers={"WWW-Authenticate": "Bearer"})
    if second_factor.is_missing_for_programs(token.user):
        raise Problem(403, NO_FACTOR, kind="second-factor")
    return token


def too_many() -> Problem:
    return Problem(429, kind="too-many-calls", headers={"Retry-After": str(throttle.MINUTE)})
