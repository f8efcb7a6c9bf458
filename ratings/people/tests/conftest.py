"""A provider of OpenID Connect, for the tests of sign-in by it."""

import pytest

from ratings.tests import clocks

from .identity_provider import IdentityProvider, fresh

ANNA = {"sub": "anna-1", "email": "anna@example.org", "email_verified": True, "preferred_username": "anna"}


@pytest.fixture(scope="session")
def idle_provider():
    provider = IdentityProvider()
    yield provider
    provider.close()


@pytest.fixture
def provider(idle_provider, monkeypatch):
    clocks.stopped(monkeypatch, 1_000_000)
    fresh(idle_provider, ANNA)
    with idle_provider.settings():
        yield idle_provider
