"""The lists of one query by rank: those of systems, the ideal list, links between them, and missed documents."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ratings.models import Document

from ..measures import Explanation, Row
from ..page.numbers import number

Ranks = Mapping[int, int]  # the rank of each document by pk, in a whole list: also below the cutoff

SHOWN_RANKS = 50  # ranks of a list, which may have thousands

ROW_PIXELS = 54  # pixels of height of a row, as --row in the style sheet


def line(row: Row, documents: dict[int, Document], grade: float | None, calc: str) -> dict:
    """One rank of a list as a page shows it. calc: gain × discount, as text; grade: None = unjudged.

    `linked` fills in `came` and `goes`: texts on the rank of the document in the lists to the left and right.
    """
    facts = {"rank": row.rank, "document": documents.get(row.document), "grade": grade}
    return facts | {"calc": calc, "adds": row.contribution, "came": "", "goes": ""}


def judged_line(row: Row, documents: dict[int, Document], grades: dict[int, float]) -> dict:
    """`line` for a rank of a system. grades: those of judged documents, by pk."""
    calc = product_text(row) if row.document in grades or row.gain else "counted 0"
    return line(row, documents, grades.get(row.document), calc)


def product_text(row: Row) -> str:
    """Gain × discount as text, as 3 × 0.5000. A narrow column breaks it after the sign."""
    return f"{number(row.gain)}\N{NO-BREAK SPACE}× {row.discount:.4f}"


def linked(sides: Sequence[dict], whole_ranks: Sequence[Ranks]) -> list[dict]:
    """Copies of the lists with `links` to the next, and with texts on where each document stands beside.

    Each list is compared with its neighbours: `came` of a row says where its document is in the list to the left,
    `goes` where it is in the list to the right, if that list does not show it. whole_ranks: for each list the
    ranks of its documents, also below the rows that are shown.
    """
    copies = [side | {"rows": [dict(row) for row in side["rows"]], "links": None} for side in sides]
    for (left, left_ranks), (right, right_ranks) in pairwise(zip(copies, whole_ranks, strict=True)):
        left_rows, right_rows = _by_document(left), _by_document(right)
        for pk, row in right_rows.items():
            row["came"] = came(row["rank"], left_ranks.get(pk))
        for pk, row in left_rows.items():
            # Where the list to the right shows the document, too, a line leads to it.
            if pk not in right_rows:
                row["goes"] = f"↓ to {right_ranks[pk]:,}" if pk in right_ranks else "gone"
        left["links"] = links(left, right)
    return copies


def _by_document(side: dict) -> dict[int, dict]:
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
    """The context of the ideal list: SHOWN_RANKS rows of it at most.

    A list that is shorter than the cutoff has empty rows down to it, but none for a cutoff above SHOWN_RANKS.
    more: how many ranks are not shown; total: the DCG; value: the nDCG, 1 or, where it is undefined, None. cutoff:
    None for no empty rows.
    """
    rows = [line(row, documents, row.grade, product_text(row)) for row in explanation.ideal[:SHOWN_RANKS]]
    length = len(explanation.ideal)
    if cutoff and cutoff <= SHOWN_RANKS:
        rows += [{"rank": rank, "document": None, "adds": 0.0} for rank in range(length + 1, cutoff + 1)]
    undefined = explanation.idcg == explanation.min_dcg  # nDCG divides by their difference
    return {
        "rows": rows,
        "more": max(0, length - SHOWN_RANKS),
        "total": explanation.idcg,
        "value": None if undefined else 1.0,
    }


def links(left: dict, right: dict) -> dict:
    """The context of the lines between two lists: an SVG path for each document, in a box 72 pixels wide.

    A document in both lists has a curve between its ranks. One in a single list has a stub, a line of 16 pixels
    from that list with a bar at its end. end: the height at which a curve arrives on the right, None for a stub;
    shared: how many documents both lists show.
    """
    left_rows, right_rows = _by_document(left), _by_document(right)
    lines = []
    for pk in left_rows | right_rows:
        row = left_rows.get(pk) or right_rows[pk]
        y = _middle(row)
        right_y = _middle(right_rows[pk]) if pk in left_rows and pk in right_rows else None
        if right_y is not None:
            path = f"M0 {y}C36 {y} 36 {right_y} 72 {right_y}"
        elif pk in left_rows:
            path = f"M0 {y}H16M16 {y - 4}V{y + 4}"
        else:
            path = f"M56 {y}H72M56 {y - 4}V{y + 4}"
        # A CSS class, by the sign of what the document adds to the DCG.
        tone = " pos" if row["adds"] > 0 else " neg" if row["adds"] < 0 else ""
        lines.append({"path": path, "end": right_y, "tone": tone})
    height = ROW_PIXELS * max(len(left["rows"]), len(right["rows"]), 1)
    return {"lines": lines, "height": height, "shared": len(left_rows.keys() & right_rows.keys())}


def _middle(row: dict) -> int:
    """The middle of a row, in pixels from the top of its list."""
    return ROW_PIXELS * row["rank"] - ROW_PIXELS // 2


def missed(
    whole_ranks: Sequence[Ranks], ideal: Explanation, documents: dict[int, Document], cutoff: int | None
) -> list[dict]:
    """The documents of the ideal list that some list lacks above the cutoff, with their ranks in each list."""
    rows = []
    for row in ideal.ideal[:SHOWN_RANKS]:
        ranks = [ranks_in_list.get(row.document) for ranks_in_list in whole_ranks]
        if any(rank is None or (cutoff and rank > cutoff) for rank in ranks):
            rows.append({"document": documents.get(row.document), "grade": row.grade, "ranks": ranks})
    return rows
