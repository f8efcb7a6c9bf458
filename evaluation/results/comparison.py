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
from ..scores import Evaluation, plain_and_traffic
from ..significance import ALPHA, CANNOT_TELL, Comparison, Comparisons, common_queries, compare, paired
from ..significance.draws import SEED, TEST_DRAWS
from ..significance.sampled import Sampled, mean_of_searches
from . import csv_and_json

DRAWS_ON_PAGES = TEST_DRAWS // 10  # permutations on pages, over the API and in bundles: a tenth of the time
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
        """Each query that is left out, by key, with the systems that have no value on it, by reason."""
        keys = self.evaluation.table.record.queries["key"].to_numpy()
        why = self.evaluation.why(self.systems, self.measure)  # [queries, systems], "" where a value counts
        dropped: dict[str, dict[str, list[str]]] = {}
        for query, reasons in zip(keys[~self.common], why[~self.common], strict=True):
            dropped[query] = {}
            for system, reason in zip(self.systems, reasons, strict=True):
                if reason:
                    dropped[query].setdefault(reason, []).append(system)
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
            return documents.none_for_nan(mean_of_searches(values[:, np.newaxis], self.sampled)[0])
        return float(values.mean()) if values.size else None

    def difference(self, baseline: str, system: str) -> np.ndarray:
        """The value of the system minus that of the baseline, float64[queries]; nan where a query is left out."""
        return paired.difference_on(self.common, self.evaluation.values([system, baseline], self.measure))

    @cached_property
    def bounds(self) -> list[tuple[float, float] | None]:
        """The least and greatest difference of means that missing judgments allow, for each pair; None: not known.

        On each query, the least difference is the lower bound of the system minus the upper bound of the baseline,
        as if no document were in both lists; the greatest is the upper bound of the system minus the lower bound
        of the baseline. Queries for which a system may still turn out to have no value are in the mean or not,
        whichever makes the interval wider. So the exact interval can only be narrower.
        """
        if not all((self.measure, name) in self.evaluation.bounds for name in self.systems):
            return [None] * len(self.pairs)
        by_system = {name: self.evaluation.bounds[self.measure, name] for name in self.systems}
        # Whether all systems will have a value once all is judged, and whether all may have one, bool[queries].
        certain = np.all([bounds.certain for bounds in by_system.values()], axis=0)
        possible = np.all([bounds.possible for bounds in by_system.values()], axis=0)
        differences = []
        for baseline, system in self.pairs:
            least = by_system[system].low - by_system[baseline].high
            greatest = by_system[system].high - by_system[baseline].low
            low, high = self.evaluation.bounds_of_mean(least, greatest, certain, possible)
            differences.append(None if np.isnan(low) or np.isnan(high) else (low, high))
        return differences

    def rows(self) -> list[dict]:
        """A row for each pair, with the columns of documents and tables, in their order.

        The last are the fields of `significance.Comparison`. Some others are only where they have a meaning:
        `drawn`, `plain` and `traffic` for queries drawn from a log, `lowest` and `highest` with bounds, which can
        also withdraw the verdict, and those of `Expected.between`. drawn: how many of the queries have sampling
        error; plain: the mean difference, not weighted by searches; traffic: the share of all searches that the
        common queries have.
        """
        rows = []
        for (baseline, system), result, bounds in zip(self.pairs, self.tests.pairs, self.bounds, strict=True):
            row: dict = {"measure": str(self.measure), "baseline": baseline, "system": system}
            row["queries"] = self.tests.queries
            # The sample of all queries, not of the common ones: `traffic` is a share of the searches of all.
            if sampled := self.evaluation.sampled:
                row["drawn"] = self.tests.drawn
                row |= plain_and_traffic(self.difference(baseline, system), sampled)
            row["dropped"] = len(self.dropped)
            row |= {"baseline_mean": self.mean(baseline), "system_mean": self.mean(system)}
            if self.evaluation.bounds:
                result = _bounded(result, bounds)
                row["lowest"], row["highest"] = bounds or (None, None)
            if self.measure in self.evaluation.expected:
                row |= self.evaluation.expected[self.measure].between(baseline, system)
            rows.append(row | asdict(result))
        return rows


def compared(
    evaluation: Evaluation,
    baseline: str,
    others: Sequence[str] = (),
    all_pairs: bool = False,
    draws: int = TEST_DRAWS,
    seed: int = SEED,
    measures: Sequence[Measure] = (),
) -> list[Compared]:
    """A comparison by each measure: of the baseline with each of the others or, with `all_pairs`, of all pairs.

    others: names of systems; empty for all but the baseline. draws, seed: of the random numbers of the tests.
    measures: empty for those of the evaluation.

    P values are corrected by Tukey's HSD for all pairs, by Holm for pairs with the baseline. ValueError for a
    system that is not in the evaluation, for one that is compared with itself, and where there is one system only.
    """
    if not others:
        others = [name for name in evaluation.systems if name != baseline]
    systems = tuple(dict.fromkeys([baseline, *others]))  # each once, though `others` may repeat one
    for name in systems:
        refuse_unknown("system", name, evaluation.systems)
    if baseline in others:
        raise ValueError(f"{baseline} cannot be compared with itself; name other systems after the baseline.")
    if not others:  # in spite of the first lines: the baseline is the only system
        raise ValueError(f"{evaluation.collection} has no other system to compare {baseline} with.")
    pairs = tuple(combinations(systems, 2)) if all_pairs else tuple((baseline, other) for other in systems[1:])
    pairs_of_columns = [(systems.index(first), systems.index(second)) for first, second in pairs]  # of `values`
    correction = "hsd" if all_pairs else "holm"
    results = []
    for measure in measures or evaluation.measures:
        values = evaluation.counting(systems, measure)  # [queries, systems]
        common = common_queries(values)  # bool[queries]: all of the systems have a value
        # What the common queries stand for where the queries were drawn from a log; else None.
        sampled = evaluation.sampled and evaluation.sampled.answered(common)
        tests = compare(values[common], pairs_of_columns, draws, seed, correction, sampled)
        results.append(Compared(evaluation, measure, systems, pairs, tests))
    return results


