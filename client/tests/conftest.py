"""Requests within the transaction of a test: they keep its connection, as with the test client of Django."""

from collections.abc import Iterator

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections


@pytest.fixture(autouse=True)
def open_connection() -> Iterator[None]:
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
