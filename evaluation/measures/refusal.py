"""Refusals of options: the problem, and the option that it is about as a part."""

from collections.abc import Collection, Iterable

from ratings.formats.nearest import unknown


class WrongOption(ValueError):
    """An option without a meaning. `option` is its name in commands, in addresses and in the API."""

    def __init__(self, option: str, problem: str) -> None:
        self.option = option
        super().__init__(problem)


def refuse_unknown(option: str, value: str, known: Collection[str], aliases: Iterable[str] = ()) -> None:
    """Raises WrongOption, with the nearest names or all, unless the value is known."""
    if value not in known:
        raise WrongOption(option, unknown(option, value, known, aliases))
