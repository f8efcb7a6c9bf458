"""The lists of one query by rank: those of systems, the ideal list, links between them, and missed documents."""

from collections.abc import Mapping, Sequence

from ratings.models import Document

from ..measures import Explanation, Row
from ..page.numbers import number

Places = Mapping[int, int]  # the rank of each document in a whole list, by pk

SHOWN = 50  # ranks of a list, which may have thousands

ROW = 54  # pixels of height of a row, as --row in the style sheet


def titles(pks: set[int]) -> dict[int, Document]:
    """The documents by pk, without their texts. One database query."""
    return {document.pk: document for document in Document.objects.filter(pk__in=pks).only("pk", "key", "title")}


def line(row: Row, documents: dict[int, Document], grade: float | None, calc: str) -> dict:
    """One rank of a list as a page shows it. calc: gain × discount, as text; grade: None = unjudged."""
    facts = {"rank": row.rank, "document": documents.get(row.document), "grade": grade}
    return facts | {"calc": calc, "adds": row.contribution, "came": "", "goes": ""}


def judged_line(row: Row, documents: dict[int, Document], grades: dict[int, float]) -> dict:
    calc = times(row) if row.document in grades or row.gain else "counted 0"
    return line(row, documents, grades.get(row.document), calc)


def times(row: Row) -> str:
    """Gain × discount as text, as 3 × 0.5000. A narrow column breaks it after the sign."""
    return f"{number(row.gain)}\N{NO-BREAK SPACE}× {row.discount:.4f}"


def linked(sides: Sequence[dict], places: Sequence[Places]) -> list[dict]:
    """The lists with `links`, and with the ranks of each row in the lists to the left and to the right."""
    result = []
    for at, side in enumerate(sides):
        left, right = (places[at - 1] if at else None), (places[at + 1] if at + 1 < len(sides) else None)
        after = sides[at + 1] if right is not None else None
        shown = _shown(after) if after else {}
        rows = []
        for row in side["rows"]:
            if document := row["document"]:
                row = row | {"came": "" if left is None else came(row["rank"], left.get(document.pk))}
                if right is not None and document.pk not in shown:
                    row["goes"] = f"↓ to {right[document.pk]:,}" if document.pk in right else "gone"
            rows.append(row)
        result.append(side | {"rows": rows, "links": links(side, after) if after else None})
    return result


def _shown(side: dict) -> dict[int, dict]:
    """The rows of a list by the pk of their document."""
    return {row["document"].pk: row for row in side["rows"] if row["document"]}


def came(rank: int, before: int | None) -> str:
    """The text on the rank `before`, in the list to the left; None: the document is not in that list."""
    if before is None:
        return "new"
    if before == rank:
        return "same"
    return f"{'↑' if before > rank else '↓'} was {before:,}"


def ideal_list(explanation: Explanation, documents: dict[int, Document], cutoff: int | None) -> dict:
    """The context of the ideal list, with empty rows down to the cutoff."""
    rows = [line(row, documents, row.grade, times(row)) for row in explanation.ideal[:SHOWN]]
    length = len(explanation.ideal)
    if cutoff and cutoff <= SHOWN:
        rows += [{"rank": rank, "document": None, "adds": 0.0} for rank in range(length + 1, cutoff + 1)]
    undefined = explanation.idcg == explanation.min_dcg
    return {
        "rows": rows,
        "more": max(0, length - SHOWN),
        "total": explanation.idcg,
        "value": None if undefined else 1.0,
    }


def links(*sides: dict) -> dict:
    """The SVG paths between the ranks of each document in two lists, or a stub if it is in one of them only."""
    left, right = map(_shown, sides)
    lines = []
    for pk, row in [*left.items(), *((pk, row) for pk, row in right.items() if pk not in left)]:
        y, end = ROW * row["rank"] - ROW // 2, None  # the middle of a row, in pixels from the top
        if pk not in left:
            path = f"M56 {y}H72M56 {y - 4}V{y + 4}"
        elif pk not in right:
            path = f"M0 {y}H16M16 {y - 4}V{y + 4}"
        else:
            end = ROW * right[pk]["rank"] - ROW // 2
            path = f"M0 {y}C36 {y} 36 {end} 72 {end}"
        # The CSS class is by the sign of what the document adds.
        tone = " pos" if row["adds"] > 0 else " neg" if row["adds"] < 0 else ""
        lines.append({"path": path, "end": end, "tone": tone})
    rows = max(len(side["rows"]) for side in sides)
    return {"lines": lines, "height": ROW * max(rows, 1), "shared": len(left.keys() & right.keys())}


def missed(
    places: Sequence[Places], ideal: Explanation, documents: dict[int, Document], cutoff: int | None
) -> list[dict]:
    """The documents of the ideal list that some list lacks above the cutoff, with their ranks in each list."""
    rows = []
    for row in ideal.ideal[:SHOWN]:
        at = [where.get(row.document) for where in places]
        if any(rank is None or (cutoff and rank > cutoff) for rank in at):
            rows.append({"document": documents.get(row.document), "grade": row.grade, "ranks": at})
    return rows
