"""The charts of the overview: means, expected means, and means at every cutoff."""

from .. import charts
from ..measures import Measure
from ..page.charts import Chart
from ..page.numbers import decimals
from ..scores import Evaluation, Standing
from ..scores.expected import Expected


def means_chart(evaluation: Evaluation) -> Chart:
    parts = [f"{standing.system} {decimals(standing.mean)}" for standing in evaluation.standings]
    alt_text = f"Mean {evaluation.asked.measure} by system, highest first: {', '.join(parts)}."
    rows = [
        as_row(each, "mean", "low", "high", "lowest", "highest", "queries", leader=each is evaluation.standings[0])
        for each in evaluation.standings
        if each.mean is not None
    ]
    spec = charts.means(rows, bounded=evaluation.asked.bounded, neutral=evaluation.neutral_mean)
    return Chart("means", spec, alt_text)


def expected_chart(evaluation: Evaluation, told: Expected) -> Chart:
    """The expected means with their intervals, and the plain ones beside them."""
    rows = [
        as_row(
            standing,
            *("mean", "low", "high", "lowest", "highest"),
            expected=mean.mean,
            expected_low=mean.low,
            expected_high=mean.high,
            final=told.final,
            leader=told.leader == mean.system,
        )
        for standing in evaluation.standings
        if (mean := told.of(standing.system)).mean is not None
    ]
    parts = [
        f"{row['system']} {decimals(row['expected'])} ({decimals(row['expected_low'])} to "
        f"{decimals(row['expected_high'])}), plain {decimals(row['mean'])}"
        for row in rows
    ]
    alt_text = f"Expected mean {told.measure} by system, with its 90 % interval for missing judgments: "
    spec = charts.expected_means(rows, bounded=evaluation.asked.bounded, neutral=evaluation.neutral_mean)
    return Chart("means", spec, f"{alt_text}{'; '.join(parts)}.")


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
    curves = evaluation.across(measures)
    rows = [
        as_row(each, "low", "high", cutoff=measure.cutoff, value=each.mean, leader=each.system == leader)
        for _, standings in curves
        for measure, each in zip(measures, standings, strict=True)
        if each.mean is not None
    ]
    if not rows:
        return {}
    last = ", ".join(f"{each.system} {decimals(standings[-1].mean)}" for each, standings in curves)
    asked = evaluation.asked
    alt_text = f"Mean {asked.uncut}@k by system for k from {measures[0].cutoff} to {measures[-1].cutoff}. "
    alt_text += f"At {measures[-1].cutoff}: {last}."
    return {"curves": Chart("curves", charts.curves(rows, bounded=asked.bounded), alt_text)}
