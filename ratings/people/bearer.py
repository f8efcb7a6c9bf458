"""The token of a call of the API, from its header Authorization."""

from django.http import HttpRequest

from ..models import ApiToken
from ..web.problems import Problem
from . import throttle, tokens


def token_of(request: HttpRequest) -> ApiToken:
    """The valid token of a call. Raises Problem and counts the call if it has none."""
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    token = tokens.valid_token(key.strip()) if scheme.lower() == "bearer" else None
    if token is None:
        try:
            throttle.count_call_of_nobody(request)
        except throttle.TooMany as error:
            raise too_many() from error
        raise Problem(401, headers={"WWW-Authenticate": "Bearer"})
    return token


def too_many() -> Problem:
    return Problem(429, kind="too-many-calls", headers={"Retry-After": str(throttle.WINDOW)})
