"""Whether the raters of a collection agree, and whether its systems depend on who rated: documents and rows."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from math import isnan

import numpy as np

from ratings.models import Collection

from . import agreement, record, report, scores
from . import measures as kernel
from .agreement import KINDS, Stability, Table
from .judgments import Ratings, combine
from .measures import Measure, Options
from .record import Opinions
from .significance import SEED

FEWEST = 20  # pairs with two grades: of fewer no coefficient says much

# Why there is no number.
NOBODY = "nobody gave a grade"
ONE_RATER = "only one rater gave grades"
NO_PAIR_TWICE = "no pair has two grades"
ONE_PAIR = "only one pair has two grades"
ALL_THE_SAME = "all grades are the same"
RESAMPLES = "too many resamples in which all grades are the same"
GAVE_NONE = "gave no grade"
SHARES_NONE = "nobody else graded the same pairs"
SHARES_ONE = "shares one pair with others"
NO_SYSTEM = "there is no system"
NO_ORDER = "no two systems differ"
FEW_SYSTEMS = f"fewer than {agreement.FEWEST_FOR_TAU} systems, or no order among them"


@dataclass(frozen=True, eq=False)
class Agreement:
    """What people said of pairs, and how far they agree."""

    collection: str  # slug
    opinions: Opinions
    pairs: list[tuple[int, int]]  # query (a row of `opinions.queries`) and document (pk), by the number in `table`
    table: Table

    @cached_property
    def documents(self) -> dict[int, str]:
        """Keys, by pk, of the pairs in dispute: that can be half of all, and not every page names them."""
        return record.document_keys({self.pairs[each.pair][1] for each in agreement.disputed(self.table)})

    @property
    def raters(self) -> list[str]:
        """Names, by the number in `table`."""
        return list(self.opinions.raters.values())

    @property
    def lacking(self) -> str:
        """Why nothing can agree; "" where something can."""
        found = self.table
        if not found.pair.size:
            return NOBODY
        if np.unique(found.rater).size == 1:
            return ONE_RATER
        return "" if found.shared.pair.size else NO_PAIR_TWICE


@dataclass(frozen=True, eq=False)
class Order:
    """How systems stand by one measure, and what becomes of that with other raters."""

    measure: Measure
    options: Options
    profile: str
    fingerprint: str
    systems: tuple[str, ...]
    raters: dict[int, str]  # names by pk
    found: Stability | None  # None: no pair has two grades, or there is no system


def agreement_of(collection: Collection) -> Agreement:
    """Reads every rating of the collection by four database queries."""
    said = record.opinions(collection)
    order = np.lexsort((said.document, said.query))
    pairs = np.stack([said.query, said.document])[:, order]
    is_first = np.append(True, (np.diff(pairs) != 0).any(axis=0))[: order.size]
    pairs, number = pairs[:, is_first], np.empty(order.size, np.int64)
    number[order] = np.cumsum(is_first) - 1
    places = {pk: place for place, pk in enumerate(said.raters)}
    rater = np.array([places[pk] for pk in said.rater.tolist()], np.int64)
    table = agreement.table(number, rater, said.grade, len(places), said.scale, said.moment)
    pairs = list(zip(*pairs.tolist(), strict=True))
    return Agreement(collection.slug, said, pairs, table)


def order_of(
    collection: Collection,
    measure: str,
    options: Options,
    profile: str,
    systems: Iterable[str] | None = None,
    rule: str = "mean",
    adjudications: str = "use",
    draws: int = agreement.DRAWS,
    seed: int = SEED,
) -> Order:
    """Scores the systems (None: all) again for each draw and each rater.

    ValueError, in words for the person who asked, as `scores.evaluate` has it.
    """
    parsed = scores.measure_for(collection, measure)
    found = record.load(collection, systems, options.ties)

    def means(ratings: Ratings) -> np.ndarray:
        judgments = combine(ratings, rule, adjudications=adjudications)
        every = (kernel.evaluate([parsed], judgments, found.rankings[name], options) for name in found.systems)
        return np.array([each.mean(parsed) for each in every])

    return Order(
        measure=parsed,
        options=options,
        profile=profile,
        fingerprint=scores.fingerprint(kernel.effective(parsed, options), rule, adjudications),
        systems=found.systems,
        raters=record.opinions(collection).raters,
        found=agreement.stability(found.ratings, means, draws, seed) if found.systems else None,
    )


# As files: numbers at full precision, None with a reason beside it


def document(said: Agreement, order: Order | None = None) -> dict:
    """How many ratings there are, how far they agree, what each rater does, which pairs are in dispute."""
    whole = {"collection": said.collection, "counts": counts(said), "coefficients": coefficients(said)}
    whole["confusion"] = {"grades": said.table.grades.tolist(), "pairs": agreement.confusion(said.table).tolist()}
    whole |= {"pairs_of_raters": pairs_of_raters(said), "raters": raters(said), "disputed": disputed(said)}
    return whole | ({"order": standing(order)} if order else {})


def counts(said: Agreement) -> dict:
    """What there is to agree about."""
    ratings = said.table.ratings
    return {
        "pairs": len(said.pairs),
        "graded": int((ratings > 0).sum()),
        "graded_twice": int((ratings > 1).sum()),
        "ratings": int(said.table.pair.size),
        "cannot_judge": int(said.table.cannot.sum()),
        "raters": int(np.unique(said.table.rater).size),
        "machines_left_out": said.opinions.machines,
    }


def coefficients(said: Agreement) -> list[dict]:
    """Each with what it rests on: percentages, alpha of each kind with its interval, Fleiss' kappa."""
    found, twice = said.table, int((said.table.ratings > 1).sum())
    percent, fleiss = agreement.percent(found), agreement.fleiss(found)
    rows = [
        _coefficient(said, name, getattr(percent, name), twice, couples=percent.couples)
        for name in ("agree", "within_one")
    ]
    for kind in KINDS:
        low, high = agreement.alpha_interval(found, kind)
        rows.append(_coefficient(said, f"alpha_{kind}", agreement.alpha(found, kind), twice, low, high))
    rows.append(_coefficient(said, "fleiss_kappa", fleiss.kappa, fleiss.pairs, ratings=fleiss.ratings))
    return rows


