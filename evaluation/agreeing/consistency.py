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
from ..agreement.coefficients import ALL_THE_SAME, FEWEST, NO_PAIR_TWICE, coefficients, lacking
from ..judgments.rules import RULES_OF_ALL, Ratings, combine, stacked
from ..measures import Judgments, Rankings
from ..measures.arrays import groups
from ..page import documents
from ..record import Opinions, Record, cache
from ..record.sql import index_of
from ..significance.draws import RATERS, SEED

AT_ONCE = 4_000  # queries that are scored together

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
    order = np.lexsort((opinions.document, opinions.query))
    starts, counts = groups(opinions.query[order], opinions.document[order])
    number = np.empty(order.size, np.int64)
    number[order] = np.repeat(np.arange(starts.size), counts)
    rater = index_of(opinions.rater, list(opinions.raters))
    table = agreement.table(number, rater, opinions.grade, len(opinions.raters), opinions.scale, opinions.moment)
    first = order[starts]
    pairs = np.column_stack([opinions.query[first], opinions.document[first]])
    return Agreement(opinions.collection, opinions, pairs, table)


def agreement_in(collection: Collection, names: Mapping[int, str]) -> Agreement:
    """The agreement of the raters under these names (by pk) and in their order, from the cache."""

    def made() -> Agreement:
        opinions = cache.opinions(collection)
        # A rater who was removed meanwhile has no name.
        raters = ((pk, names.get(pk, pseudonym(pk))) for pk in opinions.raters)
        in_order = sorted(raters, key=lambda pk_and_name: pk_and_name[::-1])
        return agreement_of(replace(opinions, raters=dict(in_order)))

    return cache.whole(collection, ("raters", tuple(names.items())), made)


def order_of(collection: Collection, asked: scores.Asked, draws: int = RATERS, seed: int = SEED) -> Order:
    """The order of the systems by the measure, scored again for each draw and without each rater.

    ValueError as from `scores.evaluate`.
    """
    data = record.load(collection, asked.systems, asked.options.ties)
    worlds = Worlds.of(asked, data.ratings, draws, seed)
    scored = [(_means(*each), each[1].sum(axis=0)) for each in worlds.scored(data)]
    return _order(collection, worlds, data, np.array([means for means, _ in scored]), scored[0][1])


def cached_order(collection: Collection, asked: scores.Asked, draws: int = RATERS, seed: int = SEED) -> Order:
    """The result of `order_of`, from the cache: only queries whose ratings changed are scored again.

    The cache holds a number for each draw, query and system.
    """
    source, version = asked.source, record.version(collection)
    data, _ = cache.read(collection, source, version)
    worlds = Worlds.of(asked, data.ratings, draws, seed)

    def compute(data: Record, _: Judgments) -> dict[str, np.ndarray]:
        values, counted = zip(*worlds.scored(data), strict=True)
        return {"values": np.stack(values, axis=1), "counted": np.stack(counted, axis=1)}

    columns = cache.columns(collection, version, source, ("order", worlds), compute).of
    values, counted = columns["values"], columns["counted"]  # [queries, worlds, systems] each
    means = [_means(values[:, world], counted[:, world]) for world in range(values.shape[1])]
    return _order(collection, worlds, data, np.array(means), counted[:, 0].sum(axis=0))


