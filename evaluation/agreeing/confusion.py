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


def confusion(found: Mapping, grades: Mapping[float, str]) -> list[dict]:
    """A cell for each two grades: of the grades that were paired with `one`, the share that is `other`."""
    counts = np.array(found["pairs"], np.float64).reshape(len(found["grades"]), -1)
    # A pair of grades counts once for each of them, so a pair of equal grades counts twice in its cell.
    ordered = counts + np.diag(np.diag(counts))
    of_row = ordered.sum(axis=1)
    labels = [grades.get(grade, number(grade)) for grade in found["grades"]]
    return [
        {
            "one": one,
            "other": other,
            "share": float(ordered[row, column] / of_row[row]) if of_row[row] else None,
            "couples": int(counts[row, column]),
        }
        for row, one in enumerate(labels)
        for column, other in enumerate(labels)
    ]


def confused(cells: Sequence[dict], grades: Sequence[str], said: str) -> dict:
    """The context of a confusion matrix, as chart and table."""
    chart = Chart("confusion-spec", charts.confusion(cells, grades=grades), f"{said} The table has the numbers.")
    rows = [(one, [cell for cell in cells if cell["one"] == one]) for one in reversed(grades)]
    return {"charts": {"confusion": chart}, "grades": grades, "confusion_rows": rows}
