"""A confusion matrix of grades, as chart and table."""

from collections.abc import Mapping, Sequence

import numpy as np

from ratings.models import Collection

from .. import charts
from ..page.charts import Chart
from ..page.numbers import number


def labels_of(collection: Collection) -> dict[float, str]:
    """The label of each grade with its value, by value."""
    return {float(each.value): f"{number(float(each.value))} {each.label}" for each in collection.grades.all()}


def confusion(matrix: Mapping, grades: Mapping[float, str]) -> list[dict]:
    """The cells of the confusion matrix, a dict for each two grades, with the labels `one` and `other`.

    `share`: of the grades that other raters gave to pairs with the grade `one`, the share that is `other`, None
    without any; `couples`: how many such pairs of grades there are. matrix: {"grades": their values, "pairs": the
    symmetric matrix of the numbers of pairs of grades}; grades: labels by value.
    """
    counts = np.array(matrix["pairs"], np.float64)
    # A pair of different grades has two cells, one in the row of each. So in its only cell a pair of equal grades
    # counts twice.
    ordered = counts + np.diag(np.diag(counts))
    row_sums = ordered.sum(axis=1)
    labels = [grades.get(grade, number(grade)) for grade in matrix["grades"]]
    return [
        {
            "one": one,
            "other": other,
            "share": float(ordered[row, column] / row_sums[row]) if row_sums[row] else None,
            "couples": int(counts[row, column]),
        }
        for row, one in enumerate(labels)
        for column, other in enumerate(labels)
    ]


def most_confused(cells: Sequence[dict]) -> dict | None:
    """The cell of the two different grades that met most often, with `differing`: how many pairs of grades differ.

    cells: those of `confusion`, in which a pair of different grades counts in two cells. None: no pair differs.
    """
    differing = [cell for cell in cells if cell["one"] != cell["other"] and cell["couples"]]
    if not differing:
        return None
    most = max(differing, key=lambda cell: cell["couples"])  # of two alike, the one with the lower grades
    return most | {"differing": sum(cell["couples"] for cell in differing) // 2}


def confused(cells: Sequence[dict], grades: Sequence[str], about: str) -> dict:
    """The context of a confusion matrix, as chart and table. about: a sentence for its text alternative."""
    chart = Chart("confusion-spec", charts.confusion(cells, grades=grades), f"{about} The table has the numbers.")
    rows = [(one, [cell for cell in cells if cell["one"] == one]) for one in grades]
    return {"charts": {"confusion": chart}, "grades": grades, "confusion_rows": rows}