@dataclass(frozen=True)
class Worlds:
    """Settings for scoring systems as if other raters had judged: a world for each draw or left-out rater."""

    asked: scores.Asked
    raters: tuple[int, ...]  # each is left out once
    draws: int
    seed: int

    @classmethod
    def of(cls, asked: scores.Asked, ratings: Ratings, draws: int, seed: int) -> "Worlds":
        raters = tuple(np.unique(ratings.rater).tolist())
        return cls(asked, raters, draws, seed)

    def scored(self, data: Record) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The values, and whether they count, [queries, systems] each, for each of `agreement.worlds`."""
        every = agreement.worlds(data.ratings, data.queries["key"], self.raters, self.draws, self.seed)
        rankings = [self._read(data.rankings[name]) for name in data.systems]
        at_once = 1 if self.asked.rule in RULES_OF_ALL else max(1, AT_ONCE // max(1, len(data.queries)))
        while some := list(islice(every, at_once)):
            yield from self._scored(some, rankings)

    def _read(self, rankings: Rankings) -> Rankings:
        """The part of the rankings that the measure reads."""
        cutoff, options = self.asked.measure.cutoff, self.asked.options
        # Under these options lower ranks can count.
        below = options.ties != "rank" or options.unjudged in ("condensed", "require")
        return rankings if cutoff is None or below or options.ideal == "retrieved" else rankings.top(cutoff)

    def _scored(self, some: list[Ratings], rankings: list[Rankings]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """As `scored` for some worlds, in one go: each query of each world is a query of its own."""
        worlds, queries, systems = len(some), some[0].queries, len(rankings)
        judgments = combine(stacked(some), self.asked.rule, adjudications=self.asked.adjudications)
        measure, options = self.asked.measure, self.asked.options
        of_each_world = np.tile(np.arange(queries), worlds)
        values, counted = np.empty((worlds, queries, systems)), np.empty((worlds, queries, systems), bool)
        for system, ranking in enumerate(rankings):
            result = kernel.evaluate([measure], judgments, ranking.of(of_each_world), options)
            values[..., system] = result.values[measure].reshape(worlds, queries)
            counted[..., system] = result.counted(measure).reshape(worlds, queries)
        return zip(values, counted, strict=True)


def _means(values: np.ndarray, counted: np.ndarray) -> list[float]:
    """The mean of each system, from arrays of shape [queries, systems]."""
    return [kernel.mean(*column) for column in zip(values.T, counted.T, strict=True)]


def _order(collection: Collection, worlds: Worlds, data: Record, means: np.ndarray, queries: np.ndarray) -> Order:
    """The order. queries: how many count for each system with all ratings, int64[systems]."""
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
    """The document without disputed pairs, which can be many, and without the order."""
    whole = {"collection": agreed.collection, "counts": counts(agreed), "coefficients": coefficients(agreed.table)}
    pairs = agreement.confusion(agreed.table).tolist()
    whole["confusion"] = {"grades": agreed.table.grades.tolist(), "pairs": pairs}
    return whole | {"pairs_of_raters": pairs_of_raters(agreed), "raters": raters(agreed)}


def counts(agreed: Agreement) -> dict:
    """The numbers of pairs, ratings and raters."""
    ratings = agreed.table.ratings
    return {
        "pairs": len(agreed.pairs),
        "graded": int((ratings > 0).sum()),
        "graded_twice": int((ratings > 1).sum()),
        "ratings": int(agreed.table.pair.size),
        "cannot_judge": int(agreed.table.cannot.sum()),
        "raters": int(np.unique(agreed.table.rater).size),
    }


def pairs_of_raters(agreed: Agreement) -> list[dict]:
    """A row for every two raters with a pair in common."""
    names, rows = agreed.raters, []
    for each in agreement.cohen(agreed.table):
        row = documents.numbers(each)
        lacking = [name for name, value in row.items() if value is None]
        both = {"first": names[row["first"]], "second": names[row["second"]]}
        rows.append(row | both | {"few": row["pairs"] < FEWEST, "why": dict.fromkeys(lacking, ALL_THE_SAME)})
    return rows


def raters(agreed: Agreement) -> list[dict]:
    """A row for each rater with a rating, in the order of names."""
    rows = []
    for each in agreement.each_rater(agreed.table):
        row = documents.numbers(each)
        if not row["ratings"] + row["cannot"]:
            continue
        reason = GAVE_NONE if not row["ratings"] else SHARES_ONE if row["shared"] else SHARES_NONE
        why = {name: reason for name, value in row.items() if value is None}
        rows.append(row | {"rater": agreed.raters[row["rater"]], "few": row["shared"] < FEWEST, "why": why})
    return rows


def disputed(agreed: Agreement, some: np.ndarray) -> list[dict]:
    """A row for each of `some` disputed pairs. One database query for each 20,000 documents."""
    places = agreed.pairs[some["pair"]].tolist()
    documents = record.document_keys({document for _, document in places})
    keys = agreed.opinions.queries["key"].tolist()
    return [
        {"query": keys[query], "document": documents[document]}
        | dict(zip(("ratings", *SPREAD), numbers, strict=True))
        for (_, *numbers), (query, document) in zip(some.tolist(), places, strict=True)
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
    tau = documents.known(stability.tau)
    return made_by | {
        "draws": stability.draws,
        "seed": stability.seed,
        "pairs": stability.pairs,
        "holds": documents.known(stability.holds),
        "leader_holds": documents.known(stability.leader_holds),
        "tau": tau,
        "systems": [
            {
                "system": names[place],
                "mean": documents.known(stability.means[place]),
                "low": documents.known(stability.low[place]),
                "high": documents.known(stability.high[place]),
                "queries": order.queries[place],
            }
            for place in best_first
        ],
        "kept": [
            {
                "first": names[first],
                "second": names[second],
                "kept": documents.known(stability.kept[first, second]),
            }
            for at, first in enumerate(best_first)
            for second in best_first[at + 1 :]
        ],
        "without": [
            {
                "rater": order.raters.get(each["rater"], f"rater {each['rater']}"),  # deleted between two reads
                "ratings": each["ratings"],
                "unjudged": each["unjudged"],
                "tau": documents.known(each["tau"]),
                "reversed": [[names[first], names[second]] for first, second in each["reversed"]],
                "means": dict(zip(names, map(documents.known, each["means"]), strict=True)),
            }
            for each in stability.left_out
        ],
        "why": ({"tau": FEW_SYSTEMS} if tau is None else {})
        | (dict.fromkeys(("holds", "leader_holds"), NO_ORDER) if isnan(stability.holds) else {}),
    }


def table(agreed: Agreement, order: Order | None = None) -> documents.Table:
    """The CSV table: a row for each number of the document, named by part, subjects and name."""
    whole = document(agreed, order)
    rows = [["counts", None, None, name, n, None, None, None, ""] for name, n in whole["counts"].items()]

    def add(part: str, first, second, row: dict, n: int | None, values: Iterable[str], bounded: str = "") -> None:
        """A row for each of `values`; the interval of `row` is that of the value named `bounded`."""
        for name in values:
            low, high = (row["low"], row["high"]) if name == bounded else (None, None)
            rows.append([part, first, second, name, row[name], low, high, n, row.get("why", {}).get(name, "")])

    for row in whole["coefficients"]:
        add("coefficient", row["name"], None, row, row["pairs"], ["value"], "value")
    grades = whole["confusion"]["grades"]
    for first, line in zip(grades, whole["confusion"]["pairs"], strict=True):
        for second, count in zip(grades, line, strict=True):
            add("confusion", first, second, {"couples": count}, None, ["couples"])
    for row in whole["pairs_of_raters"]:
        add("pair of raters", row["first"], row["second"], row, row["pairs"], BOTH)
    for row in whole["raters"]:
        add("rater", row["rater"], None, row, row["shared"], EACH, "bias")
    for row in whole["disputed"]:
        add("disputed", row["query"], row["document"], row, row["ratings"], SPREAD)
    if order and order.stability:
        stands = whole["order"]
        add("order", stands["measure"], None, stands, stands["pairs"], ["holds", "leader_holds", "tau"])
        for row in stands["systems"]:
            add("order", row["system"], None, row, row["queries"], ["mean"], "mean")
        for row in stands["kept"]:
            add("order", row["first"], row["second"], row, stands["pairs"], ["kept"])
        for row in stands["without"]:
            for system, mean in row["means"].items():
                add("without", row["rater"], system, {"mean": mean}, row["ratings"], ["mean"])
    made_by = [order.asked.profile, order.asked.fingerprint] if order else [None, None]
    header = ["part", "first", "second", "name", "value", "low", "high", "n", "why", "profile", "options"]
    of_order = {"order", "without"}
    return header, [row + (made_by if row[0] in of_order else [None, None]) for row in rows]


# The columns of numbers of two raters, of one rater, and of a disputed pair.
BOTH = ("agree", "within_one", "kappa", "linear", "quadratic")
EACH = ("ratings", "cannot", "mean", "bias", "spread", "agree")
SPREAD = ("lowest", "highest", "mean", "deviation")
