"""The grade in a model's answer, or the problem with the answer. No database, no request.

Nothing is guessed: only the requested object is a grade. So an injected instruction can at most choose a grade of
the scale, and no failure becomes a grade.
"""

import json
from collections.abc import Collection
from decimal import Decimal, InvalidOperation
from typing import Any

from ..models import MachineGrade

PARSER_VERSION = 1  # raised with every change of what `grade_of` accepts
LONGEST_ANSWER = 20_000  # characters
Problem = MachineGrade.Problem


class Ungraded(ValueError):
    """There is no grade. `problem` is one of MachineGrade.Problem."""

    def __init__(self, problem: str, detail: str = "") -> None:
        self.problem, self.detail = problem, detail[:300]
        super().__init__(f"{Problem(problem).label}: {detail}" if detail else Problem(problem).label)


def schema_of(grades: Collection[str]) -> dict:
    """The JSON schema of an answer with one of these grades."""
    values = [int(grade) if Decimal(grade) == int(Decimal(grade)) else float(grade) for grade in grades]
    return {
        "type": "object",
        "properties": {"grade": {"type": "number", "enum": values}},
        "required": ["grade"],
        "additionalProperties": False,
    }


def grade_of(content: str, grades: Collection[str]) -> Decimal:
    """The grade of an answer {"grade": n}. Raises Ungraded for everything else.

    `grades`: those of the scale, as texts.
    """
    text = content.strip()
    if not text:
        raise Ungraded(Problem.EMPTY)
    if len(text) > LONGEST_ANSWER:
        raise Ungraded(Problem.NOT_JSON, f"it has {len(text):,} characters")
    # Decimals, so that 0.1 equals the grade 0.1. NaN, Infinity and names that stand twice raise ValueError.
    try:
        answer = json.loads(
            text, parse_float=Decimal, parse_constant=_no_number, object_pairs_hook=_without_repeats
        )
    except (ValueError, RecursionError, InvalidOperation) as error:
        raise Ungraded(Problem.NOT_JSON, str(error)) from error
    if not isinstance(answer, dict) or answer.keys() != {"grade"}:
        raise Ungraded(Problem.NOT_JSON, "it is not an object with only a grade")
    value = answer["grade"]
    if type(value) not in (int, Decimal):  # by isinstance, true and false would be int, too
        raise Ungraded(Problem.NOT_JSON, "the grade is not a number")
    for grade in grades:
        if Decimal(grade) == value:
            return Decimal(grade)
    raise Ungraded(Problem.OFF_SCALE, f"{str(value)[:40]} is none of {', '.join(grades)}")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name appears twice in it")
    return dict(pairs)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
