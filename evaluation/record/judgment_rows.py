"""Judgments as rows for a file format."""

import re
from collections import Counter
from decimal import Decimal

import numpy as np

from ratings.copies.rows import query_names
from ratings.formats.registry import Format
from ratings.formats.rows import RatingLine
from ratings.formats.values import natural
from ratings.models import Collection

from .. import record
from ..judgments.rules import combine
from ..measures.decimals import decimal_text

EXAMPLES = 5
MEANS = {"mean", "weighted"}  # rules whose judgments can lie between two grades of the scale


def judgments(
    collection: Collection, rule: str, replacing: dict[float, int], adjudications: str, format: Format
) -> list[RatingLine]:
    """The judgments in the natural order of keys. `replacing` has integers by grade.

    ValueError for a grade, and for a query, that `format` cannot hold.
    """
    read = record.load(collection, systems=())
    combined = combine(read.ratings, rule, adjudications=adjudications)
    queries = read.queries["key"].to_numpy()[combined.query].tolist()
    keys = record.document_keys(np.unique(combined.document).tolist())
    documents = [keys[pk] for pk in combined.document.tolist()]
    grades = combined.grade.tolist()
    written = [replacing.get(grade, grade) for grade in grades]
    rows = list(zip(queries, documents, written, grades, strict=True))
    fit = {grade for grade in set(grades) if grade in replacing or (grade >= 0 and grade % 1 == 0)}
    refused = [(*row, grade) for *row, grade in rows if grade not in fit]
    if refused and format.whole:
        scale = {float(grade.value) for grade in collection.grades.all()}
        between = rule in MEANS and any(grade not in scale for *_, grade in refused)
        cannot, some = refusal(refused, len(rows), format.name.removeprefix("trec-"))
        steps = ",".join(f"{grade}=…" for grade in some)
        median = "; the rule median keeps to the grades of the scale" if between else ""
        raise ValueError(f"{cannot}. Map each to an integer, {steps}{median}.")
    names = query_names(collection, format)
    lines = []
    for query, document, grade, _ in sorted(rows, key=lambda row: (natural(row[0]), natural(row[1]))):
        lines.append(RatingLine(0, names[query], document, "", Decimal(decimal_text(grade))))
    return lines


def refusal(refused: list[tuple], total: int, format: str) -> tuple[str, list[str]]:
    """A phrase about the grades that `format` cannot hold, and the lowest of them as text."""
    counts = Counter(grade for *_, grade in refused)
    like = {grade: f"{query} {document}" for query, document, _, grade in reversed(refused)}
    some = sorted(counts)[:EXAMPLES]
    listed = ", ".join(f"{decimal_text(grade)} ({counts[grade]:,}, like {like[grade]})" for grade in some)
    more = f" and {len(counts) - EXAMPLES:,} other grades" if len(counts) > EXAMPLES else ""
    cannot = f"{len(refused):,} of {total:,} judgments have grades that {format} cannot hold, decimal or negative"
    return f"{cannot}: {listed}{more}", list(map(decimal_text, some))


def parse_map(text: str) -> dict[float, int]:
    """{grade: integer} for a text such as "-1=0,0.5=1". ValueError for a step that cannot be read."""
    steps = {}
    for step in text.split(",") if text.strip() else ():
        match = re.fullmatch(r"\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*=\s*([+-]?\d+)\s*", step)
        if not match:
            raise ValueError(f"cannot read {step!r} of {text}: each step is grade=integer, like -1=0,0.5=1.")
        grade = float(match[1])
        if grade in steps:
            raise ValueError(f"{text} gives grade {decimal_text(grade)} twice.")
        steps[grade] = int(match[2])
    return steps
