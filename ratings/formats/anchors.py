"""Anchors as delimited values: pairs whose grade is known."""

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from . import header as heads
from . import values
from .decimals import Decimals
from .delimited import records
from .refusal import Refusal
from .source import Source

ANCHORS = ["query", "document", "grade", "kind", "explanation"]
NEEDED = 4  # the first four of ANCHORS are needed; a file may have them in any order
KINDS = {"warm-up": "warm_up", "gold": "gold"}  # in files and on pages -> in the database
LONGEST_EXPLANATION = 5_000


class AnchorLine(NamedTuple):
    """An anchor: a pair whose grade is known."""

    line: int
    query: str
    document: str
    grade: Decimal
    use: str  # a value of KINDS
    explanation: str


def read_anchors(source: Source) -> Iterator[AnchorLine | Refusal]:
    """Anchors in the order of the file, each with the line on which it begins. Stops where the CSV is broken."""
    cure = f"The header is {','.join(ANCHORS)}; the first four are needed."
    header, delimiter = None, heads.delimiter_of(source.start)
    decimals = Decimals(comma=delimiter == ";")
    for item in records(source, delimiter, cure):
        if isinstance(item, Refusal):
            yield item
        elif header is None:
            header = item[1]
            if problem := _wrong_in(header):
                yield source.refusal(1, problem, cure)
                return
        else:
            line, cells = item
            try:
                yield _anchor(line, dict(zip(header, cells, strict=True)), decimals)
            except ValueError as error:
                yield source.refusal(line, str(error), "Correct the cell.")


def _wrong_in(header: list[str]) -> str:
    if missing := [name for name in ANCHORS[:NEEDED] if name not in header]:
        return f"the header {values.quoted(','.join(header))} lacks {', '.join(missing)}"
    if unknown := [name for name in header if name not in ANCHORS]:
        return f"the header has the unknown column {values.quoted(unknown[0])}"
    if len(set(header)) < len(header):
        return f"the header {values.quoted(','.join(header))} names a column twice"
    return ""


def _anchor(line: int, row: dict[str, str], decimals: Decimals) -> AnchorLine:
    explanation = row.get("explanation", "").strip()
    if row["kind"] not in KINDS:
        raise ValueError(f"the kind {values.quoted(row['kind'])} is neither {' nor '.join(KINDS)}")
    if len(explanation) > LONGEST_EXPLANATION:
        raise ValueError(f"the explanation is longer than {LONGEST_EXPLANATION:,} characters")
    if row["kind"] == "warm-up" and not explanation:
        raise ValueError("a warm-up needs an explanation: raters read it after their answer")
    grade = values.grade(decimals.with_point(row["grade"], "grade"))
    query = values.checked_key(row["query"], "query", values.QUERY_KEY_LENGTH)
    document = values.checked_key(row["document"], "document", values.DOCUMENT_KEY_LENGTH)
    return AnchorLine(line, query, document, grade, KINDS[row["kind"]], explanation)
