"""The charts of the overview: means, expected means, and means at every cutoff."""

from .. import charts
from ..measures import Measure
from ..page.charts import Chart
from ..page.numbers import decimals, queries_behind
from ..page.words import about_interval
from ..scores import Evaluation, Standing
from ..scores.expected import Expected


def means_chart(evaluation: Evaluation, most: int | None = None) -> Chart:
    """The chart of the mean of each system, or of the expected means where they have intervals.

    most: how many systems it shows at most, those with the highest means; None: all. The chart of expected means
    always shows all.
    """
    if expected := evaluation.expecting.with_intervals:
        return _expected_chart(evaluation, expected)
    shown = evaluation.standings[:most]  # the highest mean first
    means = ", ".join(f"{standing.system} {decimals(standing.mean)}" for standing in shown)
    alt_text = f"Mean {evaluation.asked.measure} by system, highest first: {means}."
    # low, high: the 95 % interval; lowest, highest: what the mean can still become once all is judged.
    numbers = ("mean", "low", "high", "lowest", "highest", "queries")
    # The text above names a system without a mean, with a dash. There is no dot to draw for it.
    with_mean = [standing for standing in shown if standing.mean is not None]
    leader = evaluation.standings[0].system
    rows = [as_row(standing, *numbers, leader=standing.system == leader) for standing in with_mean]
    # neutral_mean: the mean score of an empty list; None where it is 0 or not known.
    spec = charts.means(rows, bounded=evaluation.asked.bounded, neutral=evaluation.neutral_mean)
    return Chart("means", spec, alt_text)


def means_caption(evaluation: Evaluation) -> str:
    """The caption of a picture file of the means: what its marks are, and below that the measure and options."""
    if expected := evaluation.expecting.with_intervals:
        intervals = "90 % interval for missing judgments"
        return f"Dots are expected means, lines their {intervals}.\n{expected.measure} {expected.options}"
    about = about_interval(evaluation.sampled)
    caption = f"Dots are means, lines their 95 % interval {about}, n = {queries_behind(evaluation.standings)}"
    if evaluation.is_bounded:
        caption += "; thin lines span what the means can still become"
    if evaluation.neutral_mean is not None:
        caption += "; the mark is the score of an empty list"
    return f"{caption}.\n{evaluation.label}"


def _expected_chart(evaluation: Evaluation, expected: Expected) -> Chart:
    """The chart of the expected means with their intervals, each beside the plain mean of its system.

    An expected mean counts missing judgments as predicted, a plain one as the options say. Systems without an
    expected mean are left out.
    """
    numbers = ("mean", "low", "high", "lowest", "highest")
    rows, texts = [], []
    for standing in evaluation.standings:
        estimate = expected.of(standing.system)
        if estimate.mean is None:
            continue
        means = {"expected": estimate.mean, "expected_low": estimate.low, "expected_high": estimate.high}
        is_leader = expected.leader == standing.system
        # final: whether all documents above the cutoff are judged.
        rows.append(as_row(standing, *numbers, **means, final=expected.final, leader=is_leader))
        interval = f"({decimals(estimate.low)} to {decimals(estimate.high)})"
        plain = decimals(standing.mean)
        texts.append(f"{standing.system} {decimals(estimate.mean)} {interval}, plain {plain}")
    alt_text = f"Expected mean {expected.measure} by system, with its 90 % interval for missing judgments: "
    spec = charts.expected_means(rows, bounded=evaluation.asked.bounded, neutral=evaluation.neutral_mean)
    return Chart("means", spec, f"{alt_text}{'; '.join(texts)}.")


def as_row(standing: Standing, *names: str, **more) -> dict:
    """The row of a chart with the name of the system, these numbers, and more."""
    return {"system": standing.system, **{name: getattr(standing, name) for name in names}, **more}


def cutoffs_of(evaluation: Evaluation) -> list[Measure]:
    """The asked measure at the cutoffs of the curve, down to the deepest ranking."""
    rankings = evaluation.table.record.rankings
    deepest = max((int(rankings[name].length.max(initial=0)) for name in evaluation.systems), default=0)
    return [measure for measure in evaluation.asked.at_cutoffs if measure.cutoff <= max(deepest, 2)]


def curves_chart(evaluation: Evaluation, measures: list[Measure]) -> dict[str, Chart]:
    """{"curves": the chart of the mean of each system over the cutoff}; empty where no system has a mean.

    measures: the asked one at each cutoff, the smallest first.
    """
    leader = evaluation.names[0]
    curves = evaluation.across(measures)  # (standing of a system, its standings in `measures`)
    rows = [
        as_row(point, "low", "high", value=point.mean, cutoff=measure.cutoff, leader=point.system == leader)
        for _, points in curves
        for measure, point in zip(measures, points, strict=True)
        if point.mean is not None
    ]
    if not rows:
        return {}
    asked = evaluation.asked
    first, last = measures[0].cutoff, measures[-1].cutoff
    last_means = ", ".join(f"{standing.system} {decimals(points[-1].mean)}" for standing, points in curves)
    alt_text = f"Mean {asked.uncut}@k by system for k from {first} to {last}. At {last}: {last_means}."
    return {"curves": Chart("curves", charts.curves(rows, bounded=asked.bounded), alt_text)}
