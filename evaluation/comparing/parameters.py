"""Parameters of the address that links between pages of a comparison keep."""

from collections.abc import Container, Iterable
from urllib.parse import urlencode

from django.http import HttpRequest

from ..page.address import OF_PICTURES


def kept_parameters(request: HttpRequest, without: Container[str]) -> list[tuple[str, str]]:
    names = [name for name in request.GET if name not in without and name not in OF_PICTURES]
    return [(name, value) for name in names for value in request.GET.getlist(name)]


def query_string(parts: Iterable[tuple[str, str]]) -> str:
    """The query string of these parameters, readable where an address allows it; "" for none."""
    text = urlencode([*parts], safe="@()=:,")
    return f"?{text}" if text else ""
