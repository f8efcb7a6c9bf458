"""The differences of systems as a chart, and all pairs as a matrix."""

from collections.abc import Sequence
from dataclasses import replace

from .. import charts
from ..page.charts import Chart, dot
from ..page.numbers import decimals
from ..results.comparison import Compared
from ..results.leader import Selection, tested
from ..significance import CANNOT_TELL

MATRIX_FROM = 4  # systems from which all pairs are more than the pairs with one


def forest(rows: Sequence[dict], baseline: str) -> dict[str, Chart]:
    """The chart of the differences from the baseline; empty where no pair has one."""
    drawn = [row for row in rows if row["difference"] is not None]
    dots = [
        dot(row["system"], row["difference"], row["low"], row["high"], row["queries"])
        | {"significant": row["significant"], "url": row["url"]}
        for row in drawn
    ]
    return {"forest": Chart("forest", charts.differences(dots), alt_text(drawn, baseline))} if drawn else {}


def matrix_of(result: Compared, selection: Selection) -> dict:
    """The context of the matrix of all pairs; empty for fewer than MATRIX_FROM systems."""
    if len(selection.systems) < MATRIX_FROM:
        return {}
    # The page can show the pairs with one baseline alone; the matrix has all pairs all the same.
    all_pairs = tested(result.evaluation, replace(selection, all_pairs=True))
    return {"matrix": matrix(all_pairs), "critical": all_pairs.tests.critical, "every": all_pairs}


def alt_text(rows: Sequence[dict], baseline: str) -> str:
    """The text alternative of the chart: each system with its difference and the verdict."""
    parts = [f"{row['system']} {decimals(row['difference'])}, {row['verdict']}" for row in rows]
    return f"Difference of means to {baseline}: {'; '.join(parts)}."


def matrix(result: Compared) -> list[tuple[str, list[dict | None]]]:
    """(system, its difference to each of the others), highest mean first; None on the diagonal."""
    cells = {}  # by (row, column): how much higher the mean of the row is
    for row in result.rows():
        baseline, system, difference = row["baseline"], row["system"], row["difference"]
        facts = {"significant": row["verdict"] != CANNOT_TELL, "p": row["p_hsd"]}
        cells[system, baseline] = {"value": difference} | facts
        cells[baseline, system] = {"value": None if difference is None else -difference} | facts
    order = [name for name in result.evaluation.names if name in result.systems]
    return [(name, [cells.get((name, other)) for other in order]) for name in order]
