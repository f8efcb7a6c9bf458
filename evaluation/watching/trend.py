"""The nights of a watch as rows: for the page, its charts, and its files."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from ratings.models import Baseline

from .. import measures as kernel
from ..models import Night, Verdict, Watch
from ..page.address import raising_cannot_answer
from ..page.documents import Table
from ..record import cache, queries_of
from ..scores import mean_of, read, sampled_of
from .scoring import Means, asked_of, documents_of, rankings_of

# What a mark says of a change between two nights, by the names of `scoring.terms_of`.
MARKS = {
    "scale": "scale",
    "guidelines": "guidelines",
    "presentation": "presentation",
    "measure": "measure or options",
    "queries": "queries",
    "documents": "texts of documents",
    "judges": "judges",
    "fixed": "fixed baseline",
    "release": "release",
    "request": "request",
}
ENDED = (Night.State.TOLD, Night.State.GAP)  # the states of a night that stays as it is
HEAVY_COLUMNS = ("queries", "rankings", "again", "values", "failed")  # columns that a trend does not read
# The numbers of verdicts in files.
NUMBERS = ("difference", "low", "high", "expected", "at_best", "unjudged", "is_minority", "p")
COLUMNS = (
    *("night", "state", "mean", "low", "high", "lowest", "highest", "judged", "queries", "gaps", "undefined"),
    *("unjudged", "results", "plain", "traffic", "label"),
    *("judgments", "judgments_version", "today", "changed", "problem"),
    *(
        f"{kind}_{name}"
        for kind in Baseline.Kind.values
        for name in ("system", "verdict", *NUMBERS, "spent", "answer")
    ),
)


@dataclass(frozen=True)
class Point:
    """One night of the trend."""

    night: Night
    means: Means | None  # None for a gap
    verdicts: Mapping[str, Verdict]  # by kind of baseline
    changed: list[str]  # what changed since the last night before it that is no gap: texts of MARKS
    today: float | None = None  # the mean by today's judgments, where it was asked for

    @property
    def is_worse(self) -> bool:
        return any(verdict.kind == Verdict.Kind.WORSE for verdict in self.verdicts.values())


def points(watch: Watch, *, today: bool = False) -> list[Point]:
    """A point for each night that is over, the oldest first. Two database queries without `today`.

    Such a night is told, with scores and verdicts, or a gap, with the reason why it has none. today: with the mean
    of each night by the judgments of today.
    """
    nights = list(watch.nights.filter(state__in=ENDED).defer(*HEAVY_COLUMNS))
    rows = Verdict.objects.filter(night__watch=watch).defer("differences", "crossed").select_related("answered_by")
    verdicts: dict[int, dict[str, Verdict]] = {}
    for verdict in rows:
        verdicts.setdefault(verdict.night_id, {})[verdict.baseline] = verdict
    means_today = by_todays_judgments(watch) if today else {}
    trend_points: list[Point] = []
    terms_before: Mapping[str, Any] = {}  # of the last night before that is no gap
    for night in nights:
        is_told = night.state == Night.State.TOLD
        changed = changes(terms_before, night.terms) if terms_before and is_told else []
        means = Means(**night.means) if is_told else None
        trend_points.append(Point(night, means, verdicts.get(night.pk, {}), changed, means_today.get(night.pk)))
        terms_before = night.terms if is_told else terms_before
    return trend_points


def sides(watch: Watch, verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """Both kinds of baseline, in the order of pages: the label, the verdict of a night, and the baseline of today.

    Verdict and baseline are None where there is none.
    """
    present = {baseline.kind: baseline for baseline in watch.collection.baselines.all()}
    return [
        {"label": label, "verdict": verdicts.get(kind), "baseline": present.get(kind)}
        for kind, label in Baseline.Kind.choices
    ]


def point_of(night: Night) -> Point:
    """The night alone, with its verdicts and their differences."""
    verdicts = {verdict.baseline: verdict for verdict in night.verdicts.defer("crossed").select_related("system")}
    return Point(night, Means(**night.means) if night.means else None, verdicts, changed=[])


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The texts of MARKS for the terms that differ between two nights."""
    return [text for name, text in MARKS.items() if before.get(name) != after.get(name)]


