"""The lists of one query, rank by rank: two systems, the ideal list, what joins them and what they leave out."""

from dataclasses import dataclass

from ratings.models import Document, System

from ..measures import Explanation, Row
from ..templatetags.numbers import number
from .answer import Answer

# Without a cutoff a ranking may have thousands of ranks; so many are drawn.
SHOWN = 50

ROW = 54  # height of a row of a ranking in the style sheet, --row, in pixels


@dataclass(frozen=True)
class Line:
    """One rank as it is shown."""

    rank: int
    document: Document | None
    grade: float | None  # None = unjudged
    calc: str  # gain x discount
    adds: float


@dataclass(frozen=True)
class Side:
    """One system's list."""

    system: System
    ndcg: float | None
    why: str
    dcg: float
    rows: list[Line]
    more: int
    present: bool


def titles(pks: set[int]) -> dict[int, Document]:
    """Documents by pk without their texts. One query."""
    return {document.pk: document for document in Document.objects.filter(pk__in=pks).only("pk", "key", "title")}


def line(row: Row, documents: dict[int, Document], grades: dict[int, float]) -> Line:
    judged = row.document in grades
    times = f"{number(row.gain)} × {row.discount:.4f}"
    counted = "counted 0" if not judged and row.gain == 0 else times
    return Line(row.rank, documents.get(row.document), grades.get(row.document), counted, row.contribution)


def ideal_list(explanation: Explanation, documents: dict[int, Document], cutoff: int | None) -> dict:
    rows = [
        Line(
            row.rank,
            documents.get(row.document),
            row.grade,
            f"{number(row.gain)} × {row.discount:.4f}",
            row.contribution,
        )
        for row in explanation.ideal[:SHOWN]
    ]
    found = len(explanation.ideal)
    if cutoff and cutoff <= SHOWN:
        rows += [Line(rank, None, None, "", 0.0) for rank in range(found + 1, cutoff + 1)]
    undefined = explanation.idcg == explanation.min_dcg
    return {
        "rows": rows,
        "more": max(0, found - SHOWN),
        "total": explanation.idcg,
        "value": None if undefined else 1.0,
    }


def links(sides: list[Side]) -> dict:
    """Lines between the places of the same document on both sides; a stub for what the other does not have."""
    left, right = ({row.document.pk: row for row in side.rows if row.document} for side in sides)
    lines = []
    for pk, row in left.items():
        y = middle(row.rank)
        if pk in right:
            end = middle(right[pk].rank)
            lines.append({"path": f"M0 {y}C36 {y} 36 {end} 72 {end}", "end": end, "tone": tone(row)})
        else:
            lines.append({"path": f"M0 {y}H16M16 {y - 4}V{y + 4}", "end": None, "tone": tone(row)})
    for pk, row in right.items():
        if pk not in left:
            y = middle(row.rank)
            lines.append({"path": f"M56 {y}H72M56 {y - 4}V{y + 4}", "end": None, "tone": tone(row)})
    rows = max(len(side.rows) for side in sides)
    return {"lines": lines, "height": ROW * max(rows, 1), "shared": len(left.keys() & right.keys())}


def middle(rank: int) -> int:
    return ROW * rank - ROW // 2


def tone(row: Line) -> str:
    return " pos" if row.adds > 0 else " neg" if row.adds < 0 else ""


def missed(
    answer: Answer, place: int, sides: list[Side], ideal: Explanation, documents: dict[int, Document]
) -> list[dict]:
    """Documents of the ideal list that a side does not list down to the cutoff, and where it has them."""
    cutoff = answer.asked.measure.cutoff
    ranks = []
    for side in sides:
        rankings = answer.record.rankings[side.system.name].only(place)
        ranks.append({document: rank for rank, document in enumerate(rankings.documents.tolist(), 1)})
    rows = []
    for row in ideal.ideal[:SHOWN]:
        at = [where.get(row.document) for where in ranks]
        if any(rank is None or (cutoff and rank > cutoff) for rank in at):
            rows.append({"document": documents.get(row.document), "grade": row.grade, "ranks": at})
    return rows
