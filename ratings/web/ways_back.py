"""Where a page leads back to: the page whose form was sent, found by addresses alone."""

from urllib.parse import urlsplit

from django.http import HttpRequest
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme


def page_above(path: str) -> str:
    """The address of the page to which an act belongs, which begins as the act's own does."""
    parts = path.strip("/").split("/")
    for number in range(len(parts) - 1, 0, -1):
        address = f"/{'/'.join(parts[:number])}/"
        try:
            # A rater may no longer have the pair.
            if resolve(address).url_name != "rate_pair":
                return address
        except Resolver404:
            continue
    return reverse("home")


def page_before(request: HttpRequest) -> str:
    """The address of the page that sent the form, as the browser tells it; otherwise of the one above.

    A refused form stands at the address of its act, which is no page to open.
    """
    referer = request.headers.get("Referer", "")
    if "://" not in referer or not url_has_allowed_host_and_scheme(referer, {request.get_host()}):
        return page_above(request.path_info)
    path, query = urlsplit(referer)[2:4]
    try:
        if getattr(resolve(path).func, "is_act", False):
            return page_above(path)
    except Resolver404:
        return page_above(request.path_info)
    return f"{path}?{query}" if query else path
