"""The lists of one query, rank by rank: systems, the ideal list, links between them and missing documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ratings.models import Document, System

from ..measures import Explanation, Row
from ..templatetags.numbers import number

Places = Mapping[int, int]  # the rank of each document in the whole of a list, by pk

SHOWN = 50  # ranks: without a cutoff a ranking may have thousands

ROW = 54  # height of a row of a ranking in the style sheet, --row, in pixels


@dataclass(frozen=True)
class Line:
    """One rank as it is shown."""

    rank: int
    document: Document | None
    grade: float | None  # None = unjudged
    calc: str  # gain x discount
    adds: float
    came: str = ""  # from which rank of the list to the left
    goes: str = ""  # where, if the list to the right does not show it


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
    links: dict | None = None  # with the list to the right


def titles(pks: set[int]) -> dict[int, Document]:
    """Documents by pk without their texts. One query."""
    return {document.pk: document for document in Document.objects.filter(pk__in=pks).only("pk", "key", "title")}


def line(row: Row, documents: dict[int, Document], grades: dict[int, float]) -> Line:
    judged = row.document in grades
    calc = times(row) if judged or row.gain else "counted 0"
    return Line(row.rank, documents.get(row.document), grades.get(row.document), calc, row.contribution)


def times(row: Row) -> str:
    """The product as text, 3 × 0.5000, which a narrow column breaks after the sign."""
    return f"{number(row.gain)}\N{NO-BREAK SPACE}× {row.discount:.4f}"


def joined(sides: Sequence[Side], places: Sequence[Places]) -> list[Side]:
    """The lists with, for each row, its rank in the list to the left and in the one to the right."""
    shown = [{row.document.pk for row in side.rows if row.document} for side in sides]
    found = []
    for at, side in enumerate(sides):
        left, right = (places[at - 1] if at else None), (places[at + 1] if at + 1 < len(sides) else None)
        rows = [
            replace(
                row,
                came="" if left is None else came(row.rank, left.get(row.document.pk)),
                goes="" if right is None or row.document.pk in shown[at + 1] else goes(right.get(row.document.pk)),
            )
            if row.document
            else row
            for row in side.rows
        ]
        found.append(replace(side, rows=rows, links=None if right is None else links(side, sides[at + 1])))
    return found


def came(rank: int, before: int | None) -> str:
    if before is None:
        return "new"
    if before == rank:
        return "same"
    return f"{'↑' if before > rank else '↓'} was {before:,}"


def goes(after: int | None) -> str:
    return "gone" if after is None else f"↓ to {after:,}"


def ideal_list(explanation: Explanation, documents: dict[int, Document], cutoff: int | None) -> dict:
    rows = [
        Line(row.rank, documents.get(row.document), row.grade, times(row), row.contribution)
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


def links(*sides: Side) -> dict:
    """SVG paths between the places of the same document on two sides; a stub for a document of one side only."""
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
    places: Sequence[Places], ideal: Explanation, documents: dict[int, Document], cutoff: int | None
) -> list[dict]:
    """Documents of the ideal list that a side does not list down to the cutoff, and where it has them."""
    rows = []
    for row in ideal.ideal[:SHOWN]:
        at = [where.get(row.document) for where in places]
        if any(rank is None or (cutoff and rank > cutoff) for rank in at):
            rows.append({"document": documents.get(row.document), "grade": row.grade, "ranks": at})
    return rows
