"""Mean DCG of each system from a judge's sample, by people alone and with the judge, as documents and tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from ratings.models import JudgeSample, JudgeVersion

from .. import record
from ..agreement import tau
from ..agreement.powered import LEVEL, Powered, Sampled, powered
from ..measures import Judgments, Measure, Options, Rankings, effective
from ..measures.arrays import DOCUMENT_BITS, pair_key
from ..measures.discounts import discount
from ..measures.gains import gain
from ..page import documents
from ..record import cache
from ..record.sql import index_of
from ..scores import fingerprint

HEADER = ["measure", "options", "system", "less_system", "sampled", "pairs", "people", "people_low", "people_high",
          "with_machine", "with_machine_low", "with_machine_high", "factor", "saved", "machine_alone"]  # fmt: skip


@dataclass(frozen=True, eq=False)
class System:
    """A system's documents in the pool that the sample was drawn from."""

    weight: np.ndarray  # float64[pairs], the weight of a pair's gain in the mean DCG
    outside: int  # documents above the cutoff that are not in the pool


@dataclass(frozen=True, eq=False)
class Estimates:
    """The pool with its sample, and the systems; or what an estimate lacks."""

    measure: Measure
    fingerprint: str
    lacks: str = ""  # "drawn", "rated", "pool" or "asked"; the page explains each
    number: int = 0  # pairs that lack it; queries for "pool"
    sampled: Sampled | None = None
    systems: dict[str, System] | None = None

    @property
    def pairs(self) -> int:
        return len(self.sampled.stratum)


def estimates_of(
    version: JudgeVersion,
    sample: JudgeSample,
    measure: Measure,
    options: Options,
    rule: str = "mean",
    adjudications: str = "use",
) -> Estimates:
    """Estimates of mean DCG at the cutoff of `measure`, over the queries of the sample.

    A pair that nobody could judge has gain 0. ValueError where options do not fit the grades.
    """
    options = effective(measure, options)
    data, judgments = cache.read(version.judge.collection, cache.Source(rule=rule, adjudications=adjudications))
    facts = {"measure": measure, "fingerprint": fingerprint(options, rule, adjudications)}
    if not sample.drawn:
        return Estimates(**facts, lacks="drawn")
    if number := sample.unrated():
        return Estimates(**facts, lacks="rated", number=number)
    pool = np.sort(pair_key(*record.pooled(version.judge.collection, data.queries)))
    drawn, chance = _drawn(sample, data)
    if (number := _changed(pool, drawn, chance)) or not len(drawn):
        return Estimates(**facts, lacks="pool", number=number)
    query, document, grade = record.asked_of(version.pk, data.queries)
    asked = pair_key(query, document)
    if number := len(np.setdiff1d(pool, asked)):
        return Estimates(**facts, lacks="asked", number=number)
    inside = np.isin(asked, pool)
    predicted = np.full(len(pool), np.nan)
    predicted[np.searchsorted(pool, asked[inside])] = np.where(
        np.isnan(grade[inside]), np.nan, gain(grade[inside], options)
    )
    queries, stratum = np.unique(_query_of(pool), return_inverse=True)
    systems = {
        name: _system(pool, queries, ranking, measure.cutoff, options) for name, ranking in data.rankings.items()
    }
    rows = np.searchsorted(pool, drawn)
    return Estimates(
        **facts, sampled=Sampled(stratum, predicted, rows, _gains(judgments, drawn, options)), systems=systems
    )


def _drawn(sample: JudgeSample, data: record.Record) -> tuple[np.ndarray, np.ndarray]:
    """The keys of the sampled pairs, ascending, and their chances."""
    rows = np.array(sample.pairs.values_list("query", "document", "probability"), np.float64).reshape(-1, 3)
    key = pair_key(index_of(rows[:, 0].astype(np.int64), data.queries["pk"]), rows[:, 1])
    order = np.argsort(key)
    return key[order], rows[order, 2]


def _query_of(key: np.ndarray) -> np.ndarray:
    return key >> DOCUMENT_BITS


def _changed(pool: np.ndarray, drawn: np.ndarray, chance: np.ndarray) -> int:
    """The number of queries whose pool is no longer the one that the sample was drawn from."""
    queries, place, sampled = np.unique(_query_of(drawn), return_inverse=True, return_counts=True)
    now = np.searchsorted(_query_of(pool), [queries, queries + 1])
    then = np.round(sampled / chance[np.searchsorted(place, np.arange(len(queries)))])
    other = now[1] - now[0] != then
    other[place[~np.isin(drawn, pool)]] = True
    return int(other.sum()) + len(np.setdiff1d(_query_of(pool), queries))


