"""The charts of the overview: means, expected means, and means at every cutoff."""

from .. import charts
from ..deciding import Expected
from ..page.charts import Chart
from ..page.numbers import decimals
from .answer import Answer, as_row
from .standings import Standing


def means_chart(answer: Answer, neutral: float | None) -> Chart:
    parts = [f"{standing.system.name} {decimals(standing.mean)}" for standing in answer.standings]
    alt_text = f"Mean {answer.asked.measure} by system, highest first: {', '.join(parts)}."
    rows = [
        as_row(each, "mean", "low", "high", "lowest", "highest", "queries", leader=each is answer.standings[0])
        for each in answer.standings
        if each.mean is not None
    ]
    return Chart("means", charts.means(rows, bounded=answer.asked.bounded, neutral=neutral), alt_text)


def expected_chart(answer: Answer, told: Expected, neutral: float | None) -> Chart:
    """The expected means with their intervals, and the plain ones beside them."""
    means = {row.system: row for row in told.means}
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
        for standing in answer.standings
        if (mean := means.get(standing.system.name)) and mean.mean is not None
    ]
    parts = [
        f"{row['system']} {decimals(row['expected'])} ({decimals(row['expected_low'])} to "
        f"{decimals(row['expected_high'])}), plain {decimals(row['mean'])}"
        for row in rows
    ]
    alt_text = f"Expected mean {told.measure} by system, with its 90 % interval for missing judgments: "
    spec = charts.expected_means(rows, bounded=answer.asked.bounded, neutral=neutral)
    return Chart("means", spec, f"{alt_text}{'; '.join(parts)}.")


def curves_of(answer: Answer) -> tuple[list[int], list[tuple[str, list[Standing]]]]:
    """The context of the curves: the cutoffs down to the deepest ranking, and each system's mean at them."""
    deepest = max((int(answer.record.rankings[name].length.max(initial=0)) for name in answer.systems), default=0)
    within = [measure for measure in answer.asked.at_cutoffs if measure.cutoff <= max(deepest, 2)]
    table = [(name, [answer.standing(name, measure) for measure in within]) for name in answer.names]
    return [measure.cutoff for measure in within], table


def drawn_curves(answer: Answer, cutoffs: list[int], curve: list[tuple[str, list[Standing]]]) -> dict[str, Chart]:
    leader = answer.standings[0].system.name
    rows = [
        as_row(standing, "low", "high", cutoff=cutoff, value=standing.mean, leader=name == leader)
        for name, standings in curve
        for cutoff, standing in zip(cutoffs, standings, strict=True)
        if standing.mean is not None
    ]
    if not rows:
        return {}
    last = ", ".join(f"{name} {decimals(standings[-1].mean)}" for name, standings in curve)
    alt_text = f"Mean {answer.asked.to(None)}@k by system for k from {cutoffs[0]} to {cutoffs[-1]}. "
    alt_text += f"At {cutoffs[-1]}: {last}."
    return {"curves": Chart("curves", charts.curves(rows, bounded=answer.asked.bounded), alt_text)}
