"""The scores of a collection joined with names, texts and counts, for pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from django.db.models import Count, Exists, OuterRef, Q, Value

from ratings.models import Assignment, Collection, Pair, Rating, System

from .. import measures as kernel
from .. import record, scores
from ..measures import Judgments, Measure, Rankings
from ..measures.arrays import distinct
from ..page.asked import Asked, told_to_reader
from ..record import Record, Version, cache
from ..record.sql import columns_of
from .report import known
from .standings import NUMBERS, Standing

MOST_BOUNDED = 1_000_000  # queries x systems x cutoff: the bounds of more take too long for a page
_NONE = Value(0)
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
        names = None if system is None else [system.name]
        measures = [asked.measure, asked.at("Judged"), *more]
        bounded = bounded_in(collection, asked) if bounds else []
        evaluation = evaluated(collection, asked, measures, names, bounded)
        with told_to_reader():
            record, judgments = scores.read(collection, asked.options, names, asked.rule, asked.adjudications)
        if not record.queries["key"].equals(evaluation.table.record.queries["key"]):
            # Queries were imported in between: both must have the same rows.
            evaluation = evaluated(collection, asked, measures, names, bounded)
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
    collection: Collection,
    asked: Asked,
    measures: Iterable[Measure],
    systems: Iterable[str] | None = None,
    bounds: Iterable[Measure] = (),
) -> scores.Evaluation:
    """The evaluation by the asked options. Raises CannotAnswer where they do not fit the collection."""
    return scores.evaluate(collection, measures, asked.options, systems, asked.rule, asked.adjudications, bounds)


def bounded_in(collection: Collection, asked: Asked) -> list[Measure]:
    """[the asked measure] where its bounds are defined and can be computed fast enough for a page, else []."""
    cutoff = asked.measure.cutoff
    if cutoff is None or not scores.has_bounds(asked.measure):
        return []
    size = collection.queries.count() * collection.systems.count() * cutoff
    return [asked.measure] if size <= MOST_BOUNDED else []


def holdings(collection: Collection) -> dict[str, int]:
    """The counts of the collection. At most fourteen database queries; only changed queries are counted again."""
    version = record.version(collection)
    # Each count uses an index. The one of done assignments is by rater, and PostgreSQL uses it only with a list.
    raters = list(collection.raters.order_by().values_list("pk", flat=True))
    done = Assignment.objects.filter(rater__in=raters, state=Assignment.State.DONE).count()
    waiting = Assignment.objects.filter(collection=collection).waiting().count()
    judged = cache.by_query(collection, version, "judged", lambda queries: _judged(collection, queries))
    _, ratings, cannot, pairs = judged.sum(axis=1).tolist()
    graded = collection.raters.filter(Exists(Rating.objects.filter(rater=OuterRef("pk"), grade__isnull=False)))
    textless = collection.documents.filter(body="")
    return brought(collection, version) | {
        "textless": cache.count(collection, version.unrated, "textless", textless.count),
        "judged": pairs,  # with a grade or an adjudication
        "ratings": ratings,  # grades
        "cannot": cannot,  # "cannot judge" answers
        "raters": cache.count(collection, version, "raters", graded.count),
        "pairs": Pair.objects.filter(query__collection=collection).count(),
        "wanted": waiting + done,  # assignments
        "done": done,
    }


def brought(collection: Collection, version: Version) -> dict[str, int]:
    """What was imported until this version. Three database queries, or none."""

    def counted() -> dict[str, int]:
        return {name: getattr(collection, name).count() for name in ("queries", "documents", "systems")}

    return cache.count(collection, version.unrated, "brought", counted)


def _judged(collection: Collection, queries: list[int] | None) -> np.ndarray:
    """Counts by query, int64[4, n]: pk, grades, "cannot judge" answers, judged pairs. A query has two columns.

    queries: pks; None: all of the collection.
    """
    ratings, pairs = Rating.objects.order_by(), Pair.objects.order_by()
    # A rating's own query is a copy without an index.
    if queries is None:
        ratings, pairs = ratings.filter(rater__collection=collection), pairs.filter(query__collection=collection)
    else:
        ratings, pairs = ratings.filter(pair__query__in=queries), pairs.filter(query__in=queries)
    graded = Rating.objects.filter(pair=OuterRef("pk"), grade__isnull=False)
    counted = (
        ratings.values_list("query").annotate(
            grades=Count("grade"), cannot=Count("pk") - Count("grade"), pairs=_NONE
        ),
        pairs.filter(Exists(graded) | Q(adjudication__isnull=False))
        .values_list("query")
        .annotate(grades=_NONE, cannot=_NONE, pairs=Count("pk")),
    )
    return np.hstack([columns_of(*rows.query.sql_with_params(), 4) for rows in counted])


@dataclass(frozen=True)
class NextStep:
    """What is missing before there are scores, and what to do."""

    lack: str
    cure: str
    commands: Sequence[str] = ()


def next_step(collection: Collection, held: dict[str, int]) -> NextStep | None:
    """The first step that is missing before there are scores; None where there are."""
    commands, nothing = [], "Nothing has been judged yet, so there is no score."
    if not held["queries"]:
        lack = "This collection has no queries yet."
        cure = "Import a file with one query a line: its id, its text, and what the person wanted."
        commands = ["import_queries SLUG queries.tsv"]
    elif not held["systems"]:
        lack, cure = "No system has rankings yet.", "Import what your systems returned, one file a system."
        commands = ["import_run SLUG system.run"]
    elif held["judged"]:
        return None
    elif held["wanted"]:
        lack = nothing
        cure = f"{held['wanted']:,} ratings wait for raters. Tell them. Numbers appear here with the first rating."
        commands = ["add_member SLUG NAME rater"]
    else:
        lack = nothing
        cure = "Ask raters for the documents at the top of the rankings, or import judgments that you have."
        commands = ["pool SLUG", "add_member SLUG NAME rater", "import_qrels SLUG judgments.qrels"]
    commands = [f"python3 run.py manage {each.replace('SLUG', collection.slug)}" for each in commands]
    return NextStep(lack, cure, commands)
