"""The charts of a watch: the mean of each night, and its difference to each baseline."""

from collections.abc import Sequence

from ratings.models import Baseline

from ..charts import nights as drawn
from ..measures import parse_measure
from ..models import Watch
from ..page.charts import Chart
from ..page.numbers import decimals
from ..scores import SUMS
from . import trend
from .trend import Point

FEWEST_NIGHTS = 2  # of a chart


def charts(watch: Watch, points: Sequence[Point]) -> dict[str, Chart]:
    """The charts of means ("nights"), of judged shares ("judged"), and of differences to a baseline (its kind).

    A chart with fewer than FEWEST_NIGHTS nights is left out. points: the oldest first.
    """
    rows, marks = trend.chart_rows(points), trend.mark_rows(points)
    if len(rows) < FEWEST_NIGHTS:
        return {}
    measure = watch.asked["measure"]
    bounded = parse_measure(measure).name not in SUMS  # whether the maximum of the measure is 1
    first, last = rows[0], rows[-1]
    alt_text = f"Mean {measure} of {len(rows)} nights. It was {decimals(first['mean'])} on {first['night']}"
    alt_text += f" and {decimals(last['mean'])} on {last['night']}."
    means = Chart("nights", drawn.nights(rows, marks, bounded=bounded), alt_text)
    text_of_shares = f"Share of judged results, {len(rows)} nights; {decimals(last['judged'], 2)} in the last."
    judged = Chart("judged", drawn.judged(rows), text_of_shares)
    by_id = {
        "nights": titled(means, watch, f"mean {measure} by night", "95 % interval", rows),
        "judged": titled(judged, watch, "share of judged results by night", "Above the cutoff", rows),
    }
    for kind in Baseline.Kind.values:
        differences = trend.difference_rows(points, kind)
        if len(differences) >= FEWEST_NIGHTS:
            of_kind = f"difference of mean {measure} to the {kind} baseline"
            spec = drawn.by_night(differences, watch.margin)
            in_last = f"The last one is {decimals(differences[-1]['difference'])}."
            chart = Chart(f"difference-{kind}", spec, f"The {of_kind}, {len(differences)} nights. {in_last}")
            by_id[kind] = titled(chart, watch, of_kind, "One-sided 95 % limits", differences)
    return by_id


def titled(chart: Chart, watch: Watch, title: str, caption: str, rows: Sequence[dict]) -> Chart:
    """The chart with the title and the caption of its picture file. rows: those of the chart."""
    return chart.titled(
        f"{watch.collection.name}, {watch.name}: {title}",
        f"{caption}, n = {rows[-1]['queries']} in the last night.",
        f"{watch.collection.slug}-watch",
    )
