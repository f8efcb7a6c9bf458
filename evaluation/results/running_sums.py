"""The DCG of the lists of one query down to each rank, as a chart and as a table."""

from .. import charts
from ..measures import Explanation
from ..page.charts import Chart
from ..page.numbers import decimals
from ..scores import Asked
from .lists import SHOWN_RANKS


def as_chart_and_table(explained: dict[str, Explanation], focus: str, asked: Asked) -> dict | None:
    """The context of the chart and the table of the DCG down to each rank; None where all lists are empty.

    The first list is the ideal one of the first system. explained: by system; focus: the system that is
    highlighted, whose rows have `leader`.
    """
    longest = max((len(explanation.ranking) for explanation in explained.values()), default=0)
    depth = min(longest, asked.measure.cutoff or SHOWN_RANKS, SHOWN_RANKS)
    if depth < 1:
        return None
    first, *_ = explained.values()
    lists = [("ideal", running_sums(first.ideal, depth))]
    lists += [(name, running_sums(explanation.ranking, depth)) for name, explanation in explained.items()]
    rows = []
    for index, (name, values) in enumerate(lists):
        is_ideal = index == 0  # not by the name: a system can be called "ideal", too
        facts = {"system": name, "leader": name == focus and not is_ideal, "ideal": is_ideal}
        rows += [facts | {"cutoff": rank, "value": value} for rank, value in enumerate(values, 1)]
    last_sums = ", ".join(f"{name} {decimals(values[-1])}" for name, values in lists)
    return {
        "chart": Chart("running-spec", charts.running(rows), f"DCG summed down to rank {depth}: {last_sums}"),
        "ranks": range(1, depth + 1),
        "table": lists,
    }


def running_sums(rows: list, depth: int) -> list[float]:
    """The DCG down to each rank up to `depth`; a shorter list stays at its last sum."""
    sums = [row.running for row in rows[:depth]]
    return sums + [sums[-1] if sums else 0.0] * (depth - len(sums))
