"""The DCG of the lists of one query down to each rank, as a chart and as a table."""

from .. import charts
from ..measures import Explanation
from ..page.charts import Chart
from ..page.numbers import decimals
from ..scores import Asked
from .lists import SHOWN


def as_chart_and_table(explained: dict[str, Explanation], focus: str, asked: Asked) -> dict | None:
    """The context of the chart, with system `focus` highlighted, and of the table; None: all lists are empty."""
    depth = max((len(explanation.ranking) for explanation in explained.values()), default=0)
    depth = min(depth, asked.measure.cutoff or SHOWN, SHOWN)
    if depth < 1:
        return None
    ideal = next(iter(explained.values())).ideal
    lists = [("ideal", running_sums(ideal, depth))]
    lists += [(name, running_sums(explanation.ranking, depth)) for name, explanation in explained.items()]
    rows = [
        {
            "system": name,
            "cutoff": rank,
            "value": value,
            "leader": name == focus and index > 0,
            "ideal": index == 0,
        }
        for index, (name, values) in enumerate(lists)
        for rank, value in enumerate(values, 1)
        if value is not None
    ]
    ends = ", ".join(f"{name} {decimals([v for v in values if v is not None][-1])}" for name, values in lists)
    return {
        "chart": Chart("running-spec", charts.running(rows), f"DCG summed down to rank {depth}: {ends}"),
        "ranks": range(1, depth + 1),
        "table": lists,
    }


def running_sums(rows: list, depth: int) -> list[float]:
    """The DCG down to each rank up to `depth`; a shorter list stays at its last sum."""
    sums = [row.running for row in rows[:depth]]
    return sums + [sums[-1] if sums else 0.0] * (depth - len(sums))
