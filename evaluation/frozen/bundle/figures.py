"""The charts of a frozen evaluation, each with a title, a caption and a text alternative."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ... import charts
from ...charts import pictures
from ...measures import Measure
from ...page import documents
from ...page.numbers import counts, decimals
from ...page.words import degree
from ...scores import SUMS, Evaluation

CELLS = 20_000  # queries x systems of a heat map, at most
WIDEST = 2_400  # pixels that fit on a page of a paper


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    sentence: str
    alt: str
    spec: dict
    least: int | None = None  # least width in pixels on a web page, which scrolls

    @property
    def width(self) -> int:
        """The width of the picture in a bundle, in pixels."""
        return min(max(self.least or 0, pictures.WIDTH), WIDEST)

    def as_text(self) -> str:
        return f"{self.title}\n\n{self.sentence}\n\nIn words: {self.alt}\n"


def figures(evaluation: Evaluation) -> list[Figure]:
    """The figures with data, of these: means with intervals, means by cutoff, values by query."""
    return [figure for make in (_means, _curves, _heat) if (figure := make(evaluation))]


def best_first(evaluation: Evaluation, measure: Measure) -> list[str]:
    """The systems by mean, highest first; those without a mean last."""
    means = {
        name: documents.known(evaluation.summary.loc[(name, str(measure)), "mean"]) for name in evaluation.systems
    }
    return sorted(means, key=lambda name: (means[name] is None, -(means[name] or 0), name))


def at_cutoffs(evaluation: Evaluation) -> list[Measure]:
    """The first measure at each of its cutoffs in the evaluation, ascending."""
    first = evaluation.measures[0]
    alike = [each for each in evaluation.measures if (each.name, each.params) == (first.name, first.params)]
    return sorted((each for each in alike if each.cutoff), key=lambda each: each.cutoff)


def _means(evaluation: Evaluation) -> Figure | None:
    measure, rows = evaluation.measures[0], []
    for name in best_first(evaluation, measure):
        row = {key: documents.known(value) for key, value in evaluation.summary.loc[(name, str(measure))].items()}
        if row["mean"] is not None:
            numbers = {key: row[key] for key in ("mean", "low", "high", "queries")}
            rows.append({"system": name, **numbers, "leader": not rows})
    if not rows:
        return None
    return Figure(
        name="means",
        title=f"Mean {measure} by system",
        sentence=f"Dots are means of {measure}, lines their 95 % intervals over queries; the dotted one "
        f"stands at the {degree(measure).most}; "
        f"{evaluation.asked.fingerprint_of(measure)}, n = {counts(row['queries'] for row in rows)}.",
        alt="; ".join(_mean_in_words(row) for row in rows) + ".",
        spec=charts.means(rows, bounded=measure.name not in SUMS),
    )


def _mean_in_words(row: dict) -> str:
    interval = "" if row["low"] is None else f" ({decimals(row['low'])} to {decimals(row['high'])})"
    return f"{row['system']} {decimals(row['mean'])}{interval}"


def _curves(evaluation: Evaluation) -> Figure | None:
    measures = at_cutoffs(evaluation)
    if len(measures) < 2:
        return None
    order = best_first(evaluation, evaluation.measures[0])
    rows = [
        {"system": name, "cutoff": measure.cutoff, **numbers, "leader": name == order[0]}
        for name in order
        for measure in measures
        if (numbers := _numbers(evaluation, name, measure))["value"] is not None
    ]
    if not rows:
        return None
    first, last = measures[0], measures[-1]
    name = str(Measure(first.name, None, first.params))
    ends = {row["system"]: row["value"] for row in rows if row["cutoff"] == last.cutoff}
    return Figure(
        name="cutoffs",
        title=f"Mean {name}@k for k from {first.cutoff} to {last.cutoff}",
        sentence=f"Means of {name} at growing cutoffs, bands to 95 %; "
        f"{evaluation.asked.fingerprint_of(first)}, n = {counts(row['queries'] for row in rows)}. "
        f"Where lines cross, the choice of k decides which system looks {degree(first).more}.",
        alt=f"At {last.cutoff}: "
        + ", ".join(f"{system} {decimals(value)}" for system, value in ends.items())
        + ".",
        spec=charts.curves(rows, bounded=first.name not in SUMS),
    )


def _numbers(evaluation: Evaluation, system: str, measure: Measure) -> dict[str, float | None]:
    row = evaluation.summary.loc[(system, str(measure))]
    numbers = {"value": row["mean"], "low": row["low"], "high": row["high"], "queries": row["queries"]}
    return {name: documents.known(value) for name, value in numbers.items()}


def _heat(evaluation: Evaluation) -> Figure | None:
    measure = evaluation.measures[0]
    order = best_first(evaluation, measure)
    counting = evaluation.counting(measure, order)
    if counting.size > CELLS or np.isnan(counting).all():
        return None
    middle = pd.DataFrame(counting).median(axis=1).fillna(-np.inf)
    rows = np.argsort(-middle.to_numpy(), kind="stable")
    values, why = evaluation.values(measure, order)[rows], evaluation.why(measure, order)[rows]
    bounded = measure.name not in SUMS
    top = 1.0 if bounded else max(float(np.nanmax(counting)), 0.0) or 1.0
    keys, texts = (evaluation.table.record.queries[name].iloc[rows].tolist() for name in ("key", "text"))
    cells = [
        {"query": key, "system": name} | _cell(value, reason)
        for key, row, reasons in zip(keys, values.tolist(), why.tolist(), strict=True)
        for name, value, reason in zip(order, row, reasons, strict=True)
    ]
    queries = [{"query": key, "text": text, "url": ""} for key, text in zip(keys, texts, strict=True)]
    ends = charts.ends(measure)
    left_out = int(np.isnan(counting).all(axis=1).sum())
    return Figure(
        name="queries",
        title=f"{measure} of each query and system",
        sentence=f"Queries from {ends[0]} to {ends[1]} by their median, in five equal steps from 0 to {top:g}: "
        f"the stronger the shade, the higher. {evaluation.asked.fingerprint_of(measure)}.",
        alt=f"{len(values):,} queries by {len(order)} systems, {left_out:,} of them not counted (hatched). "
        "per_query.csv has the numbers.",
        spec=charts.heat_map(cells, queries, systems=order, top=top, ends=ends),
        least=3 * len(queries) + 90 if len(queries) > 60 else None,
    )


def _cell(value: float, why: str) -> dict:
    """The value of a cell of the heat map. why: why it counts in no mean; "" where it counts."""
    if why:
        return charts.uncounted(documents.known(value), why)
    return {"value": round(value, 4)} | ({"below": True} if value < 0 else {})
