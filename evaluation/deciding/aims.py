"""The aim of the decisive order: a measure, its options, and the systems to compare."""

from typing import Any

from ratings.models import Collection

from ..scores import Asked
from ..scores.expected import refuse_undefined


def aim_of(collection: Collection, **members: Any) -> Asked:
    """The aim of `members`, which are those of `stored`; without any, the aim that the collection stores.

    ValueError where expected values are not defined for it.
    """
    texts = {name: text for name, text in (members or collection.aim or {}).items() if text is not None}
    return checked(Asked.of(collection, **texts.pop("options", {}), **texts))


def checked(aim: Asked) -> Asked:
    """The same aim. ValueError where expected values are not defined for it."""
    refuse_undefined(aim)
    return aim


def stored(aim: Asked) -> dict[str, Any]:
    """The aim as JSON, in the form of `Collection.aim`."""
    return {
        "measure": str(aim.measure),
        "profile": aim.profile,
        "options": dict(aim.changes),
        "rule": aim.rule,
        "adjudications": aim.adjudications,
        "systems": None if aim.systems is None else list(aim.systems),
    }