def _coefficient(
    said: Agreement,
    name: str,
    value: float,
    pairs: int,
    low: float | None = None,
    high: float | None = None,
    couples: int | None = None,
    ratings: int | None = None,
) -> dict:
    """`ratings`: of each pair; `couples`: how many twos of grades. None where a coefficient has no such thing."""
    why = {}
    if isnan(value):
        why["value"] = said.lacking or ALL_THE_SAME
    if low is not None and isnan(low):
        why["low"] = why["high"] = why.get("value") or (ONE_PAIR if pairs == 1 else RESAMPLES)
    row = {"name": name, "value": value, "low": low, "high": high, "pairs": pairs}
    row |= {"couples": couples, "ratings": ratings}
    row |= {"draws": None, "seed": None} if low is None else {"draws": agreement.ALPHA_DRAWS, "seed": SEED}
    return {name: report.known(each) for name, each in row.items()} | {"few": pairs < FEWEST, "why": why}


def pairs_of_raters(said: Agreement) -> list[dict]:
    """Every two raters with a pair in common."""
    names, rows = said.raters, []
    for each in agreement.cohen(said.table):
        row = {name: report.known(value) for name, value in asdict(each).items()}
        lacking = [name for name, value in row.items() if value is None]
        both = {"first": names[each.first], "second": names[each.second]}
        rows.append(row | both | {"few": each.pairs < FEWEST, "why": dict.fromkeys(lacking, ALL_THE_SAME)})
    return rows


def raters(said: Agreement) -> list[dict]:
    """Everybody who said something, in the order of names."""
    rows = []
    for each in agreement.each_rater(said.table):
        if not each.ratings + each.cannot:
            continue
        row = {name: report.known(value) for name, value in asdict(each).items()}
        reason = GAVE_NONE if not each.ratings else SHARES_ONE if each.shared else SHARES_NONE
        why = {name: reason for name, value in row.items() if value is None}
        rows.append(row | {"rater": said.raters[each.rater], "few": each.shared < FEWEST, "why": why})
    return rows


