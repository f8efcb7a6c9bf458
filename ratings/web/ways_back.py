"""Where an act leads back to, found by addresses alone."""

from django.urls import Resolver404, resolve, reverse


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