def _gains(judgments: Judgments, drawn: np.ndarray, options: Options) -> np.ndarray:
    """The gain of each drawn pair, float64[n]; 0 where nobody could judge it."""
    if not len(judgments.key):
        return np.zeros(len(drawn))
    at = np.minimum(np.searchsorted(judgments.key, drawn), len(judgments.key) - 1)
    return gain(np.where(judgments.key[at] == drawn, judgments.grade[at], np.nan), options)


def _system(
    pool: np.ndarray, queries: np.ndarray, ranking: Rankings, cutoff: int | None, options: Options
) -> System:
    top = ranking if cutoff is None else ranking.top(cutoff)
    rank = np.arange(len(top.documents)) - np.repeat(top.offsets[:-1], top.length) + 1
    counted = np.isin(top.query, queries)
    key = pair_key(top.query, top.documents)[counted]
    inside = np.isin(key, pool)
    weight = np.zeros(len(pool))
    weight[np.searchsorted(pool, key[inside])] = discount(rank[counted][inside], options) / len(queries)
    return System(weight, int((~inside).sum()))


# As files


def document(estimates: Estimates) -> dict:
    """The JSON document: the means of systems, highest first, and the difference of each to the highest."""
    whole = {"measure": str(estimates.measure), "options": estimates.fingerprint, "level": LEVEL}
    if estimates.lacks:
        return whole | {"lacks": estimates.lacks, "number": estimates.number, "systems": [], "differences": []}
    rows = list(means(estimates))
    known = sorted(filter(itemgetter("with_machine"), rows), key=lambda row: -row["with_machine"]["value"])
    systems = [*known, *(row for row in rows if not row["with_machine"])]
    orders = [np.array([row[name]["value"] for row in known]) for name in ("people", "with_machine")]
    alone = np.array([row["machine_alone"] for row in known])
    return whole | {
        "lacks": "",
        "pairs": estimates.pairs,
        "sampled": len(estimates.sampled.rows),
        "queries": int(estimates.sampled.stratum.max(initial=-1)) + 1,
        "systems": systems,
        "differences": list(differences(estimates, [row["system"] for row in known])),
        "tau": {
            name: documents.known(tau(order, alone))
            for name, order in zip(("people", "with_machine"), orders, strict=True)
        },
    }


def means(estimates: Estimates) -> Iterator[dict]:
    """A row for each system; without numbers where some of its documents are not in the pool."""
    shared = _shared(estimates)
    for name, system in estimates.systems.items():
        weighted = system.weight != 0
        sampled = int(weighted[estimates.sampled.rows].sum())
        row = {"system": name, "sampled": sampled, "outside": system.outside, "pairs": int(weighted.sum())}
        if system.outside or not row["pairs"]:
            yield row | {"people": None, "with_machine": None, "saved": None, "machine_alone": None}
        else:
            alone = float(np.nansum(system.weight * estimates.sampled.predicted))
            yield row | _both(estimates, system.weight, shared) | {"machine_alone": alone}


def differences(estimates: Estimates, systems: list[str]) -> Iterator[dict]:
    """A row for each system but the first: how far it is below the first."""
    shared = _shared(estimates)
    for name in systems[1:]:
        weight = estimates.systems[systems[0]].weight - estimates.systems[name].weight
        yield {"system": systems[0], "less": name, **_both(estimates, weight, shared)}


def _shared(estimates: Estimates) -> np.ndarray:
    return sum((each.weight**2 for each in estimates.systems.values()), np.zeros(estimates.pairs))


def _both(estimates: Estimates, weight: np.ndarray, shared: np.ndarray) -> dict:
    """The estimate by people alone and with the machine, and the share of the width that the machine saves."""
    alone, helped = (powered(estimates.sampled, weight, shared, machine) for machine in (False, True))
    saved = 1 - helped.width / alone.width if alone.width > 0 else np.nan
    return {
        "people": _facts(alone),
        "with_machine": _facts(helped),
        "factor": documents.known(helped.factor),
        "saved": documents.known(saved),
    }


def _facts(each: Powered) -> dict[str, float | None]:
    return {name: documents.known(getattr(each, name)) for name in ("value", "low", "high")}


def table(whole: dict) -> documents.Table:
    """The CSV table: a row for each mean and difference of `document`."""

    def row(system: str, less: str, each: dict) -> list:
        spans = [
            each[name] and each[name][end]
            for name in ("people", "with_machine")
            for end in ("value", "low", "high")
        ]
        facts = [each.get("sampled"), each.get("pairs"), *spans, each.get("factor"), each["saved"]]
        return [whole["measure"], whole["options"], system, less, *facts, each.get("machine_alone")]

    rows = [row(each["system"], "", each) for each in whole["systems"]]
    return HEADER, rows + [row(each["system"], each["less"], each) for each in whole["differences"]]
