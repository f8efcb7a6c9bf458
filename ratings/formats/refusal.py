"""Refusals: the problem at a place of a file and its cure, in parts that commands, pages and the API word."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import NamedTuple

from .values import CANNOT

KEEP_ONE = "Keep one of the two."


@dataclass(frozen=True)
class Option:
    """An option of an import that would help. Commands, pages and the API have their own words for it.

    `value`: the value to choose; None where people have to find it, "" to leave the option out, True for a switch.
    For the columns, and the grades of words, it is an object of such values: {"key": "nr", "need": ""}. Two names
    are no options: "kind", another kind of rows that the file may hold, and "before", what to import first.
    """

    name: str
    value: str | bool | dict[str, str | None] | None = None
    when: str = ""  # the condition under which it helps, as after "if"; "": always

    def sentence(self, words: str) -> str:
        """The option as a sentence. `words`: its imperative, such as "give --order score"."""
        return f"If {self.when}, {words}." if self.when else f"{words[0].upper()}{words[1:]}."


Cure = str | Option  # a whole sentence, or an option
Words = Callable[[Option], str]  # the imperative of an option, "" where it does not exist there


class Place(NamedTuple):
    file: str
    line: int


@dataclass(frozen=True)
class Refusal:
    """A problem at one place of a file, and its cure. Line 0 means the file as a whole.

    The problem begins with a lower-case word or a quotation mark, never with a bare name, and has no full stop.
    """

    file: str
    line: int
    problem: str
    cure: tuple[Cure, ...]
    other: Place | None = None  # of the other line that the problem is about

    def __str__(self) -> str:
        return self.message()

    def message(self, words: Words = lambda option: "") -> str:
        """The whole refusal on one line."""
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{place}: {self.problem}{self._other_place}. {self.cure_text(words)}".rstrip()

    @property
    def sentence(self) -> str:
        """The problem as a sentence."""
        return f"{self.problem[0].upper()}{self.problem[1:]}{self._other_place}."

    def cure_text(self, words: Words = lambda option: "") -> str:
        """The cure in sentences, without options that `words` does not know."""
        texts = ((part, part if isinstance(part, str) else words(part)) for part in self.cure)
        return " ".join(part if part is text else part.sentence(text) for part, text in texts if text)

    @property
    def options(self) -> list[Option]:
        return [part for part in self.cure if isinstance(part, Option)]

    @property
    def _other_place(self) -> str:
        if self.other is None:
            return ""
        return f" on line {self.other.line}" + (f" of {self.other.file}" if self.other.file != self.file else "")

    def as_parts(self) -> dict:
        """The refusal as JSON, which `of_parts` reads."""
        return asdict(self)

    @classmethod
    def of_parts(cls, parts: dict) -> "Refusal":
        cure = tuple(part if isinstance(part, str) else Option(**part) for part in parts["cure"])
        return cls(**parts | {"cure": cure, "other": parts["other"] and Place(*parts["other"])})


class Refused(ValueError):
    """A file has these refusals."""

    def __init__(self, refusals: list[Refusal]) -> None:
        self.refusals = refusals
        super().__init__(str(refusals[0]))


class WrongCell(ValueError):
    """A cell cannot be read. It carries its cure."""

    def __init__(self, problem: str, *cure: Cure) -> None:
        self.cure = cure
        super().__init__(problem)


def cures_of_word(word: str) -> list[Option]:
    """What people can say of a word in place of a grade. Words with digits hardly mean none."""
    cures = [Option("map", {word: None}, "the word stands for a grade")]
    if not any(map(str.isdigit, word)):
        cures.append(Option("map", {word: CANNOT}, "it stands for no grade"))
    return cures


def cure_of(error: ValueError, usual: Cure) -> tuple[Cure, ...]:
    return error.cure if isinstance(error, WrongCell) else (usual,)
