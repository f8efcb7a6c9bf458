"""The addresses of the files of a page."""

from collections.abc import Callable, Sequence

from django.urls import URLPattern, path

TABLE, JSON = ("csv", "xlsx"), ("json",)


def files(
    route: str, view: Callable, name: str, endings: Sequence[str] = (*TABLE, *JSON), **kwargs: str
) -> list[URLPattern]:
    """The addresses of a page's files, one for each ending."""
    return [path(f"{route}.{ending}", view, kwargs | {"ending": ending}, f"{name}_{ending}") for ending in endings]
