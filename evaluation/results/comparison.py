"""Comparisons of systems as JSON documents and CSV tables, with the columns of Compare's files."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from ..measures import COUNTED, REASONS, Measure
from ..measures.refusal import refuse_unknown
from ..page import documents
from ..scores import Evaluation
from ..significance import (
    ALPHA,
    CANNOT_TELL,
    Comparison,
    Comparisons,
    common_queries,
    compare,
    paired,
)
from ..significance.draws import SEED, TESTS, TESTS_ON_PAGES
from ..significance.sampled import Sampled, mean_of_searches
from . import csv_and_json

COULD_TURN = "what is unjudged could turn it"
NO_BOUNDS = "no bounds are known"


@dataclass(frozen=True, eq=False)
class Compared:
    """Pairs of systems compared by one measure, on the queries where all of the systems have a value.

    Queries are not weighted, unless they were drawn from a log: then means are those over all its searches.
    """

    evaluation: Evaluation
    measure: Measure
    systems: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]  # baseline, system
    tests: Comparisons  # in the order of `pairs`

    @cached_property
    def common(self) -> np.ndarray:
        """Whether every system has a value that counts, bool[queries]."""
        return common_queries(self.evaluation.counting(self.systems, self.measure))

    @cached_property
    def dropped(self) -> dict[str, dict[str, list[str]]]:
        """The queries that are left out, by key: {reason: systems without a value}."""
        dropped = {}
        if self.common.all():
            return dropped
        reasons = self.evaluation.reasons[str(self.measure)][list(self.systems)][~self.common]
        for query, row in zip(reasons.index, reasons.to_numpy(), strict=True):
            dropped[query] = why = {}
            for system, reason in zip(self.systems, row, strict=True):
                if reason != REASONS[COUNTED]:
                    why.setdefault(reason, []).append(system)
        return dropped

    @cached_property
    def why_left_out(self) -> dict[str, str]:
        """The reason why a query is left out, by key; several reasons of one query are joined."""
        return {query: " and ".join(sorted(why)) for query, why in self.dropped.items()}

    @cached_property
    def why_dropped(self) -> dict[str, int]:
        """The number of queries left out, by reason."""
        return dict(Counter(self.why_left_out.values()))

    def values(self, system: str) -> np.ndarray:
        """The values of the system on the common queries, in their order."""
        return self.evaluation.values([system], self.measure)[self.common, 0]

    @cached_property
    def sampled(self) -> Sampled | None:
        """What the common queries stand for, where they were drawn from a log."""
        return self.evaluation.sampled and self.evaluation.sampled.answered(self.common)

    def mean(self, system: str) -> float | None:
        """The mean of the system over the common queries, or over all searches of the log."""
        values = self.values(system)
        if self.sampled:
            return documents.known(mean_of_searches(values[:, np.newaxis], self.sampled)[0])
        return float(values.mean()) if values.size else None

    @cached_property
    def bounds(self) -> list[tuple[float, float] | None]:
        """The least and greatest difference of means that missing judgments allow, by pair; None: not known.

        Each end takes the lower bound of one system and the upper bound of the other, as if no document were in
        both lists. The mean may be over any set of queries that can still turn out to be common. So the exact
        interval can only be narrower.
        """
        ends = {name: self.evaluation.bounds.get((self.measure, name)) for name in self.systems}
        if None in ends.values():
            return [None] * len(self.pairs)
        # Whether all systems will or may have a value, bool[queries].
        certain = np.all([each.certain for each in ends.values()], axis=0)
        possible = np.all([each.possible for each in ends.values()], axis=0)
        every = [
            self.evaluation.bounds_of_mean(
                ends[second].low - ends[first].high, ends[second].high - ends[first].low, certain, possible
            )
            for first, second in self.pairs
        ]
        return [None if np.isnan(low) or np.isnan(high) else (low, high) for low, high in every]

    def rows(self) -> list[dict]:
        """A row for each pair. With bounds it has `lowest` and `highest`, which can withdraw the verdict."""
        rows = []
        for (baseline, system), result, bounds in zip(self.pairs, self.tests.pairs, self.bounds, strict=True):
            row = {
                "measure": str(self.measure),
                "baseline": baseline,
                "system": system,
                "queries": self.tests.queries,
                **({"drawn": self.tests.drawn} if self.sampled else {}),
                "dropped": len(self.dropped),
                "baseline_mean": self.mean(baseline),
                "system_mean": self.mean(system),
            }
            if self.evaluation.bounds:
                result = _bounded(result, bounds)
                row |= dict(zip(("lowest", "highest"), bounds or (None, None), strict=True))
            if self.measure in self.evaluation.expected:
                row |= self.evaluation.expected[self.measure].between(baseline, system)
            rows.append(row | asdict(result))
        return rows


def compared(
    evaluation: Evaluation,
    baseline: str,
    others: Sequence[str] = (),
    all_pairs: bool = False,
    draws: int = TESTS,
    seed: int = SEED,
    measures: Sequence[Measure] = (),
) -> list[Compared]:
    """Comparisons by each measure: of the baseline with each of the others (none named: all), or of all pairs.

    Corrected by Tukey's HSD for all pairs, by Holm for pairs with the baseline. ValueError for a system that is
    not in the evaluation, and for one that is compared with itself.
    """
    others = tuple(dict.fromkeys(others)) or tuple(name for name in evaluation.systems if name != baseline)
    for name in (baseline, *others):
        refuse_unknown("system", name, evaluation.systems)
    if baseline in others:
        raise ValueError(f"{baseline} cannot be compared with itself; name other systems after the baseline.")
    if not others:
        raise ValueError(f"{evaluation.collection} has no other system to compare {baseline} with.")
    systems = (baseline, *others)
    pairs = tuple(combinations(systems, 2)) if all_pairs else tuple((baseline, other) for other in others)
    places = [(systems.index(first), systems.index(second)) for first, second in pairs]
    results = []
    for measure in measures or evaluation.measures:
        values = evaluation.counting(systems, measure)
        common = common_queries(values)
        sampled = evaluation.sampled and evaluation.sampled.answered(common)
        tests = compare(values[common], places, draws, seed, "hsd" if all_pairs else "holm", sampled)
        results.append(Compared(evaluation, measure, systems, pairs, tests))
    return results


def of_page(evaluation: Evaluation, baseline: str, others: Sequence[str], all_pairs: bool) -> Compared:
    """The comparison by the asked measure as pages draw it.

    It is cached with the scores, so that a change of a rating makes it again.
    """
    measure = evaluation.asked.measure

    def made() -> Compared:
        return compared(evaluation, baseline, others, all_pairs, TESTS_ON_PAGES, SEED, [measure])[0]

    return evaluation.table.remember(("compared", measure, baseline, tuple(others), all_pairs), made)


def _bounded(result: Comparison, bounds: tuple[float, float] | None) -> Comparison:
    """The comparison, without a verdict where missing judgments could reverse it."""
    if bounds is None:
        return replace(result, why=result.why | dict.fromkeys(("lowest", "highest"), NO_BOUNDS))
    if result.verdict != CANNOT_TELL and bounds[0] <= 0 <= bounds[1]:
        return replace(result, verdict=CANNOT_TELL, why=result.why | {"verdict": COULD_TURN})
    return result


# As files


def document(every: Sequence[Compared], per_query: bool = False) -> dict:
    """The JSON document: the settings of the tests, then an entry for each measure and pair."""
    first = every[0].tests
    evaluation = every[0].evaluation
    settings = {
        "systems": list(every[0].systems),
        "alpha": ALPHA,
        **{name: getattr(first, name) for name in ("correction", "draws", "seed")},
        "dropped": {str(each.measure): each.dropped for each in every},
        "critical_difference": {str(each.measure): each.tests.critical for each in every},
    }
    results = []
    for each in every:
        facts = {"fingerprint": each.evaluation.fingerprint_of(each.measure), "exact": each.tests.exact}
        for row, pair in zip(each.rows(), each.pairs, strict=True):
            if per_query:
                row |= facts | {"per_query": differences(each, *pair), "why_per_query": each.why_left_out}
            results.append(row | facts)
    return (
        csv_and_json.made_by(evaluation) | csv_and_json.expectations(evaluation) | settings | {"results": results}
    )


def differences(result: Compared, baseline: str, system: str) -> dict[str, float | None]:
    """The difference of two systems by query key; None where the query is left out, 0 for a rounding error."""
    differences = np.full(len(result.common), np.nan)
    both = np.column_stack([result.values(baseline), result.values(system)])
    differences[result.common] = paired.differences(both, 0, 1)
    return dict(zip(result.evaluation.per_query.index, map(documents.known, differences.tolist()), strict=True))


def table(every: Sequence[Compared]) -> documents.Table:
    """The CSV table of Compare: a row for each measure and pair.

    Its columns: those of `Compared.rows`, which end with the fields of `significance.Comparison`, then `_made_by`.
    """
    rows = [
        row | _made_by(each) | {"why": documents.in_words(row["why"])} for each in every for row in each.rows()
    ]
    return documents.table_of(list(rows[0]), rows)


def every_query(every: Sequence[Compared]) -> documents.Table:
    """The CSV table by query: a row for each measure, pair and query, with a reason where it is left out."""
    header = ["measure", "baseline", "system", "query", "baseline_value", "system_value", "difference", "reason"]
    rows = []
    for each in every:
        made_by = [each.evaluation.asked.profile, each.evaluation.asked.fingerprint_of(each.measure)]
        values = each.evaluation.counting(each.systems, each.measure)
        for pair in each.pairs:
            first, second = (values[:, each.systems.index(name)].tolist() for name in pair)
            for place, (query, difference) in enumerate(differences(each, *pair).items()):
                reason = each.why_left_out.get(query, REASONS[COUNTED])
                both = [documents.known(first[place]), documents.known(second[place])]
                rows.append([str(each.measure), *pair, query, *both, difference, reason, *made_by])
    return [*header, "profile", "options"], rows


def _made_by(result: Compared) -> dict:
    tests = result.tests
    return {
        "critical_difference": tests.critical,
        "exact": tests.exact,
        "draws": tests.draws,
        "seed": tests.seed,
        "alpha": ALPHA,
        "correction": tests.correction,
        "profile": result.evaluation.asked.profile,
        "options": result.evaluation.fingerprint_of(result.measure),
    }
