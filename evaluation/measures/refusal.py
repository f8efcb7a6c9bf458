"""Refusals of options: the problem, and the option that it is about as a part."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches


class WrongOption(ValueError):
    """An option without a meaning. `option` is its name in commands, in addresses and in the API."""

    def __init__(self, option: str, problem: str) -> None:
        self.option = option
        super().__init__(problem)


def refuse_unknown(option: str, value: str, known: Collection[str], aliases: Iterable[str] = ()) -> None:
    """Raises WrongOption, with the nearest names or all, unless the value is known."""
    if value not in known:
        raise WrongOption(option, unknown(option, value, known, aliases))


def unknown(what: str, name: str, known: Collection[str], aliases: Iterable[str] = ()) -> str:
    """The message about a wrong name, with the nearest names or all. Aliases are only asked after."""
    spellings = {each.lower(): each for each in [*known, *aliases]}
    if near := get_close_matches(name.lower(), spellings):
        return f"unknown {what} {name!r}; did you mean {' or '.join(spellings[each] for each in near)}?"
    every = f"known are {', '.join(known)}." if known else "there are none yet."
    return f"unknown {what} {name!r}; {every}"
