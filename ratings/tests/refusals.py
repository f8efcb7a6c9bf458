"""What tests ask of refusals."""

from ratings.formats.refusal import Refusal


def offered(refusal: Refusal) -> list[tuple]:
    """What could be said of the file instead."""
    return [(option.name, option.value) for option in refusal.options]
