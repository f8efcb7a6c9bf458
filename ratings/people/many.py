"""Acts on several raters at once: each is the act on one, done to all that are chosen."""

from collections.abc import Callable
from dataclasses import dataclass

from ..models import Rater
from . import members

acts_of_rooms: list[Callable[[], dict[str, "OfMany"]]] = []  # the acts of other rooms; the pool adds leaving out


@dataclass(frozen=True)
class OfMany:
    """An act on several raters, and its words on pages."""

    label: str  # of its button
    says: str  # what it does, for the page that asks
    done: str  # what they do from then on, after "3 raters"
    do: Callable[..., object]  # of a rater, and of the fields by name
    fits: Callable[[Rater], bool]  # whether it changes anything for the rater
    fields: tuple[str, ...] = ()  # of TermsForm, which the page asks for
    harms: bool = False  # whether its button warns
    refused_if_away: bool = False  # whether it is refused in a collection that is put away


def acts() -> dict[str, OfMany]:
    """All acts on several raters, by their names in addresses."""
    every = dict(OF_PEOPLE)
    for acts_of_room in acts_of_rooms:
        every |= acts_of_room()
    return every


def _has_account(rater: Rater) -> bool:
    return rater.user_id is not None


OF_PEOPLE = {
    "deactivate": OfMany(
        label="Deactivate",
        says="They are signed out and get nothing more to rate. What they hold goes to others. What they rated"
        " stays and counts.",
        done="get nothing more to rate.",
        do=members.deactivate,
        fits=lambda rater: _has_account(rater) and rater.active,
        harms=True,
    ),
    "reactivate": OfMany(
        label="Let them rate again",
        says="They get pairs to rate, up to their limit.",
        done="can rate again.",
        do=members.reactivate,
        fits=lambda rater: _has_account(rater) and not rater.active,
    ),
    "limit": OfMany(
        label="Set a limit",
        says="All of them get this limit. Their queries and weights stay.",
        done="have this limit.",
        do=members.change_terms,
        fits=_has_account,
        fields=("limit",),
    ),
    "queries": OfMany(
        label="Choose their queries",
        says="All of them rate these queries. Their limits and weights stay.",
        done="rate these queries.",
        do=members.change_terms,
        fits=_has_account,
        fields=("queries",),
    ),
}
