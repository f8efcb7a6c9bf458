"""One evaluation: values by query, measure and system, and what follows from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import isnan

import numpy as np
import pandas as pd

from .. import measures as kernel
from ..measures import COUNTED, MEASURES, REASONS, Bounds, Judgments, Measure, Rankings, parse_measure
from ..measures.arrays import distinct
from ..record.cache import Columns
from ..significance import bootstrap_interval
from ..significance.sampled import Estimate, Sampled, bounds_of_estimate, estimate
from .asked import SIGNED, SUMS, Asked
from .expected import Expected, Expecting
from .standing import SUMMARY, Standing

WHY_BY_CODE = np.array(["" if reason == REASONS[COUNTED] else reason for reason in REASONS], object)
NO_ESTIMATE = Estimate(np.nan, np.nan, np.nan)
ROUNDING = 1e-9  # smaller differences are rounding errors


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The scores of systems, and all that pages, files and commands show of them. nan or None = no value.

    It holds what follows from its arrays and what two readers need. Words and rows of one chart are elsewhere.
    """

    asked: Asked
    measures: tuple[Measure, ...]  # the asked one first
    # Arrays [queries, measures x systems] by name: values; codes, indices in REASONS; seen, the judged share of
    # the documents that the measure reads, before any is left out.
    table: Columns
    # By (measure, system), of the measures that they were asked for.
    bounds: Mapping[tuple[Measure, str], Bounds] = field(default_factory=dict)
    expected: Mapping[Measure, Expected] = field(default_factory=dict)  # where they were asked for
    known_judgments: Judgments | None = None  # where they were asked for: see `judgments`
    stored: Mapping[tuple[str, str], Standing] | None = None  # frozen: the standings as they were computed then
    expecting: Expecting = Expecting()  # on a page: the expected means that it can show first

    @property
    def collection(self) -> str:
        """The slug of the collection."""
        return self.table.record.collection

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems in the order of their names."""
        return self.table.record.systems

    @property
    def judgments(self) -> Judgments:
        """The judgments. LookupError where they were not asked for, as in a frozen evaluation."""
        if self.known_judgments is None:
            raise LookupError(f"the evaluation of {self.collection} was made without its judgments.")
        return self.known_judgments

    @property
    def fingerprint(self) -> str:
        """The options in short, without the parameters of measures."""
        of_options = self.asked.with_judgments(self.asked.options)
        return " ".join([of_options, *self._of_log, *(f"est={est}" for est in self._sources)])

    def fingerprint_of(self, measure: Measure | str) -> str:
        """The fingerprint of the options in force for this measure, with est where there are expected values."""
        measure = parse_measure(measure) if isinstance(measure, str) else measure
        plain = self.plain_fingerprint_of(measure)
        return f"{plain} est={self.expected[measure].est}" if measure in self.expected else plain

    def plain_fingerprint_of(self, measure: Measure | str) -> str:
        """The fingerprint without that of expected values."""
        return " ".join([self.asked.fingerprint_of(measure), *self._of_log])

    @property
    def _of_log(self) -> list[str]:
        return ["est=log"] if self.sampled else []

    @property
    def label(self) -> str:
        """The asked measure and the fingerprint of its plain means."""
        return f"{self.asked.measure} {self.plain_fingerprint_of(self.asked.measure)}"

    @property
    def est(self) -> str:
        """The sources of the expected values; "" where none were asked for."""
        return " ".join(self._sources)

    @property
    def _sources(self) -> list[str]:
        return sorted({expected.est for expected in self.expected.values()})

    # Standings

    @cached_property
    def by_column(self) -> Mapping[tuple[str, str], Standing]:
        """The standing of each (system, measure), both text, system by system."""
        if self.stored is not None:
            return self.stored
        intervals = self.table.remember("intervals", lambda: _intervals(self.columns, self.table, self.sampled))
        return {
            (system, str(measure)): self._standing(measure, system, intervals[measure, system])
            for system in self.systems
            for measure in self.measures
        }

    def standing(self, system: str, measure: Measure | str | None = None) -> Standing:
        """The standing in this measure (None: the asked one)."""
        return self.by_column[system, str(measure or self.asked.measure)]

    @cached_property
    def standings(self) -> list[Standing]:
        """The systems in the asked measure, by expected means where a page shows these first, then by mean.

        The highest first, systems without a mean last; ties by name.
        """
        headline = self.expecting.headline
        # `headline.means` has the highest expected mean first. Without a headline all systems get the same place.
        place_by_expected = {row.system: place for place, row in enumerate(headline.means)} if headline else {}
        last = len(self.systems)

        # Where there is no mean, 0 stands for it: the member of the key before it puts such a row last anyway.
        def sort_key(row: Standing) -> tuple:
            return place_by_expected.get(row.system, last), row.mean is None, -(row.mean or 0), row.system

        return sorted((self.standing(name) for name in self.systems), key=sort_key)

    @cached_property
    def names(self) -> list[str]:
        """The systems in the order of `standings`, which all tables and charts have."""
        return [standing.system for standing in self.standings]

    @cached_property
    def means(self) -> dict[str, float]:
        """The means in the asked measure by system, in the order of `standings`, of those that have one."""
        return {standing.system: standing.mean for standing in self.standings if standing.mean is not None}

    def across(self, measures: Sequence[Measure]) -> list[tuple[Standing, list[Standing]]]:
        """Each of the standings with those of its system in these measures."""
        return [(row, [self.standing(row.system, measure) for measure in measures]) for row in self.standings]

    @property
    def shown(self) -> list[str]:
        """The names of the numbers to show, in the order of SUMMARY, then those of expected values.

        Left out are bounds that nobody asked for, weighted means where all weights are equal, what only queries
        drawn from a log have, and totals where no measure counts documents.
        """
        left_out = set() if self.bounds else {"lowest", "highest"}
        if not self.is_weighted:
            left_out |= {"weighted", "weighted_low", "weighted_high"}
        if not self.sampled:
            left_out |= {"plain", "traffic"}
        if not any(MEASURES[measure.name].is_count for measure in self.measures):
            left_out.add("total")
        # A measure may have expected values that another has not: each name once.
        names = dict.fromkeys(chain(SUMMARY, *(standing.expected for standing in self.by_column.values())))
        return [name for name in names if name not in left_out]

    @property
    def is_bounded(self) -> bool:
        """Whether bounds of a mean in the asked measure are known."""
        return any(standing.lowest is not None for standing in self.standings)

    @property
    def has_totals(self) -> bool:
        """Whether the asked measure is a count."""
        return any(standing.total is not None for standing in self.standings)

    @property
    def is_weighted(self) -> bool:
        """Whether queries have different weights."""
        return bool(self.table.record.queries["weight"].nunique() > 1)

    @cached_property
    def sampled(self) -> Sampled | None:
        """What the queries stand for, where they were drawn from a log."""
        data = self.table.record
        return sampled_of(data.queries, data.left_out_queries)

    def _standing(self, measure: Measure, system: str, estimated: Estimate) -> Standing:
        """The numbers of one system in one measure. estimated: its mean and interval."""
        column = self._places[measure, system]
        # Each [queries]; a code is an index in REASONS, which says why a query does not count in the mean.
        values, codes, judged_shares = (self.table.of[name][:, column] for name in ("values", "codes", "seen"))
        counted = codes == COUNTED
        counting_values = np.where(counted, values, np.nan)
        queries_by_reason = dict(zip(REASONS, np.bincount(codes, minlength=len(REASONS)).tolist(), strict=True))
        # After that the dict has only the reasons why a query does not count.
        queries = queries_by_reason.pop(REASONS[COUNTED])
        bounds = self.bounds.get((measure, system))
        lowest, highest = np.nan, np.nan
        if bounds:
            # certain, possible: the queries that surely have a value once all is judged, and that can have one.
            lowest, highest = self.bounds_of_mean(bounds.low, bounds.high, bounds.certain, bounds.possible)
        weighted = NO_ESTIMATE
        if self.is_weighted:
            # In this mean each query stands for as many searches as its weight says, also where queries were drawn
            # from a log (`self.sampled`) and `estimated` is a mean over its searches.
            by_weight = Sampled.by_weight(self.table.record.queries["weight"].to_numpy(np.float64))
            weighted = estimate(counting_values, by_weight)
        return Standing(
            system=system,
            measure=str(measure),
            mean=none_for_nan(estimated.mean),
            low=none_for_nan(estimated.low),
            high=none_for_nan(estimated.high),
            queries=queries,
            undefined=sum(queries_by_reason.values()),
            reasons={reason: count for reason, count in queries_by_reason.items() if count},
            judged=none_for_nan(mean_of(np.where(counted, judged_shares, np.nan), self.sampled)),
            lowest=none_for_nan(lowest),
            highest=none_for_nan(highest),
            **plain_and_traffic(counting_values, self.sampled),  # {} unless queries were drawn from a log
            weighted=none_for_nan(weighted.mean),
            weighted_low=none_for_nan(weighted.low),
            weighted_high=none_for_nan(weighted.high),
            total=float(values[counted].sum()) if MEASURES[measure.name].is_count and queries else None,
            # The columns of the expected mean, for which a model predicts missing judgments; {} if not asked for.
            expected=self.expected[measure].row(system) if measure in self.expected else {},
            # None for rankings that are no system of the collection, such as those of a file.
            pk=self.table.record.system_pks.get(system),
        )

    def bounds_of_mean(
        self, low: np.ndarray, high: np.ndarray, certain: np.ndarray, possible: np.ndarray
    ) -> tuple[float, float]:
        """The least and the greatest mean of values between these ends, as `measures.bounds_of_mean`."""
        if self.sampled is None:
            return kernel.bounds_of_mean(low, high, certain, possible)
        return bounds_of_estimate(low, high, certain, possible, self.sampled)

    # Values of queries

    @cached_property
    def columns(self) -> list[tuple[Measure, str]]:
        return [(measure, system) for measure in self.measures for system in self.systems]

    @cached_property
    def _places(self) -> dict[tuple[Measure, str], int]:
        return {column: place for place, column in enumerate(self.columns)}

    def _of(self, name: str, systems: Iterable[str], measure: Measure | None) -> np.ndarray:
        measure = measure or self.asked.measure
        return self.table.of[name][:, [self._places[measure, system] for system in systems]]

    def values(self, systems: Iterable[str], measure: Measure | None = None) -> np.ndarray:
        """The values of these systems in this measure (None: the asked one), float64[queries, systems]."""
        return self._of("values", systems, measure)

    def counted(self, systems: Iterable[str], measure: Measure | None = None) -> np.ndarray:
        """Whether each value counts in the mean, bool[queries, systems]."""
        return self._of("codes", systems, measure) == COUNTED

    def counting(self, systems: Sequence[str], measure: Measure | None = None) -> np.ndarray:
        """The values that count in the mean, float64[queries, systems]; nan for others, even for known ones."""
        return np.where(self.counted(systems, measure), self.values(systems, measure), np.nan)

    def why(self, systems: Iterable[str], measure: Measure | None = None) -> np.ndarray:
        """Why each value counts in no mean, as text, object[queries, systems]; "" where it counts."""
        return WHY_BY_CODE[self._of("codes", systems, measure)]

    def judged(self, system: str) -> np.ndarray:
        """Judged@k of the system's rankings as it gave them, before condensing: float64[queries]."""
        return self._of("seen", [system], None)[:, 0]

    def by_ease(self) -> list[int]:
        """The rows of the queries from easiest to hardest by the median over systems, those not counted last."""
        values = self.counting(self.systems)
        median, defined = np.full(len(values), -np.inf), ~np.isnan(values).all(axis=1)
        median[defined] = np.nanmedian(values[defined], axis=1)
        return np.argsort(-median, kind="stable").tolist()

    # The neutral point and the holes, which only a living evaluation has

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

    @property
    def neutral_mean(self) -> float | None:
        """The mean score of an empty list, where negative judgments lift it above 0."""
        if self.asked.measure.name != "nDCG" or self.known_judgments is None or not self.negative:
            return None
        mean = mean_of(self.neutral, self.sampled)
        return mean if mean > 0 else None

    def below_empty_list(self, systems: Sequence[str]) -> np.ndarray:
        """Whether values that count are below the neutral point of their query, bool[queries, systems]."""
        point = self.neutral[:, np.newaxis] if self.asked.measure.name == "nDCG" else 0.0
        return self.counting(systems) < point - ROUNDING

    @cached_property
    def holes(self) -> tuple[int, int]:
        """The number of holes, and of all places: down to the cutoff, over all systems and queries that count."""
        counts = [self.holes_of(system) for system in self.systems]
        return sum(holes for holes, _ in counts), sum(places for _, places in counts)

    def holes_of(self, system: str) -> tuple[int, int]:
        """The number of holes of the system, and of its places, as `holes` counts them."""
        counted, cutoff = self.counted([system])[:, 0], self.asked.measure.cutoff
        length = self.table.record.rankings[system].length[counted]
        places = length if cutoff is None else np.minimum(length, cutoff)
        unjudged_share = 1 - self.judged(system)[counted]  # nan for an empty ranking
        return round(np.nansum(unjudged_share * places)), int(places.sum())

    # As pandas frames

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """Values by query key; columns (measure, system), both text."""
        return self._frame(self.table.of["values"])

    @cached_property
    def reasons(self) -> pd.DataFrame:
        """The reason of each value, in the shape of per_query: "counted", or why the query counts in no mean."""
        return self._frame(np.array(REASONS, object)[self.table.of["codes"]])

    def _frame(self, values: np.ndarray) -> pd.DataFrame:
        index = pd.Index(self.table.record.queries["key"], name="query")
        names = [[str(measure) for measure, _ in self.columns], [system for _, system in self.columns]]
        return pd.DataFrame(values, index, pd.MultiIndex.from_arrays(names, names=["measure", "system"]))


