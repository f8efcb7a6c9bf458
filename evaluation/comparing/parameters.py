"""Parameters of the address that links between pages of a comparison keep."""

from collections.abc import Container

from django.http import HttpRequest

from ..page.address import PICTURE_PARAMETERS


def kept_parameters(request: HttpRequest, without: Container[str]) -> list[tuple[str, str]]:
    """(name, value) of the parameters in the address, but for those of pictures and those in `without`."""
    names = [name for name in request.GET if name not in without and name not in PICTURE_PARAMETERS]
    return [(name, value) for name in names for value in request.GET.getlist(name)]
