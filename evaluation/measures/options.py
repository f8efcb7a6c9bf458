"""Options: how grades become numbers, as values, as text of commands and as a short fingerprint."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, replace

from .decimals import decimal_text, finite
from .refusal import WrongOption, unknown

CHOICES = {
    "gain": ("linear", "exponential", "exponential_signed", "map"),
    "discount": ("log_shift", "jk2002"),
    "ideal": ("judged", "retrieved"),
    "unjudged": ("zero", "condensed", "require"),
    "negatives": ("minmax", "minmax_closed", "raw", "clip"),
    "undefined": ("skip", "zero"),
    "missing": ("empty", "skip"),
    "ties": ("rank", "score", "trec_eval_9", "average"),
}
BY_SCORE = ("score", "trec_eval_9")  # the values of ties that order by score, then by document id
ABOVE_ALL_GRADES = 10**6  # a grade of a scale has six digits before the point


@dataclass(frozen=True)
class Options:
    """How grades become numbers. Two values are comparable only when their options are the same.

    WrongOption, with the reason, for a combination without a meaning.
    """

    gain: str = "linear"
    # (grade, gain) of each grade, for gain="map".
    gain_map: tuple[tuple[float, float], ...] | Mapping[float, float] | None = None
    discount: str = "log_shift"
    log_base: float = 2.0
    ideal: str = "judged"
    # A number is the grade assumed for unjudged documents of a ranking. The number of relevant documents, and the
    # ideal under ideal=judged, come from the judgments alone, so that nDCG, R and AP can exceed 1.
    unjudged: str | float = "zero"
    negatives: str = "minmax"
    undefined: str = "skip"
    missing: str = "empty"
    ties: str = "rank"
    relevant_from: float = 1.0

    def __post_init__(self):
        for name in ("log_base", "relevant_from"):
            object.__setattr__(self, name, finite(getattr(self, name), name))
        if not isinstance(self.unjudged, str):
            object.__setattr__(self, "unjudged", _grade(self.unjudged, "unjudged"))
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            is_assumed_grade = name == "unjudged" and isinstance(value, float)
            if not is_assumed_grade and value not in choices:
                raise WrongOption(name, f"{name} must be {_one_of(name)}, not {value!r}.")
        if self.log_base <= 1:
            raise WrongOption("log_base", f"log_base must be greater than 1, not {decimal_text(self.log_base)}.")
        if self.negatives == "minmax_closed" and self.ideal == "retrieved":
            raise WrongOption(
                "negatives",
                "negatives=minmax_closed cannot stand with ideal=retrieved: "
                "its best and worst lists are those of all judged documents.",
            )
        object.__setattr__(self, "gain_map", self._checked_map())

    def _checked_map(self) -> tuple[tuple[float, float], ...] | None:
        """The (grade, gain) of gain=map, by grade; None for other gains. Raises WrongOption."""
        if self.gain != "map":
            if self.gain_map is not None:
                raise WrongOption("gain", f"gain={self.gain} takes no list of grades; gain=map does.")
            return None
        if self.gain_map is None:
            raise WrongOption("gain", "gain=map needs a gain for each grade, for example map:0=0,1=1,2=3.")
        pairs = self.gain_map.items() if isinstance(self.gain_map, Mapping) else self.gain_map
        numbers = (
            (finite(grade, "gain", "a grade of gain=map"), finite(gain, "gain", "a gain of gain=map"))
            for grade, gain in pairs
        )
        steps = tuple(sorted(numbers))
        if not steps:
            raise WrongOption("gain", "gain=map lists no grade.")
        for (grade, gain), (next_grade, next_gain) in zip(steps, steps[1:], strict=False):
            if grade == next_grade:
                raise WrongOption("gain", f"gain=map lists grade {decimal_text(grade)} twice.")
            if next_gain < gain:
                raise WrongOption(
                    "gain",
                    f"gain=map falls from {decimal_text(gain)} to {decimal_text(next_gain)} between the grades "
                    f"{decimal_text(grade)} and {decimal_text(next_grade)}: a better grade must not gain less.",
                )
        if self.assumed_grade is not None and self.assumed_grade not in dict(steps):
            problem = f"unjudged={decimal_text(self.assumed_grade)} is not a grade that gain=map lists."
            raise WrongOption("unjudged", problem)
        return steps

    @property
    def assumed_grade(self) -> float | None:
        """The grade assumed for unjudged documents of a ranking; None where none is assumed."""
        return None if isinstance(self.unjudged, str) else self.unjudged

    @classmethod
    def parse(cls, **strings: str) -> "Options":
        """Options from text of a command or an address, such as parse(gain="map:0=0,1=3", log_base="e")."""
        return cls().revised(**strings)

    def revised(self, **strings: str) -> "Options":
        """These options, with the named ones replaced by values given as text, as in a command."""
        values = {}
        for name, text in strings.items():
            if name not in TEXT_NAMES:
                raise WrongOption(name, unknown("option", name, TEXT_NAMES))
            values |= _parse(name, text.strip())
        return replace(self, **values)

    def as_dict(self) -> dict[str, str]:
        """The options by name as text of the command line, which `parse` reads back."""
        return {name: _text(self, name) for name in TEXT_NAMES}

    def fingerprint(self) -> str:
        """The options in short: "lin log2 ideal=judged unj=0 neg=minmax", then others that are not the default."""
        gain = {"linear": "lin", "exponential": "exp", "exponential_signed": "expsigned"}.get(self.gain)
        base = _text(self, "log_base")
        unjudged = "0" if self.unjudged == "zero" else self.unjudged
        parts = [
            gain or _text(self, "gain"),  # gain="map" has no short name, but all its grades as text
            # jk: discount="jk2002", of Järvelin and Kekäläinen.
            f"log{base}" if self.discount == "log_shift" else f"jk{base}",
            f"ideal={self.ideal}",
            f"unj={unjudged}" if self.assumed_grade is None else f"unj=grade:{decimal_text(self.assumed_grade)}",
            f"neg={self.negatives}",
        ]
        for name in ("undefined", "missing", "ties", "relevant_from"):
            if getattr(self, name) != getattr(DEFAULT, name):
                parts.append(f"{name}={_text(self, name)}")
        return " ".join(parts)


TEXT_NAMES = tuple(field.name for field in fields(Options) if field.name != "gain_map")
DEFAULT = Options()


def _grade(value: object, name: str) -> float:
    """`value` as a grade. WrongOption if a scale cannot have it: larger ones would overflow in sums of squares."""
    grade = finite(value, name)
    if abs(grade) >= ABOVE_ALL_GRADES:
        problem = f"{name} must have at most six digits before the point, not {decimal_text(grade)}."
        raise WrongOption(name, problem)
    return grade


def _parse(name: str, text: str) -> dict:
    # Numbers of other options stay text: Options parses and checks them.
    if name == "gain":
        kind, colon, steps = text.partition(":")
        return {"gain": kind, "gain_map": _parse_map(steps)} if colon else {"gain": text, "gain_map": None}
    if name == "log_base" and text == "e":
        return {name: math.e}
    if name == "unjudged" and text not in CHOICES[name]:
        with suppress(ValueError):  # what is neither a word nor a grade is refused with the words to choose from
            return {name: finite(text, name)}
    return {name: text}


def _parse_map(text: str) -> list[tuple[str, str]]:
    steps = [step.partition("=") for step in text.split(",")]
    if not all(equals for _, equals, _ in steps):
        raise WrongOption("gain", f"gain=map:{text} must list grade=gain, for example map:0=0,1=1,2=3.")
    return [(grade, gain) for grade, _, gain in steps]


def _text(options: Options, name: str) -> str:
    value = getattr(options, name)
    if name == "gain" and options.gain_map is not None:
        return "map:" + ",".join(f"{decimal_text(grade)}={decimal_text(gain)}" for grade, gain in options.gain_map)
    if name == "log_base" and value == math.e:
        return "e"
    return value if isinstance(value, str) else decimal_text(value)


def _one_of(name: str) -> str:
    return "one of " + ", ".join(CHOICES[name]) + (" or a grade" if name == "unjudged" else "")