@raising_cannot_answer()
def by_todays_judgments(watch: Watch) -> dict[int, float | None]:
    """The mean of each night by the judgments of today, by its id; None where no query counts.

    Each ranking is scored once, however many nights have it. Computed anew when judgments or nights changed.
    Raises CannotAnswer where the options of the watch do not fit the judgments any more.
    """
    last = watch.nights.filter(state=Night.State.TOLD).values_list("pk", flat=True).last()
    name = ("nights by today's judgments", watch.pk, last, tuple(sorted(watch.asked.items())))
    return cache.whole(watch.collection, name, lambda: _by_todays_judgments(watch))


def _by_todays_judgments(watch: Watch) -> dict[int, float | None]:
    """The means that `by_todays_judgments` caches: by id of the night, None where no query counts."""
    queries = queries_of(watch.collection)["pk"].to_numpy()
    data, _ = read(watch.collection, asked_of(watch))
    # What each of `queries`, in the same order, stands for; None where they were not drawn from a log.
    sampled = sampled_of(data.queries, data.left_out_queries)
    nights = list(watch.nights.filter(state=Night.State.TOLD).only("queries", "rankings"))
    value_of = values_today(watch, nights, queries)
    means = {}
    for night in nights:
        ranking_of = dict(zip(night.queries.tolist(), night.rankings.tolist(), strict=True))
        # 0: the night did not ask for the query, or it is a gap. It then has nan.
        values = np.array([value_of.get((pk, ranking_of.get(pk, 0)), np.nan) for pk in queries.tolist()])
        mean = mean_of(values, sampled)
        means[night.pk] = None if np.isnan(mean) else float(mean)
    return means


def values_today(watch: Watch, nights: Sequence[Night], queries: np.ndarray) -> dict[tuple[int, int], float]:
    """The value of each ranking by today's judgments, by (query, ranking id); nan where it counts in no mean.

    queries: pks of the queries of the record. Several nights can have the same ranking of a query, which is scored
    once. One call of the kernel takes one ranking for each query: the first call the first distinct ranking of
    each, the second call the second one of each, and so on. The rankings of one call are a layer.
    """
    asked = asked_of(watch)
    _, judgments = read(watch.collection, asked)
    # Parallel columns over all nights; the empty array is for no night.
    query = np.concatenate([np.empty(0, np.int64), *(night.queries for night in nights)])
    ranking = np.concatenate([np.empty(0, np.int64), *(night.rankings for night in nights)])
    is_answered = np.isin(query, queries) & (ranking > 0)
    distinct = pd.DataFrame({"query": query, "ranking": ranking})[is_answered].drop_duplicates()
    distinct["layer"] = distinct.groupby("query").cumcount()
    documents = documents_of(watch, distinct["ranking"].tolist())
    values: dict[tuple[int, int], float] = {}
    for _, layer in distinct.groupby("layer"):
        ranking_of = dict(zip(layer["query"].tolist(), layer["ranking"].tolist(), strict=True))
        # A query without a ranking in the layer has None, as a gap has: no ranking has the id 0.
        rankings = rankings_of([documents.get(ranking_of.get(pk, 0)) for pk in queries.tolist()])
        scores = kernel.evaluate([asked.measure], judgments, rankings, asked.options)
        for pk, value in zip(queries.tolist(), scores.counting(asked.measure).tolist(), strict=True):
            if pk in ranking_of:  # the layer has no ranking of the others
                values[pk, ranking_of[pk]] = value
    return values


# As rows


def chart_rows(points: Sequence[Point]) -> list[dict]:
    """The rows of the chart of means, one for each night that has a mean.

    A line joins the rows with the same number of a stretch. A night without a mean has no row, and ends a stretch.
    """
    rows, stretch = [], 0  # stretch: the number of nights without a mean so far
    for point in points:
        if point.means is None or point.means.mean is None:  # a gap, or a night on which no query counts
            stretch += 1
            continue
        names = ("mean", "low", "high", "lowest", "highest", "judged", "queries")
        numbers = {name: getattr(point.means, name) for name in names}
        facts = {"stretch": stretch, "today": point.today, "worse": point.is_worse}
        rows.append(numbers | _at(point.night) | facts)
    return rows


