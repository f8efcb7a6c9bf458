"""The scores of a night, beside those of its baselines, by the judgments of this moment."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from django.db.models import Count, Max

from ratings.models import Baseline, FormerText

from .. import record
from ..measures import Rankings
from ..models import Night, NightRanking, Watch
from ..record import machines
from ..scores import Asked, Evaluation, expected_by_query, of_rankings, sampled_of
from ..scores.asked import DEFAULTS
from ..scores.expected import MOST_PAIRS, is_defined
from ..significance.sampled import Sampled

TONIGHT = ""  # in place of the name of a system, which is never empty
RANKINGS_AT_ONCE = 2_000  # that one query reads
DIGEST = 8  # bytes that tell two states apart


@dataclass(frozen=True)
class Means:
    """The mean of a night and what stands beside it. None = no value."""

    mean: float | None
    low: float | None  # the 95 % interval, over queries
    high: float | None
    lowest: float | None  # what the mean becomes once all is judged, at least and at most
    highest: float | None
    judged: float | None  # the mean share of judged results above the cutoff
    queries: int  # how many count in the mean
    gaps: int  # queries that were not answered
    undefined: int  # answered queries without a value
    unjudged: int  # results above the cutoff that nobody judged
    results: int  # all of them
    plain: float | None  # the mean over queries, where `mean` is over all searches of a log
    traffic: float | None  # the share of these searches whose queries count in `mean`
    label: str  # the measure and its options
    judgments: int  # of the collection at that moment
    judgments_version: str  # equal for two nights with the same judgments


@dataclass(frozen=True, eq=False)
class Scored:
    """A night beside its baselines."""

    evaluation: Evaluation  # of TONIGHT and the systems that are baselines
    baselines: Mapping[str, str]  # kind → name of the system
    samples: Mapping[str, Sampled | None]  # kind → what the queries stood for when it was chosen, if for a log
    expected: Mapping[str, np.ndarray]  # by name: values with unjudged documents at their expected gain, by query
    why_not_expected: str  # why there are no such values; "" where there are
    scale: Sequence[float]  # the grades, lowest first
    depth: int  # down to which missing judgments matter
    not_asked: int = 0  # queries of the collection that the watch does not ask for

    @property
    def means(self) -> Means:
        """The mean of the night and what stands beside it.

        A query without a ranking tonight is a gap if the watch asked for it. The watch did not ask for a query
        that lacks its tag, nor for one that is newer than the night.
        """
        standing = self.evaluation.standing(TONIGHT)
        unjudged, results = self.evaluation.holes_of(TONIGHT)  # numbers of results, as `Means` has them
        has_ranking = np.asarray(self.evaluation.table.record.rankings[TONIGHT].present)
        without_ranking = int((~has_ranking).sum())  # gaps, and queries that the watch does not ask for
        # Fields that the standing has under the same names. `plain` is the mean over queries where `mean` is over
        # all searches of a log.
        names = ("mean", "low", "high", "lowest", "highest", "judged", "queries", "plain", "traffic")
        return Means(
            **{name: getattr(standing, name) for name in names},
            gaps=without_ranking - self.not_asked,
            # The undefined queries of the standing include all without a ranking, which count in no mean.
            undefined=standing.undefined - without_ranking,
            unjudged=unjudged,
            results=results,
            label=self.evaluation.label,
            judgments=len(self.evaluation.judgments.key),
            judgments_version=self._judgments_version,
        )

    @property
    def _judgments_version(self) -> str:
        judgments, pks = self.evaluation.judgments, self.evaluation.table.record.queries["pk"].to_numpy()
        columns = (pks[judgments.query], judgments.document, judgments.grade)
        return blake2b(b"".join(column.tobytes() for column in columns), digest_size=DIGEST).hexdigest()


def asked_of(watch: Watch, systems: Iterable[str] = ()) -> Asked:
    """What the watch asks, of these systems. ValueError where that has no meaning any more."""
    asked = Asked.of(watch.collection, **(DEFAULTS | watch.asked))
    return replace(asked, systems=tuple(dict.fromkeys(systems)))


def scored(night: Night, rankings: np.ndarray | None = None) -> Scored:
    """The night scored beside its baselines, by the judgments of this moment.

    rankings: ids of NightRanking, one for each query of the night, in place of its own ones. ValueError where what
    the watch asks has no meaning any more, such as with a scale that changed.
    """
    watch = night.watch
    # Kind → the baseline. They come in the order in which they were chosen: the last one of each kind remains.
    latest = {baseline.kind: baseline for baseline in watch.collection.baselines.select_related("system")}
    frame = record.queries_of(watch.collection)
    queries = frame["pk"].to_numpy()
    baselines, samples = {}, {}  # by kind
    for kind in Baseline.Kind.values:
        baseline = latest.get(kind)
        if baseline and baseline.system:  # a system that was deleted is no baseline any more
            baselines[kind] = baseline.system.name
            # By the last draw of queries from a log before the baseline was chosen: a later draw brings queries of
            # which the baseline has no ranking.
            drawn, left_out = record.with_draw(watch.collection, frame, until=baseline.chosen_at)
            samples[kind] = sampled_of(drawn, left_out)
    asked = asked_of(watch, baselines.values())
    tonight = {TONIGHT: ranked(night, queries, night.rankings if rankings is None else rankings)}
    evaluation = of_rankings(watch.collection, asked, tonight)
    # Values with unjudged documents at their expected gain, by system.
    expected, why_not_expected = {}, "they are not defined for this measure and these options"
    if is_defined(asked):
        try:
            expected, why_not_expected = expected_by_query(watch.collection, asked, MOST_PAIRS, tonight), ""
        except ValueError as error:
            why_not_expected = str(error).rstrip(".")
    return Scored(
        evaluation=evaluation,
        baselines=baselines,
        samples=samples,
        expected=expected,
        why_not_expected=why_not_expected,
        scale=record.scale(watch.collection) or [0.0],  # without a scale nothing is judged, and no query counts
        depth=depth_of(watch, asked),
        not_asked=int((~np.isin(queries, night.queries)).sum()),
    )


def depth_of(watch: Watch, asked: Asked) -> int:
    return asked.measure.cutoff or watch.depth


def ranked(night: Night, queries: np.ndarray, ids: np.ndarray) -> Rankings:
    """The rankings of a night for these queries, int64[queries] pks, in their order; a gap is no empty list.

    ids: of NightRanking, int64[queries of the night], 0 for none.
    """
    ranking_of = dict(zip(night.queries.tolist(), ids.tolist(), strict=True))
    documents = documents_of(night.watch, [ranking for ranking in ranking_of.values() if ranking])
    return rankings_of([documents.get(ranking_of.get(pk, 0)) for pk in queries.tolist()])


def rankings_of(lists: Sequence[np.ndarray | None]) -> Rankings:
    """The rankings with these documents for each query, best first; None for a gap."""
    answered = [documents for documents in lists if documents is not None]
    return Rankings(
        offsets=np.append(0, np.cumsum([0 if documents is None else len(documents) for documents in lists])),
        documents=np.concatenate([np.empty(0, np.uint32), *answered]),
        present=np.array([documents is not None for documents in lists], bool),
        gaps=True,
    )


def documents_of(watch: Watch, ids: list[int]) -> dict[int, np.ndarray]:
    """The documents by id of NightRanking, best first."""
    lists: dict[int, np.ndarray] = {}
    for start in range(0, len(ids), RANKINGS_AT_ONCE):
        rows = NightRanking.objects.filter(watch=watch, pk__in=ids[start : start + RANKINGS_AT_ONCE])
        lists |= {row.pk: row.documents for row in rows.only("documents")}
    return lists


def by_query_of_night(evaluation: Evaluation, night: Night, column: np.ndarray) -> np.ndarray:
    """A column of the evaluation, float64[queries], in the order of the queries of the night."""
    place = {pk: row for row, pk in enumerate(evaluation.table.record.queries["pk"].tolist())}
    rows = np.array([place.get(pk, -1) for pk in night.queries.tolist()], np.int64)
    return np.where(rows >= 0, np.append(column, np.nan)[rows], np.nan)


def terms_of(night: Night, scored: Scored) -> dict[str, Any]:
    """What the numbers of a night rest on besides the search, as JSON under the names of `trend.MARKS`.

    Two nights are compared by it: a member that differs is a possible cause of a change of the mean.
    """
    watch, collection, engine = night.watch, night.watch.collection, night.watch.engine
    terms = record.terms(collection)
    queries = scored.evaluation.table.record.queries
    of_night = queries[queries["pk"].isin(night.queries)][["key", "text", "weight", "count", "chance"]]
    # A text that was replaced is kept as FormerText: their number and the last time tell whether texts changed.
    former_texts = FormerText.objects.filter(job__collection=collection)
    replaced = former_texts.aggregate(number=Count("pk"), last=Max("job__created_at"))
    digest_of_queries = blake2b(of_night.to_csv(index=False).encode(), digest_size=DIGEST).hexdigest()
    return {
        "scale": [terms.scale_version, terms.grades],
        "guidelines": terms.guidelines_version,
        "presentation": terms.presentation_version,
        "measure": scored.evaluation.label,
        "queries": [watch.tag, digest_of_queries],
        "documents": [replaced["number"], replaced["last"] and replaced["last"].isoformat()],
        "judges": [str(used.machine) for used in machines(collection)],
        "fixed": scored.baselines.get(Baseline.Kind.FIXED, ""),
        "release": scored.baselines.get(Baseline.Kind.RELEASE, ""),
        # How the engine is asked, without headers and keys.
        "request": [watch.depth, *([engine.address, engine.body, engine.results_at] if engine else [])],
    }