def sampled_of(queries: pd.DataFrame, left_out: Sequence[dict]) -> Sampled | None:
    """What the queries stand for; None where none was drawn from a log. Both as in `Record`."""
    if "chance" not in queries or queries["chance"].isna().all():
        return None
    drawn = {
        name: np.append(queries[name].to_numpy(), [row[name] for row in left_out])
        for name in ("count", "chance", "stratum")
    }
    return Sampled.of(**drawn).without(np.arange(len(queries) + len(left_out)) >= len(queries))


def mean_of(values: np.ndarray, sampled: Sampled | None) -> float:
    """The mean of the values, float64[queries] with nan for none: over queries, or over all searches of a log."""
    return kernel.mean(values, ~np.isnan(values)) if sampled is None else estimate(values, sampled).mean


def plain_and_traffic(values: np.ndarray, sampled: Sampled | None) -> dict[str, float | None]:
    """What stands beside a mean over all searches of a log; {} without a log. values: float64[queries], or nan.

    plain: the mean over queries; traffic: the share of the searches whose queries have a value.
    """
    if sampled is None:
        return {}
    has_value = ~np.isnan(values)
    plain, traffic = kernel.mean(values, has_value), sampled.share(has_value)
    return {"plain": none_for_nan(plain), "traffic": none_for_nan(traffic)}