def of_page(evaluation: Evaluation, baseline: str, others: Sequence[str], all_pairs: bool) -> Compared:
    """The comparison by the asked measure, with as many random draws as pages have time for.

    The comparison is cached with the scores, so that a change of a rating makes both again. Parameters: as for
    `compared`.
    """
    measure = evaluation.asked.measure

    def compare_systems() -> Compared:
        # The only one, since there is one measure.
        return compared(evaluation, baseline, others, all_pairs, DRAWS_ON_PAGES, SEED, [measure])[0]

    key = ("compared", measure, baseline, tuple(others), all_pairs)
    return evaluation.table.remember(key, compare_systems)


def _bounded(result: Comparison, bounds: tuple[float, float] | None) -> Comparison:
    """The comparison, without a verdict where missing judgments could reverse it."""
    if bounds is None:
        return replace(result, why=result.why | dict.fromkeys(("lowest", "highest"), NO_BOUNDS))
    if result.verdict != CANNOT_TELL and bounds[0] <= 0 <= bounds[1]:
        return replace(result, verdict=CANNOT_TELL, why=result.why | {"verdict": COULD_TURN})
    return result


# As files


def document(comparisons: Sequence[Compared], per_query: bool = False) -> dict:
    """The JSON document: the settings of the evaluation and of the tests, then an entry for each measure and pair.

    comparisons: of the same systems, by one measure each. per_query: whether entries also have the difference of
    each query, and the reasons why queries are left out.
    """
    evaluation, tests = comparisons[0].evaluation, comparisons[0].tests  # all have the same settings
    settings = {
        "systems": list(comparisons[0].systems),
        "alpha": ALPHA,
        "correction": tests.correction,
        "draws": tests.draws,
        "seed": tests.seed,
        "dropped": {str(compared.measure): compared.dropped for compared in comparisons},
        "critical_difference": {str(compared.measure): compared.tests.critical for compared in comparisons},
    }
    results = []
    for compared in comparisons:
        fingerprint = evaluation.fingerprint_of(compared.measure)
        for row, pair in zip(compared.rows(), compared.pairs, strict=True):
            # exact: whether the randomisation test took all signs, instead of random ones.
            row |= {"fingerprint": fingerprint, "exact": compared.tests.exact}
            if per_query:
                row |= {"per_query": differences(compared, *pair), "why_per_query": compared.why_left_out}
            results.append(row)
    made_by = csv_and_json.made_by(evaluation) | csv_and_json.expectations(evaluation)
    return made_by | settings | {"results": results}


def differences(result: Compared, baseline: str, system: str) -> dict[str, float | None]:
    """The difference of two systems by query key; None where the query is left out, 0 for a rounding error."""
    differences = map(documents.none_for_nan, result.difference(baseline, system).tolist())
    return dict(zip(result.evaluation.table.record.queries["key"], differences, strict=True))


def table(comparisons: Sequence[Compared]) -> documents.Table:
    """The CSV table of Compare: a row for each measure and pair.

    Its columns: those of `Compared.rows`, which end with the fields of `significance.Comparison`, then `_made_by`.
    """
    rows = [
        row | _made_by(compared) | {"why": documents.in_words(row["why"])}
        for compared in comparisons
        for row in compared.rows()
    ]
    return documents.table_of(list(rows[0]), rows)


def every_query(comparisons: Sequence[Compared]) -> documents.Table:
    """The CSV table by query: a row for each measure, pair and query.

    reason: "counted", or why the query is left out of the comparison.
    """
    rows = []
    for compared in comparisons:
        asked, measure = compared.evaluation.asked, compared.measure
        profile_and_options = [asked.profile, asked.fingerprint_of(measure)]
        for pair in compared.pairs:
            # `values` and `difference_by_query` have all queries, in the order of the record.
            values = compared.evaluation.counting(pair, measure).tolist()  # [queries, 2]
            difference_by_query = differences(compared, *pair)
            for values_of_query, (query, difference) in zip(values, difference_by_query.items(), strict=True):
                reason = compared.why_left_out.get(query, REASONS[COUNTED])
                cells = [*map(documents.none_for_nan, values_of_query), difference, reason]
                rows.append([str(measure), *pair, query, *cells, *profile_and_options])
    header = ["measure", "baseline", "system", "query", "baseline_value", "system_value", "difference", "reason"]
    return [*header, "profile", "options"], rows


def _made_by(result: Compared) -> dict:
    """The last columns of the CSV table: the settings of the tests, profile and options.

    critical_difference: the critical difference of two means by Tukey's HSD; exact: whether the randomisation test
    took all signs, instead of random ones; draws, seed: of the random numbers of the tests.
    """
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
