"""The known names that are most like a wrong one."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches


def nearest(name: object, known: Iterable[str]) -> str:
    """The question "did you mean a or b?", in any case of letters; "" where no known name is near."""
    spellings = {each.lower(): each for each in known}
    near = get_close_matches(str(name).lower(), spellings)
    return f"did you mean {' or '.join(spellings[each] for each in near)}?" if near else ""


def ending(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about a wrong name: a full stop, or the question after it."""
    question = nearest(name, known)
    return f"; {question}" if question else "."


def unknown(what: str, name: str, known: Collection[str], aliases: Iterable[str] = ()) -> str:
    """The message about a wrong name, with the nearest names or all. Aliases are only asked after."""
    every = f"known are {', '.join(known)}." if known else "there are none yet."
    return f"unknown {what} {name!r}; {nearest(name, [*known, *aliases]) or every}"