def none_for_nan(value):
    """The value as Python has it, with None for nan, so that every writer writes the same digits."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and isnan(value) else value


def _intervals(
    columns: list[tuple[Measure, str]], table: Columns, sampled: Sampled | None
) -> dict[tuple[Measure, str], Estimate]:
    """The mean with its interval by (measure, system): over queries, or over all searches of a log."""
    values = np.where(table.of["codes"] == COUNTED, table.of["values"], np.nan)
    estimates = [estimate(column, sampled) for column in values.T] if sampled else _resampled(values)
    intervals = {}
    for (measure, system), estimated, of_column in zip(columns, estimates, values.T, strict=True):
        intervals[measure, system] = _within_scale(measure, estimated, of_column)
    return intervals


def _resampled(values: np.ndarray) -> list[Estimate]:
    """The plain mean of each column with its bootstrap interval.

    values: float64[queries, columns], nan where a query does not count.
    """
    counted = ~np.isnan(values)
    queries_of_column = counted.sum(axis=0)
    estimates: dict[int, Estimate] = {}  # by column
    # Columns with equally many queries are resampled together, which is faster.
    for size in np.unique(queries_of_column):
        columns = np.flatnonzero(queries_of_column == size)
        # float64[size, columns]: of each column its own queries, without nan.
        counting_values = np.column_stack([values[counted[:, column], column] for column in columns])
        # low and high: [columns, 2], nan for fewer than two queries
        ends = np.transpose(bootstrap_interval(counting_values))
        for column, (low, high) in zip(columns.tolist(), ends, strict=True):
            mean = kernel.mean(values[:, column], counted[:, column])
            estimates[column] = Estimate(mean, float(low), float(high))
    return [estimates[column] for column in range(values.shape[1])]


def _within_scale(measure: Measure, estimated: Estimate, values: np.ndarray) -> Estimate:
    """The estimate with an interval that does not pass an end of the scale. values: nan where none counts."""
    low, high = estimated.low, estimated.high
    if not np.isnan(low) and measure.name not in SIGNED:
        low = max(low, min(0.0, float(np.nanmin(values))))
    if not np.isnan(high) and measure.name not in SUMS:
        high = min(high, max(1.0, float(np.nanmax(values))))
    return replace(estimated, low=low, high=high)
