"""Judgments as rows for a file format."""

import re
from collections import Counter
from decimal import Decimal

import numpy as np

from ratings.copies.rows import query_names
from ratings.formats.registry import Format
from ratings.formats.rows import RatingLine
from ratings.models import Collection
from ratings.words import natural

from .. import record
from ..judgments.rules import combine
from ..measures.decimals import decimal_text

EXAMPLE_GRADES = 5  # in a message, at most
RULES_OF_MEANS = {"mean", "weighted"}  # whose judgments can lie between two grades of the scale


def judgments(
    collection: Collection, rule: str, integers: dict[float, int], adjudications: str, format: Format
) -> list[RatingLine]:
    """The judgments in the natural order of keys. integers: those to write in place of grades, by grade.

    ValueError for a grade, and for a query, that `format` cannot hold.
    """
    data = record.load(collection, systems=())
    combined = combine(data.ratings, rule, adjudications=adjudications)
    queries = data.queries["key"].to_numpy()[combined.query].tolist()
    document_keys = record.document_keys(np.unique(combined.document).tolist())
    documents = [document_keys[pk] for pk in combined.document.tolist()]
    rows = list(zip(queries, documents, combined.grade.tolist(), strict=True))
    if format.whole:  # it holds whole numbers from 0 alone
        refuse_grades(collection, rule, rows, integers, format)
    names = query_names(collection, format)
    lines = []
    for query, document, grade in sorted(rows, key=lambda row: (natural(row[0]), natural(row[1]))):
        # A judgment is of no line of a file, and of no single rater.
        written_grade = Decimal(decimal_text(integers.get(grade, grade)))
        lines.append(RatingLine(line=0, query=names[query], document=document, rater="", grade=written_grade))
    return lines


def refuse_grades(
    collection: Collection, rule: str, rows: list[tuple], integers: dict[float, int], format: Format
) -> None:
    """Raises ValueError for grades that are neither whole numbers from 0 nor replaced by one of `integers`.

    rows: (query, document, grade) of each judgment.
    """
    grades = {grade for *_, grade in rows}
    unfit = {grade for grade in grades - integers.keys() if grade < 0 or grade % 1}
    if not unfit:
        return
    refused = [row for row in rows if row[-1] in unfit]
    # The message says "qrels" of the format trec-qrels.
    problem, examples = refusal(refused, len(rows), format.name.removeprefix("trec-"))
    mapping = ",".join(f"{grade}=…" for grade in examples)  # as `parse_map` reads it
    scale = {float(grade.value) for grade in collection.grades.all()}
    other_ways = ""
    # Named only where a mean made some of these grades. If all are of the scale, another rule does not help.
    if rule in RULES_OF_MEANS and not unfit <= scale:
        other_ways = (
            "; the rule median keeps to the grades of the scale, but gives other numbers than the mean"
            "; a CSV holds decimals"
        )
    raise ValueError(f"{problem}. Map each to an integer, {mapping}{other_ways}.")


def refusal(refused: list[tuple], total: int, format: str) -> tuple[str, list[str]]:
    """A phrase about the grades that `format` cannot hold, and the lowest of them as text.

    refused: (query, document, grade) of each such judgment; total: the number of all judgments.
    """
    counts = Counter(grade for *_, grade in refused)
    # The first pair of each grade: of equal keys in a dict the last one stays.
    first_pairs = {grade: f"{query} {document}" for query, document, grade in reversed(refused)}
    lowest = sorted(counts)[:EXAMPLE_GRADES]
    listed = ", ".join(f"{decimal_text(grade)} ({counts[grade]:,}, like {first_pairs[grade]})" for grade in lowest)
    more = f" and {len(counts) - EXAMPLE_GRADES:,} other grades" if len(counts) > EXAMPLE_GRADES else ""
    cannot = f"{len(refused):,} of {total:,} judgments have grades that {format} cannot hold, decimal or negative"
    return f"{cannot}: {listed}{more}", list(map(decimal_text, lowest))


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
