"""The scores of a collection joined with names, texts and counts, for pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ratings.models import Collection, System

from .. import measures as kernel
from .. import scores
from ..measures import Judgments, Measure, Rankings
from ..measures.arrays import distinct
from ..page.address import told_to_reader
from ..page.documents import Table, known
from ..record import Record
from ..scores import Asked
from .standings import NUMBERS, Standing

MOST_BOUNDED = 1_000_000  # queries x systems x cutoff: the bounds of more take too long for a page
ROUNDING = 1e-9  # smaller differences are rounding errors


@dataclass(frozen=True, eq=False)
class Answer:
    """The scores of a page and the record, both from the cache."""

    collection: Collection
    asked: Asked
    evaluation: scores.Evaluation
    systems: dict[str, System]
    record: Record
    judgments: Judgments
    first: tuple[str, ...] = ()  # systems that come first, in this order; the others follow by mean

    @classmethod
    def of(
        cls,
        collection: Collection,
        asked: Asked,
        more: Iterable[Measure] = (),
        system: System | None = None,
        bounds: bool = False,
    ) -> "Answer":
        """The scores of all systems (or of `system`) in the asked measure, in Judged and in `more`.

        bounds: with the bounds of the asked measure, where these can be computed in time. Raises CannotAnswer
        where the options do not fit the collection.
        """
        asked = asked if system is None else replace(asked, systems=(system.name,))
        beside = [asked.at("Judged"), *more]
        bounded = bounded_in(collection, asked) if bounds else []
        evaluation = evaluated(collection, asked, beside, bounded)
        with told_to_reader():
            record, judgments = scores.read(collection, asked)
        if not record.queries["key"].equals(evaluation.table.record.queries["key"]):
            # Queries were imported in between: both must have the same rows.
            evaluation = evaluated(collection, asked, beside, bounded)
        listed = {each.name: each for each in (collection.systems.all() if system is None else [system])}
        systems = {name: listed[name] for name in evaluation.systems if name in listed}
        return cls(collection, asked, evaluation, systems, record, judgments)

    def array(self, names: Sequence[str], measure: Measure | None = None) -> np.ndarray:
        """The values of these systems, float64[queries, names]; nan where there is no value."""
        return self.evaluation.values(measure or self.asked.measure, names)

    def counting(self, names: Sequence[str]) -> np.ndarray:
        """The values of the asked measure that count in means, float64[queries, names]; nan for others."""
        return self.evaluation.counting(self.asked.measure, names)

    def why(self, names: Sequence[str]) -> np.ndarray:
        """Why values of the asked measure count in no mean, object[queries, names]; "" where they count."""
        return self.evaluation.why(self.asked.measure, names)

    def bounds(self, query: str) -> tuple[dict[str, float | None], dict[str, float | None]]:
        """The lower and the upper bounds of the asked measure on one query, by system; None: not computed."""
        column = str(self.asked.measure)
        frames = (self.evaluation.lowest, self.evaluation.highest) if self.evaluation.bounds else ({}, {})
        return tuple(
            {name: frame[column, name][query] if (column, name) in frame else None for name in self.systems}
            for frame in frames
        )

    def standing(self, name: str, measure: Measure | None = None) -> Standing:
        return standing_of(self.evaluation, self.systems[name], str(measure or self.asked.measure))

    @cached_property
    def standings(self) -> list[Standing]:
        """The systems: those of `first`, then by mean, highest first, then those without a mean; ties by name."""
        rows = [self.standing(name) for name in self.systems]
        by_mean = sorted(rows, key=lambda row: (row.mean is None, -(row.mean or 0), row.system.name))
        place = {name: number for number, name in enumerate(self.first)}
        return sorted(by_mean, key=lambda row: place.get(row.system.name, len(place)))

    @property
    def names(self) -> list[str]:
        """The names of the systems in the order of `standings`, which all tables and charts have."""
        return [standing.system.name for standing in self.standings]

    @cached_property
    def neutral(self) -> np.ndarray:
        """The neutral point: the score of an empty list, float64[queries], above 0 where a gain is negative."""
        queries = self.judgments.queries
        empty = Rankings(np.zeros(queries + 1, np.int64), np.empty(0, np.int64), present=np.ones(queries, bool))
        options = replace(self.asked.options, ties="rank", unjudged="zero", undefined="skip")
        return kernel.evaluate([self.asked.measure], self.judgments, empty, options).values[self.asked.measure]

    @cached_property
    def negative(self) -> int:
        """The number of queries with a judgment below 0."""
        return len(distinct(self.judgments.query[self.judgments.grade < 0]))

    def below(self, names: Sequence[str]) -> np.ndarray:
        """Whether values that count are below the neutral point of their query, bool[queries, names]."""
        point = self.neutral[:, np.newaxis] if self.asked.measure.name == "nDCG" else 0.0
        return self.counting(names) < point - ROUNDING

    def places(self, name: str) -> np.ndarray:
        """The number of documents of the system down to the cutoff, int64[queries]."""
        length = self.record.rankings[name].length
        cutoff = self.asked.measure.cutoff
        return length if cutoff is None else np.minimum(length, cutoff)

    def holes(self) -> tuple[int, int]:
        """The number of holes, and of all places: down to the cutoff, over all systems and queries that count."""
        counted = self.evaluation.counted(self.asked.measure, self.systems)
        holes = total = 0
        for name, here in zip(self.systems, counted.T, strict=True):
            places = self.places(name)[here]
            holes += int(np.rint(np.nansum((1 - self.judged(name)[here]) * places)))
            total += int(places.sum())
        return holes, total

    def judged(self, name: str) -> np.ndarray:
        """Judged@k of the rankings as the system gave them, before condensing: float64[queries]."""
        measure = self.asked.at("Judged")
        if self.asked.options.unjudged != "condensed":
            return self.array([name], measure)[:, 0]
        plain = replace(self.asked.options, unjudged="zero")
        return kernel.evaluate([measure], self.judgments, self.record.rankings[name], plain).values[measure]

    def by_ease(self) -> list[int]:
        """The rows of the queries from easiest to hardest by the median over systems, those not counted last."""
        values = self.counting(list(self.systems))
        median, defined = np.full(len(values), -np.inf), ~np.isnan(values).all(axis=1)
        median[defined] = np.nanmedian(values[defined], axis=1)
        return np.argsort(-median, kind="stable").tolist()


def standing_of(evaluation: scores.Evaluation, system: System, measure: str) -> Standing:
    row = evaluation.summarised[system.name, measure]
    return Standing(
        system=system,
        measure=measure,
        queries=int(row["queries"]),
        undefined=int(row["undefined"]),
        why=scores.why(row["why"]),
        **{column: known(row[column]) for column in NUMBERS},
    )


def as_row(standing: Standing, *names: str, **more) -> dict:
    """The row of a chart with the name of the system, these numbers, and more."""
    return {"system": standing.system.name, **{name: getattr(standing, name) for name in names}, **more}


@told_to_reader()
def evaluated(
    collection: Collection, asked: Asked, beside: Iterable[Measure] = (), bounds: Iterable[Measure] = ()
) -> scores.Evaluation:
    """The evaluation by the asked options. Raises CannotAnswer where they do not fit the collection."""
    return scores.evaluate(collection, asked, beside, bounds)


def bounded_in(collection: Collection, asked: Asked) -> list[Measure]:
    """[the asked measure] where its bounds are defined and can be computed fast enough for a page, else []."""
    cutoff = asked.measure.cutoff
    if cutoff is None or not scores.has_bounds(asked.measure):
        return []
    size = collection.queries.count() * collection.systems.count() * cutoff
    return [asked.measure] if size <= MOST_BOUNDED else []


def every_query(answer: Answer) -> Table:
    """The table with a row for each query and system, in the order of the record."""
    asked, record = answer.asked, answer.record
    header = ["query", "text", "system", "measure", "value", "why", str(asked.at("Judged"))]
    header += ["documents", "judgments", "profile", "options"]
    names, made_by = list(answer.systems), [asked.profile, asked.fingerprint]
    values = answer.array(names)
    reasons = {name: answer.evaluation.reasons[str(asked.measure), name].tolist() for name in names}
    judged = {name: answer.judged(name) for name in names}
    rows = []
    for place, (key, text) in enumerate(record.queries[["key", "text"]].itertuples(index=False)):
        for column, name in enumerate(names):
            rankings = record.rankings[name]
            length = rankings.length[place] if rankings.present[place] else None
            rows.append(
                [key, text, name, str(asked.measure), values[place, column], reasons[name][place]]
                + [judged[name][place], length, answer.judgments.count[place], *made_by]
            )
    return header, rows