def disputed(said: Agreement) -> list[dict]:
    """Pairs with different grades, the biggest difference first."""
    rows = []
    for each in agreement.disputed(said.table):
        query, document = said.pairs[each.pair]
        keys = {"query": said.opinions.queries["key"].iat[query], "document": said.documents[document]}
        rows.append(keys | {name: value for name, value in asdict(each).items() if name != "pair"})
    return rows


def standing(order: Order) -> dict:
    """The systems, the best first, and whether they would stand like that with other raters."""
    found = order.found
    made_by = {"measure": str(order.measure), "fingerprint": order.fingerprint, "profile": order.profile}
    made_by["options"] = order.options.as_dict()
    if found is None:
        return made_by | {"systems": [], "why": {"systems": NO_PAIR_TWICE if order.systems else NO_SYSTEM}}
    names = order.systems
    best_first = np.argsort(-found.means, kind="stable").tolist()  # nan comes last
    tau = report.known(found.tau)
    return made_by | {
        "draws": found.draws,
        "seed": found.seed,
        "pairs": found.pairs,
        "holds": report.known(found.holds),
        "leader_holds": report.known(found.leader_holds),
        "tau": tau,
        "systems": [
            {
                "system": names[place],
                "mean": report.known(found.means[place]),
                "low": report.known(found.low[place]),
                "high": report.known(found.high[place]),
            }
            for place in best_first
        ],
        "kept": [
            {"first": names[first], "second": names[second], "kept": report.known(found.kept[first, second])}
            for at, first in enumerate(best_first)
            for second in best_first[at + 1 :]
        ],
        "without": [
            {
                "rater": order.raters.get(each.rater, f"rater {each.rater}"),  # gone between two readings
                "ratings": each.ratings,
                "unjudged": each.unjudged,
                "tau": report.known(each.tau),
                "reversed": [[names[first], names[second]] for first, second in each.reversed],
                "means": dict(zip(names, map(report.known, each.means), strict=True)),
            }
            for each in found.left_out
        ],
        "why": ({"tau": FEW_SYSTEMS} if tau is None else {})
        | (dict.fromkeys(("holds", "leader_holds"), NO_ORDER) if isnan(found.holds) else {}),
    }


def table(said: Agreement, order: Order | None = None) -> report.Table:
    """Everything as rows of one shape: what of whom, its value and interval, and on how many pairs it rests."""
    whole = document(said, order)
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
        for second, couples in zip(grades, line, strict=True):
            add("confusion", first, second, {"couples": couples}, None, ["couples"])
    for row in whole["pairs_of_raters"]:
        add("pair of raters", row["first"], row["second"], row, row["pairs"], BOTH)
    for row in whole["raters"]:
        add("rater", row["rater"], None, row, row["shared"], EACH, "bias")
    for row in whole["disputed"]:
        add("disputed", row["query"], row["document"], row, row["ratings"], SPREAD)
    if order and order.found:
        stands = whole["order"]
        add("order", stands["measure"], None, stands, stands["pairs"], ["holds", "leader_holds", "tau"])
        for row in stands["systems"]:
            add("order", row["system"], None, row, stands["pairs"], ["mean"], "mean")
        for row in stands["kept"]:
            add("order", row["first"], row["second"], row, stands["pairs"], ["kept"])
        for row in stands["without"]:
            for system, mean in row["means"].items():
                add("without", row["rater"], system, {"mean": mean}, row["ratings"], ["mean"])
    made_by = [order.profile, order.fingerprint] if order else [None, None]
    header = ["part", "first", "second", "name", "value", "low", "high", "n", "why", "profile", "options"]
    of_order = {"order", "without"}
    return header, [row + (made_by if row[0] in of_order else [None, None]) for row in rows]


# What is said of two raters, of one, and of a pair in dispute.
BOTH = ("agree", "within_one", "kappa", "linear", "quadratic")
EACH = ("ratings", "cannot", "mean", "bias", "spread", "agree")
SPREAD = ("lowest", "highest", "mean", "deviation")
