"""Agreement of raters, and stability of the order of systems under other raters, as documents and tables."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import isnan

import numpy as np

from ratings.models import Collection
from ratings.people.names import pseudonym

from .. import agreement, record, scores
from .. import measures as kernel
from ..agreement import Stability, Table
from ..agreement.coefficients import ALL_THE_SAME, FEWEST_PAIRS, NO_PAIR_TWICE, coefficients, lacking
from ..judgments.rules import RULES_OF_ALL, Ratings, combine, stacked
from ..measures import Judgments, Rankings
from ..measures.arrays import pair_key, pair_of
from ..page import documents
from ..record import Opinions, Record, cache
from ..record.sql import index_of
from ..significance.draws import RATER_DRAWS, SEED

QUERIES_AT_ONCE = 4_000  # queries that are scored together

# Why there is no number.
GAVE_NONE = "gave no grade"
SHARES_NONE = "nobody else graded the same pairs"
SHARES_ONE = "shares one pair with others"
NO_SYSTEM = "there is no system"
NO_ORDER = "no two systems differ"
FEW_SYSTEMS = f"fewer than {agreement.FEWEST_FOR_TAU} systems, or no order among them"


# The names of the coefficients for readers.
NAMES = {
    "agree": "Same grade",
    "within_one": "Same or next grade",
    "alpha_nominal": "Krippendorff’s α, nominal",
    "alpha_ordinal": "Krippendorff’s α, ordinal",
    "alpha_interval": "Krippendorff’s α, interval",
    "fleiss_kappa": "Fleiss’ κ",
}


@dataclass(frozen=True, eq=False)
class Agreement:
    """The ratings of a collection, as a table from which agreement is computed."""

    collection: str  # slug
    opinions: Opinions
    # int64[pairs, 2]: query (a row of `opinions.queries`), document (pk), as numbered in `table`
    pairs: np.ndarray
    table: Table

    @cached_property
    def disputed(self) -> np.ndarray:
        """The disputed pairs, as `agreement.disputed` has them."""
        return agreement.disputed(self.table)

    @property
    def raters(self) -> list[str]:
        """Names, by number in `table`."""
        return list(self.opinions.raters.values())

    @property
    def lacking(self) -> str:
        """Why agreement cannot be computed; "" where it can."""
        return lacking(self.table)


@dataclass(frozen=True, eq=False)
class Order:
    """The order of systems by one measure, and its stability under other raters."""

    asked: scores.Asked
    systems: tuple[str, ...]
    queries: tuple[int, ...]  # how many count for each system with all ratings
    raters: dict[int, str]  # names by pk
    stability: Stability | None  # None: no pair has two grades, or there is no system


def agreement_of(opinions: Opinions) -> Agreement:
    """The agreement of the raters, from all ratings."""
    key, pair = np.unique(pair_key(opinions.query, opinions.document), return_inverse=True)
    rater = index_of(opinions.rater, list(opinions.raters))
    table = agreement.table(pair, rater, opinions.grade, len(opinions.raters), opinions.scale, opinions.moment)
    return Agreement(opinions.collection, opinions, np.column_stack(pair_of(key)), table)


def agreement_in(collection: Collection, names: Mapping[int, str]) -> Agreement:
    """The agreement of the raters under these names (by pk) and in their order, from the cache."""

    def made() -> Agreement:
        opinions = cache.opinions(collection)
        # A rater who was removed meanwhile has no name.
        raters = {pk: names.get(pk, pseudonym(pk)) for pk in opinions.raters}
        by_name = sorted(raters, key=lambda pk: (raters[pk], pk))
        return agreement_of(replace(opinions, raters={pk: raters[pk] for pk in by_name}))

    return cache.whole(collection, ("raters", tuple(names.items())), made)


def order_of(collection: Collection, asked: scores.Asked, draws: int = RATER_DRAWS, seed: int = SEED) -> Order:
    """The order of the systems by the measure, and how it changes with other ratings.

    The systems are scored in many worlds, sets of ratings: with all ratings, with each of `draws` resamples of
    them, and without each rater. ValueError as from `scores.evaluate`.
    """
    data = record.load(collection, asked.systems, asked.options.ties)
    worlds = Worlds.of(asked, data.ratings, draws, seed)
    means, query_counts = [], []  # for each world a list or array with an element for each system
    for values, counted in worlds.scored(data):  # both [queries, systems]
        means.append(_means(values, counted))
        query_counts.append(counted.sum(axis=0))
    # The first world has all ratings.
    return _order(collection, worlds, data, np.array(means), query_counts[0])


def cached_order(collection: Collection, asked: scores.Asked, draws: int = RATER_DRAWS) -> Order:
    """The result of `order_of`, from the cache: only queries whose ratings changed are scored again.

    The cache holds a value for each query, world and system. A world is a set of ratings: all, a resample of them,
    or those without one rater.
    """
    source = asked.source
    version = record.version(collection)
    data, _ = cache.read(collection, source, version)
    worlds = Worlds.of(asked, data.ratings, draws, SEED)

    def compute(part: Record, _: Judgments) -> dict[str, np.ndarray]:
        """The values of `part`, the queries that the cache does not have, and whether they count in a mean.

        Each array has the shape [queries, worlds, systems].
        """
        values_of_worlds, counted_of_worlds = zip(*worlds.scored(part), strict=True)
        return {"values": np.stack(values_of_worlds, axis=1), "counted": np.stack(counted_of_worlds, axis=1)}

    # By name, the arrays of all queries: those that `compute` returned now, joined with those that the cache had.
    # `worlds` has settings and the pks of raters, but no ratings: a changed rating does not change the key.
    arrays = cache.columns(collection, version, source, ("order", worlds), compute).of
    values, counted = arrays["values"], arrays["counted"]
    means = [_means(values[:, world], counted[:, world]) for world in range(values.shape[1])]
    # The first world has all ratings.
    return _order(collection, worlds, data, np.array(means), counted[:, 0].sum(axis=0))


@dataclass(frozen=True)
class Worlds:
    """Settings for scoring systems as if other raters had judged, in each of `agreement.worlds`."""

    asked: scores.Asked
    raters: tuple[int, ...]  # each is left out once
    draws: int
    seed: int

    @classmethod
    def of(cls, asked: scores.Asked, ratings: Ratings, draws: int, seed: int) -> "Worlds":
        return cls(asked, tuple(np.unique(ratings.rater).tolist()), draws, seed)

    def scored(self, data: Record) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The values, and whether they count, [queries, systems] each, for each of `agreement.worlds`."""
        worlds = agreement.worlds(data.ratings, data.queries["key"], self.raters, self.draws, self.seed)
        rankings = [self._read(data.rankings[name]) for name in data.systems]
        at_once = 1 if self.asked.rule in RULES_OF_ALL else max(1, QUERIES_AT_ONCE // max(1, len(data.queries)))
        while chunk := list(islice(worlds, at_once)):
            yield from self._scored(chunk, rankings)

    def _read(self, rankings: Rankings) -> Rankings:
        """The part of the rankings that the measure reads."""
        cutoff, options = self.asked.measure.cutoff, self.asked.options
        lower_ranks_count = (
            options.ties != "rank" or options.unjudged in ("condensed", "require") or options.ideal == "retrieved"
        )
        return rankings if cutoff is None or lower_ranks_count else rankings.top(cutoff)

    def _scored(self, chunk: list[Ratings], rankings: list[Rankings]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As `scored`, for a chunk of worlds at once: each query of each world is scored as a query of its own.

        chunk: the ratings of each world, all of the same queries; rankings: one for each system.
        """
        shape = (len(chunk), chunk[0].queries, len(rankings))  # worlds, queries, systems
        # World after world: query q of world w is query w * queries + q of the judgments.
        judgments = combine(stacked(chunk), self.asked.rule, adjudications=self.asked.adjudications)
        measure, options = self.asked.measure, self.asked.options
        # Each system has the same rankings in all worlds: those of query q once for each world.
        queries_of_worlds = np.tile(np.arange(chunk[0].queries), len(chunk))
        values = np.empty(shape)
        counted = np.empty(shape, bool)
        for system, ranking in enumerate(rankings):
            result = kernel.evaluate([measure], judgments, ranking.of(queries_of_worlds), options)
            values[..., system] = result.values[measure].reshape(shape[:2])
            counted[..., system] = result.counted(measure).reshape(shape[:2])
        return zip(values, counted, strict=True)


def _means(values: np.ndarray, counted: np.ndarray) -> list[float]:
    """The mean of each system, from arrays of shape [queries, systems]."""
    return [kernel.mean(*column) for column in zip(values.T, counted.T, strict=True)]


def _order(collection: Collection, worlds: Worlds, data: Record, means: np.ndarray, queries: np.ndarray) -> Order:
    """The order of the systems by the asked measure, and its stability under other ratings.

    worlds: what is asked, as measure and options, and how the ratings are resampled. means: float64[worlds,
    systems], where a world is a set of ratings: first all, then each resample, then those without each rater.
    queries: how many count for each system with all ratings, int64[systems].
    """
    stability = None
    if data.systems:
        stability = agreement.stability(data.ratings, means, worlds.raters, worlds.draws, worlds.seed)
    return Order(
        asked=worlds.asked,
        systems=data.systems,
        queries=tuple(queries.tolist()),
        raters=dict(collection.raters.values_list("pk", "name")),
        stability=stability,
    )


# As files: numbers at full precision; None has a reason in "why"


def document(agreed: Agreement, order: Order | None = None) -> dict:
    """The JSON document: counts, coefficients, confusion of grades, raters, disputed pairs, order of systems."""
    whole = {**summary(agreed), "disputed": disputed(agreed, agreed.disputed)}
    return whole | ({"order": standing(order)} if order else {})


def summary(agreed: Agreement) -> dict:
    """The JSON document without two of its parts, so that a cache can keep it for all measures and options.

    Left out are the disputed pairs, which can be many, and the order of systems, which depends on the measure.
    """
    return {
        "collection": agreed.collection,
        "counts": counts(agreed),
        "coefficients": coefficients(agreed.table),
        "confusion": {
            "grades": agreed.table.grades.tolist(),
            "pairs": agreement.confusion(agreed.table).tolist(),
        },
        "pairs_of_raters": pairs_of_raters(agreed),
        "raters": raters(agreed),
    }


def counts(agreed: Agreement) -> dict:
    """The numbers of pairs, ratings and raters; also of raters whom an admin left out, if there are any.

    `graded`, `graded_twice`: the pairs with one grade or more, and with two or more; `ratings`: all grades.
    """
    grades_of_pair = agreed.table.ratings_of_pair  # how many, without "cannot judge"
    left_out = agreed.opinions.left_out
    return {
        "pairs": len(agreed.pairs),
        "graded": int((grades_of_pair > 0).sum()),
        "graded_twice": int((grades_of_pair > 1).sum()),
        "ratings": int(agreed.table.pair.size),
        "cannot_judge": int(agreed.table.cannot.sum()),
        "raters": int(np.unique(agreed.table.rater).size),
    } | ({"left_out": left_out} if left_out else {})


def pairs_of_raters(agreed: Agreement) -> list[dict]:
    """A row for every two raters with a pair in common."""
    rows = []
    for row in map(documents.numbers, agreement.cohen(agreed.table)):
        without_number = [name for name, value in row.items() if value is None]
        row["first"] = agreed.raters[row["first"]]
        row["second"] = agreed.raters[row["second"]]
        row["few"] = row["pairs"] < FEWEST_PAIRS
        row["why"] = dict.fromkeys(without_number, ALL_THE_SAME)
        rows.append(row)
    return rows


def raters(agreed: Agreement) -> list[dict]:
    """A row for each rater who gave a grade or could not judge a pair, in the order of names.

    A row has the numbers of `agreement.each_rater`. `few`: whether too few pairs are shared with others to rely on
    them. `why`: for each number that is None, the reason, which is the same for all numbers of a rater.
    """
    rows = []
    for row in map(documents.numbers, agreement.each_rater(agreed.table)):  # with None for nan
        if not row["ratings"] and not row["cannot"]:
            continue
        # With two shared pairs or more no number is None. So where a reason is used, `shared` is 0 or 1.
        if row["shared"]:
            reason = SHARES_ONE
        else:
            reason = SHARES_NONE if row["ratings"] else GAVE_NONE
        without_number = [name for name, value in row.items() if value is None]
        row["rater"] = agreed.raters[row["rater"]]  # the name in place of the number
        row["few"] = row["shared"] < FEWEST_PAIRS
        row["why"] = dict.fromkeys(without_number, reason)
        rows.append(row)
    return rows


def disputed(agreed: Agreement, disputes: np.ndarray) -> list[dict]:
    """A row for each of these disputed pairs: the keys of its query and document, and its numbers.

    disputes: a part of `Agreement.disputed`, a structured array; all of its fields but `pair` are in the row.
    One database query for each 20,000 documents.
    """
    pairs = agreed.pairs[disputes["pair"]].tolist()  # (row of the query, pk of the document)
    document_keys = record.document_keys({document for _, document in pairs})
    query_keys = agreed.opinions.queries["key"].tolist()
    fields = ["ratings", *OF_DISPUTED]
    return [
        {"query": query_keys[query], "document": document_keys[document], **dict(zip(fields, values, strict=True))}
        for values, (query, document) in zip(disputes[fields].tolist(), pairs, strict=True)
    ]


def standing(order: Order) -> dict:
    """The JSON of an order: the systems, best first, and how often the order holds under resampled raters."""
    stability = order.stability
    asked = order.asked
    made_by = {"measure": str(asked.measure), "fingerprint": asked.fingerprint, "profile": asked.profile}
    made_by |= {"options": asked.options.as_dict()}
    if stability is None:
        return made_by | {"systems": [], "why": {"systems": NO_PAIR_TWICE if order.systems else NO_SYSTEM}}
    names = order.systems
    best_first = np.argsort(-stability.means, kind="stable").tolist()  # nan comes last
    tau = documents.none_for_nan(stability.tau)
    return made_by | {
        "draws": stability.draws,
        "seed": stability.seed,
        "pairs": stability.pairs,
        "holds": documents.none_for_nan(stability.holds),
        "leader_holds": documents.none_for_nan(stability.leader_holds),
        "tau": tau,
        "systems": [
            {
                "system": names[place],
                "mean": documents.none_for_nan(stability.means[place]),
                "low": documents.none_for_nan(stability.low[place]),
                "high": documents.none_for_nan(stability.high[place]),
                "queries": order.queries[place],
            }
            for place in best_first
        ],
        "kept": [
            {
                "first": names[first],
                "second": names[second],
                "kept": documents.none_for_nan(stability.kept[first, second]),
            }
            for at, first in enumerate(best_first)
            for second in best_first[at + 1 :]
        ],
        "without": [
            {
                "rater": order.raters.get(each["rater"], f"rater {each['rater']}"),  # deleted between two reads
                "ratings": each["ratings"],
                "unjudged": each["unjudged"],
                "tau": documents.none_for_nan(each["tau"]),
                "reversed": [[names[first], names[second]] for first, second in each["reversed"]],
                "means": dict(zip(names, map(documents.none_for_nan, each["means"]), strict=True)),
            }
            for each in stability.left_out
        ],
        "why": ({"tau": FEW_SYSTEMS} if tau is None else {})
        | (dict.fromkeys(("holds", "leader_holds"), NO_ORDER) if isnan(stability.holds) else {}),
    }


def table(agreed: Agreement, order: Order | None = None) -> documents.Table:
    """The CSV table: a row for each number of the JSON document, found by `part`, `first`, `second` and `name`.

    `first` and `second` are the grades, raters or systems that the number is about; `n`: the pairs or ratings that
    it rests on; `why`: why it is empty. Without `order` the rows about the order of systems are left out.
    """
    whole = document(agreed, order)
    rows = [["counts", None, None, name, n, None, None, None, ""] for name, n in whole["counts"].items()]

    def add(part: str, first, second, row: dict, n: int | None, names: Iterable[str], bounded: str = "") -> None:
        """Add a row for each of these numbers of `row`. Its low and high belong to the number named `bounded`."""
        for name in names:
            low, high = (row["low"], row["high"]) if name == bounded else (None, None)
            rows.append([part, first, second, name, row[name], low, high, n, row.get("why", {}).get(name, "")])

    for row in whole["coefficients"]:
        add("coefficient", row["name"], None, row, row["pairs"], ["value"], "value")
    grades = whole["confusion"]["grades"]
    for first, line in zip(grades, whole["confusion"]["pairs"], strict=True):
        for second, count in zip(grades, line, strict=True):
            add("confusion", first, second, {"couples": count}, None, ["couples"])
    for row in whole["pairs_of_raters"]:
        add("pair of raters", row["first"], row["second"], row, row["pairs"], OF_TWO_RATERS)
    for row in whole["raters"]:
        add("rater", row["rater"], None, row, row["shared"], OF_RATER, "bias")
    for row in whole["disputed"]:
        add("disputed", row["query"], row["document"], row, row["ratings"], OF_DISPUTED)
    if order and order.stability:
        whole_order = whole["order"]
        pairs = whole_order["pairs"]
        add("order", whole_order["measure"], None, whole_order, pairs, ["holds", "leader_holds", "tau"])
        for row in whole_order["systems"]:
            add("order", row["system"], None, row, row["queries"], ["mean"], "mean")
        for row in whole_order["kept"]:
            add("order", row["first"], row["second"], row, pairs, ["kept"])
        for row in whole_order["without"]:
            for system, mean in row["means"].items():
                add("without", row["rater"], system, {"mean": mean}, row["ratings"], ["mean"])
    made_by = [order.asked.profile, order.asked.fingerprint] if order else [None, None]
    header = ["part", "first", "second", "name", "value", "low", "high", "n", "why", "profile", "options"]
    of_order = {"order", "without"}  # only these parts depend on a measure, with its profile and options
    return header, [row + (made_by if row[0] in of_order else [None, None]) for row in rows]


# The columns of numbers of two raters, of one rater, and of a disputed pair.
OF_TWO_RATERS = ("agree", "within_one", "kappa", "linear", "quadratic")
OF_RATER = ("ratings", "cannot", "mean", "bias", "spread", "agree")
OF_DISPUTED = ("lowest", "highest", "mean", "deviation")
