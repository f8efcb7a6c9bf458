"""The names of raters that a reader may see."""

from ratings.models import Collection, Role
from ratings.people.names import pseudonym


def names_in(collection: Collection) -> dict[int, str]:
    """The name of each rater for the reader whose role `collection.role` is, by pk. One query."""
    rows = collection.raters.values_list("pk", "name")
    if collection.role == Role.ADMIN:
        return dict(rows)
    return {pk: pseudonym(pk) for pk, _ in rows}
