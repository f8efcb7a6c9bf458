"""The server of these tests: the project itself, called in this process, so that no port is needed."""

import httpx
from django.core.handlers.wsgi import WSGIHandler
from idealist_client import Idealist

from ratings.people import tokens

SERVER = "http://testserver"


def transport() -> httpx.WSGITransport:
    return httpx.WSGITransport(WSGIHandler())


def connected(user, collection, *scopes: str, through: httpx.BaseTransport | None = None) -> Idealist:
    """The client of this person, by a new token."""
    _, key = tokens.make(user, collection, name="notebook", scopes=scopes, days=7)
    return Idealist(SERVER, key, transport=through or transport())
