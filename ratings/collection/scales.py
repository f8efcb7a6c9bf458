"""Scales before they are stored: steps, presets, and steps as lines of text."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from ..formats import values
from ..models import Grade, short_value

MOST_GRADES = 100  # grades that one can type; an import may bring more
LONGEST_LABEL = Grade._meta.get_field("label").max_length
LONGEST_MEANING = 1_000
LINE_FORM = "value: label: meaning"


class Step(NamedTuple):
    """A grade that may not be stored yet."""

    value: Decimal
    label: str = ""
    meaning: str = ""

    def __str__(self) -> str:
        return f"{self.short} {self.label}".strip()

    @property
    def short(self) -> str:
        return short_value(self.value)


@dataclass(frozen=True)
class Preset:
    name: str
    title: str
    relevant_from: Decimal
    steps: tuple[Step, ...]

    @property
    def values(self) -> list[Decimal]:
        return [step.value for step in self.steps]


def step(value: str, label: str = "", meaning: str = "") -> Step:
    """The step with this value, as it was typed. Raises ValueError with the problem."""
    label, meaning = label.strip(), meaning.strip()
    number = values.grade(value.strip().replace("−", "-"))
    if len(label) > LONGEST_LABEL:
        raise ValueError(f"the label {values.quoted(label)} is longer than {LONGEST_LABEL} characters")
    if len(meaning) > LONGEST_MEANING:
        raise ValueError(f"the meaning {values.quoted(meaning)} is longer than {LONGEST_MEANING:,} characters")
    return Step(number, label, meaning)


def read(text: str) -> list[Step]:
    """The steps of lines such as `3: Perfect: Answers it fully.`, lowest first; blank lines are skipped.

    Raises ValueError with the first line that is wrong.
    """
    steps: dict[Decimal, Step] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            new_step = step(*line.split(":", 2))  # label and meaning may be missing; a meaning may have colons
            if new_step.value in steps:
                raise ValueError(f"the value {new_step.short} appears twice")
        except ValueError as error:
            raise ValueError(f"in line {number} {error}. Write {LINE_FORM}") from error
        steps[new_step.value] = new_step
    if len(steps) > MOST_GRADES:
        raise ValueError(f"these are {len(steps)} grades, and at most {MOST_GRADES} can be typed")
    return sorted(steps.values())


def step_of(grade: Grade) -> Step:
    return Step(grade.value, grade.label, grade.meaning)


def usual_relevant_from(steps: Sequence[Step]) -> Decimal:
    """The lowest value above 0, or the highest value if none is above 0; 1 for a scale without steps."""
    numbers = [each.value for each in steps]
    return min((value for value in numbers if value > 0), default=max(numbers, default=Decimal(1)))


def relevance_problem(steps: Sequence[Step], relevant_from: Decimal) -> str:
    """The problem if no grade would be relevant, without a full stop; "" for none."""
    if not steps or relevant_from <= max(each.value for each in steps):
        return ""
    highest = max(steps)
    return f"no grade is that high, so nothing would be relevant; the highest is {highest}"


def _preset(name: str, title: str, relevant_from: str, *steps: tuple[str, str, str]) -> Preset:
    return Preset(name, title, Decimal(relevant_from), tuple(sorted(step(*each) for each in steps)))


_GRADED = (
    ("0", "Irrelevant", "About something else, or of no use for this need."),
    ("1", "Related", "On the subject and of some use, but the person must search on."),
    ("2", "Good", "Answers a good part of the need, or all of it with some effort."),
    ("3", "Perfect", "Answers the need fully and at once: the search can stop here."),
)
PRESETS = [
    _preset("graded", "Graded, 0 to 3", "1", *_GRADED),
    _preset(
        "harmful",
        "Graded, with a harmful −1",
        "1",
        ("-1", "Harmful", "On the subject, and whoever follows it could be hurt, cheated or misled."),
        *_GRADED,
    ),
    _preset(
        "binary",
        "Yes or no, 0 and 1",
        "1",
        ("0", "Irrelevant", "Of no use for this need."),
        ("1", "Relevant", "Of use for this need."),
    ),
    _preset(
        "five",
        "Five steps, 1 to 5",
        "3",
        ("1", "Bad", "Of no use for this need."),
        ("2", "Poor", "Touches the need, and is of little use."),
        ("3", "Fair", "Of some use, but the person must search on."),
        ("4", "Good", "Answers a good part of the need."),
        ("5", "Excellent", "Answers the need fully and at once."),
    ),
]
PRESET_BY_NAME = {preset.name: preset for preset in PRESETS}
