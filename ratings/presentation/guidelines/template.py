"""The first guidelines of a collection, made from its scale."""

from collections.abc import Sequence

from ...models import Grade

HOW_TO_GRADE = (
    "Read the query and what the person wanted to know. Then read the document, and give the grade that fits it"
    " best. Grade what the document does for this need, not whether it is well written. Grade each one for itself:"
    " what came before it does not count."
)
CANNOT_JUDGE = (
    "Say “cannot judge” where the text is missing or broken, where you do not read the language, or where the"
    " query could mean anything. It is an honest answer, and better than a guess."
)


def first_text(grades: Sequence[Grade]) -> str:
    """The text: how to grade, a section for each grade, the best first, and when one cannot judge."""
    steps = [_heading(grade) + f"\n\n{grade.meaning}".rstrip() for grade in reversed(grades)]
    return "\n\n".join(["# How to grade", HOW_TO_GRADE, *steps, "## When you cannot judge", CANNOT_JUDGE]) + "\n"


def _heading(grade: Grade) -> str:
    return f"## {grade.plain} {grade.label}".rstrip()
