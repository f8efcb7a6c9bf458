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

    most: show only so many systems, those with the highest means; None: all. Expected means are never cut.
    """
    if expected := evaluation.expecting.interval:
        return _expected_chart(evaluation, expected)
    shown = evaluation.standings[:most]
    means = ", ".join(f"{standing.system} {decimals(standing.mean)}" for standing in shown)
    alt_text = f"Mean {evaluation.asked.measure} by system, highest first: {means}."
    numbers = ("mean", "low", "high", "lowest", "highest", "queries")
    with_mean = [standing for standing in shown if standing.mean is not None]
    rows = [as_row(standing, *numbers, leader=standing.system == evaluation.names[0]) for standing in with_mean]
    spec = charts.means(rows, bounded=evaluation.asked.bounded, neutral=evaluation.neutral_mean)
    return Chart("means", spec, alt_text)


def means_caption(evaluation: Evaluation) -> str:
    """What a picture of the means shows, and their measure and options, for who has the picture alone."""
    if expected := evaluation.expecting.interval:
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
    """The expected means with their intervals, each beside the plain mean of its system."""
    numbers = ("mean", "low", "high", "lowest", "highest")
    rows, texts = [], []
    for standing in evaluation.standings:
        estimate = expected.of(standing.system)
        if estimate.mean is None:
            continue
        rows.append(
            as_row(
                standing,
                *numbers,
                expected=estimate.mean,
                expected_low=estimate.low,
                expected_high=estimate.high,
                final=expected.final,
                leader=expected.leader == standing.system,
            )
        )
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
    """The means of each system in these measures, which differ in the cutoff; empty where there is no mean."""
    leader = evaluation.names[0]
    curves = evaluation.across(measures)  # (a standing, those of its system in each measure)
    rows = []
    for standing, points in curves:
        for measure, point in zip(measures, points, strict=True):
            if point.mean is not None:
                looks = {"cutoff": measure.cutoff, "leader": standing.system == leader}
                rows.append(as_row(point, "low", "high", value=point.mean, **looks))
    if not rows:
        return {}
    asked = evaluation.asked
    first, last = measures[0].cutoff, measures[-1].cutoff
    last_means = ", ".join(f"{standing.system} {decimals(points[-1].mean)}" for standing, points in curves)
    alt_text = f"Mean {asked.uncut}@k by system for k from {first} to {last}. At {last}: {last_means}."
    return {"curves": Chart("curves", charts.curves(rows, bounded=asked.bounded), alt_text)}
