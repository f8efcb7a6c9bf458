"""One system against the best of the others on each query, so that its losses show whoever causes them."""

from math import ceil
from urllib.parse import urlencode

import numpy as np
from django.urls import reverse

from ratings.models import Collection

from .. import charts
from ..page.charts import Chart
from ..page.numbers import decimals
from ..results.leader import ROUNDING
from ..scores import Evaluation

LISTED_LOSSES = 10  # in the table
MOST_BARS = 1_000  # about the width in pixels: with more queries, every n-th is drawn


def against_rivals(collection: Collection, evaluation: Evaluation, system: str) -> dict:
    """The context of the chart and of the largest losses; empty with fewer than two other systems.

    The rival on a query is the system with the highest value among the others, on that query alone. `leader`: the
    given system; `lost`, `against`: on how many queries it loses, and on how many it is compared.
    """
    names = [name for name in evaluation.means if name != system]
    if len(names) < 2:
        return {}
    rows = differences(evaluation, system, names)
    if not rows:
        return {}
    asked, total = evaluation.asked, len(rows)
    for row in rows:
        query_string = asked.keep_with(urlencode([("system", row["rival"]), ("system", system)]))
        row["ahead"] = -row["value"]  # by how much the rival is ahead
        row["url"] = reverse("query", args=[collection.slug, row["pk"]]) + query_string
    # The rows stand highest first. With more rows than bars, a bar shows the first row of each `step`.
    step = ceil(total / MOST_BARS)
    bars = [rows[start] | {"start": start, "end": min(start + step, total)} for start in range(0, total, step)]
    # The largest first. What is lost within ROUNDING is an error of rounding.
    losses = [row for row in reversed(rows) if row["value"] < -ROUNDING]
    alt_text = f"{asked.measure} of {system} minus that of the best other system on {total:,} queries, "
    alt_text += f"highest first: from {decimals(rows[0]['value'])} to {decimals(rows[-1]['value'])}."
    return {
        "leader": system,
        "losses": losses[:LISTED_LOSSES],
        "lost": len(losses),
        "against": total,
        "rivals_chart": Chart("rivals", charts.deltas(bars), alt_text),
    }


def differences(evaluation: Evaluation, system: str, names: list[str]) -> list[dict]:
    """A row for each query that counts for `system` and for one of `names`, the highest difference first.

    first: the value of its rival, the best of `names` on that query; second: that of `system`; value: second less
    first.
    """
    of_system, of_others = evaluation.counting([system])[:, 0], evaluation.counting(names)
    of_others = np.where(np.isnan(of_others), -np.inf, of_others)  # a value that does not count is never the best
    highest, rival = of_others.max(axis=1), of_others.argmax(axis=1)
    # Finite where both count: nan where the system does not, inf where none of the others does.
    difference = of_system - highest
    queries = evaluation.table.record.queries
    rows = [
        {
            "pk": int(queries["pk"].iat[place]),
            "query": queries["key"].iat[place],
            "text": queries["text"].iat[place],
            "rival": names[rival[place]],
            "first": float(highest[place]),
            "second": float(of_system[place]),
            "value": float(difference[place]),
        }
        for place in np.flatnonzero(np.isfinite(difference)).tolist()
    ]
    return sorted(rows, key=lambda row: -row["value"])
