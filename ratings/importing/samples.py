"""Sample files: small ones of every kind in the usual formats. They can be imported as they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ..formats import values

FOLDER = Path(__file__).parent / "samples"
LOW, HIGH = b"{low}", b"{high}"  # in ratings: grades of the scale


@dataclass(frozen=True)
class Sample:
    name: str
    kind: str
    format: str


NAMES = {
    "queries": ["queries.csv", "queries.jsonl", "topics.txt"],
    "documents": ["documents.csv", "documents.jsonl", "documents.trec"],
    "results": ["runs.csv", "runs.jsonl", "two-systems.run"],
    "ratings": ["ratings.csv", "ratings.jsonl", "judgments.qrels"],
}
FORMATS = {".csv": "CSV", ".jsonl": "JSONL"}  # others are TREC
SAMPLES = [
    Sample(name, kind, FORMATS.get(Path(name).suffix, "TREC")) for kind, names in NAMES.items() for name in names
]
BY_NAME = {sample.name: sample for sample in SAMPLES}


def of_kind(kind: str) -> list[Sample]:
    return [sample for sample in SAMPLES if sample.kind == kind]


def content(sample: Sample, scale: Iterable[Decimal]) -> bytes:
    """The file. Ratings have the ends of the scale, or 0 and 1 where there is none."""
    grades = list(scale) or [Decimal(0), Decimal(1)]
    low, high = (values.grade_text(end).encode() for end in (min(grades), max(grades)))
    return (FOLDER / sample.name).read_bytes().replace(LOW, low).replace(HIGH, high)
