"""Where an act leads back to, found by addresses alone."""

from contextlib import suppress

from django.urls import Resolver404, resolve, reverse


def page_above(path: str) -> str:
    """The address of the page to which an act belongs: the nearest page above its path."""
    parts = path.strip("/").split("/")[:-1]
    while parts:
        address = f"/{'/'.join(parts)}/"
        parts.pop()
        with suppress(Resolver404):
            if resolve(address).url_name != "rate_pair":  # a rater may no longer have the pair
                return address
    return reverse("home")
