"""Sample files: small ones of every kind in the usual formats. They can be imported as they are."""

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from ..formats import values

FOLDER = Path(__file__).parent / "samples"
LOW, HIGH = b"{low}", b"{high}"  # in ratings: grades of the scale
NAMES = {  # of the files, by the kind of their rows
    "queries": ["queries.csv", "queries.jsonl", "topics.txt"],
    "documents": ["documents.csv", "documents.jsonl", "documents.trec"],
    "results": ["runs.csv", "runs.jsonl", "two-systems.run"],
    "ratings": ["ratings.csv", "ratings.jsonl", "judgments.qrels"],
}
ALL_NAMES = [name for names in NAMES.values() for name in names]


def content(name: str, scale: Iterable[Decimal]) -> bytes:
    """The bytes of the file. Ratings have the ends of the scale, or 0 and 1 where there is none."""
    grades = list(scale) or [Decimal(0), Decimal(1)]
    low, high = (values.grade_text(end).encode() for end in (min(grades), max(grades)))
    return (FOLDER / name).read_bytes().replace(LOW, low).replace(HIGH, high)