def difference_rows(points: Sequence[Point], kind: str) -> list[dict]:
    """The rows of the chart of differences to a kind of baseline, one for each night that has a difference.

    A line joins the rows with the same number of a stretch. A night without a difference ends a stretch, and so
    does a new system as baseline.
    """
    # stretch: the number of times that the line was broken; baseline: the system of the last night with a
    # difference
    rows, stretch, baseline = [], 0, None
    for point in points:
        verdict = point.verdicts.get(kind)
        if verdict is None or verdict.numbers["difference"] is None:
            stretch += 1
            continue
        if baseline is not None and verdict.name != baseline:  # not joined with the nights against another system
            stretch += 1
        baseline = verdict.name
        numbers = {name: verdict.numbers[name] for name in ("difference", "low", "high", "queries")}
        is_worse = verdict.kind == Verdict.Kind.WORSE
        rows.append(numbers | _at(point.night) | {"stretch": stretch, "worse": is_worse})
    return rows


def mark_rows(points: Sequence[Point]) -> list[dict]:
    return [_at(point.night) | {"what": ", ".join(point.changed)} for point in points if point.changed]


def _at(night: Night) -> dict:
    return {"at": night.due_at.isoformat(), "night": named(night.due_at)}


def named(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def table(points: Sequence[Point]) -> Table:
    """The columns of CSV and Excel, a row for each night."""
    return list(COLUMNS), [[row.get(name) for name in COLUMNS] for row in map(_flat, points)]


def document(watch: Watch, points: Sequence[Point]) -> dict[str, Any]:
    """The JSON document: the settings of the watch, and its nights."""
    return {
        "watch": watch.name,
        "collection": watch.collection.slug,
        "asked": watch.asked,
        "margin": watch.margin,
        "budget": watch.budget,
        "zone": watch.zone,
        "nights": [as_json(point) for point in points],
    }


def _flat(point: Point) -> dict[str, Any]:
    """One row with the members of its verdicts beside those of its mean."""
    row = _facts(point)
    for kind, verdict in point.verdicts.items():
        numbers = {name: verdict.numbers[name] for name in NUMBERS}
        texts = {"system": verdict.name, "verdict": verdict.kind, "spent": verdict.spent, "answer": verdict.answer}
        row |= {f"{kind}_{name}": value for name, value in (numbers | texts).items()}
    return row | {"changed": ", ".join(point.changed)}


def as_json(point: Point) -> dict[str, Any]:
    """The members of a night in JSON: its verdicts beside its time, state and means.

    noise: how far the engine's second answers differ (`turns.difference`); changed: what its numbers rest on and
    changed since the last night before it that is no gap. Of a verdict, baseline: the kind of baseline; system:
    the name of the system that was the baseline; verdict: of `Verdict.Kind`; spent: how much of the budget of
    false alarms is used up; answer: what an admin answered to the alarm, of `Verdict.Answer`, or "".
    """
    verdicts = [
        {
            "baseline": baseline_kind,
            "system": verdict.name,
            "verdict": verdict.kind,
            **verdict.numbers,  # the fields of `verdicts.Numbers`
            "spent": verdict.spent,
            "answer": verdict.answer,
            "reason": verdict.reason,
        }
        for baseline_kind, verdict in point.verdicts.items()
    ]
    return _facts(point) | {"noise": point.night.noise, "changed": point.changed, "verdicts": verdicts}


def _facts(point: Point) -> dict[str, Any]:
    """The members that JSON and table share: of the night the time, state, problem, means, and the mean today."""
    night = point.night
    facts = {"night": night.due_at.isoformat(), "state": night.state, "problem": night.problem}
    return {**facts, "today": point.today, **(asdict(point.means) if point.means else {})}
