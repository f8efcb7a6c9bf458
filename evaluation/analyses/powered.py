"""Mean DCG of each system from a judge's sample, by people alone and with the judge: documents and rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

import numpy as np

from ratings.judges import gate
from ratings.models import JudgeSample, JudgeVersion

from .. import cache, record
from ..agreement import tau
from ..agreement.powered import LEVEL, Powered, Sampled, powered
from ..measures import Judgments, Measure, Options, Rankings, effective
from ..measures.arrays import DOCUMENT_BITS, pair_key
from ..measures.discounts import discount
from ..measures.gains import gain
from ..record.sql import index_of
from ..scores import fingerprint
from . import report

HEADER = ["measure", "options", "system", "less_system", "sampled", "pairs", "people", "people_low", "people_high",
          "with_machine", "with_machine_low", "with_machine_high", "factor", "saved", "machine_alone"]  # fmt: skip


@dataclass(frozen=True, eq=False)
class System:
    """A system's place in the pool that the sample was drawn from."""

    weight: np.ndarray  # float64[pairs], how much the gain of a pair counts in its mean DCG
    outside: int  # documents above the cutoff that are not in the pool

    def among(self, rows: np.ndarray) -> int:
        return int((self.weight[rows] != 0).sum())


@dataclass(frozen=True, eq=False)
class Estimates:
    """The pool with its sample, and the systems; or what is missing for an estimate."""

    measure: Measure
    fingerprint: str
    lacks: str = ""  # "drawn", "rated", "pool" or "asked"; the page has words for each
    number: int = 0  # of pairs, or of queries for "pool", that lack it
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
    """The estimates of mean DCG at the cutoff of `measure`, over the queries of the sample.

    A pair that nobody could judge gains nothing. Raises ValueError where options do not fit the grades.
    """
    options = effective(measure, options)
    found, judgments = cache.read(version.judge.collection, cache.Source(rule=rule, adjudications=adjudications))
    told = {"measure": measure, "fingerprint": fingerprint(options, rule, adjudications)}
    if not sample.drawn:
        return Estimates(**told, lacks="drawn")
    if number := gate.unrated(sample):
        return Estimates(**told, lacks="rated", number=number)
    pool = np.sort(pair_key(*record.pooled(version.judge.collection, found.queries)))
    drawn, chance = _drawn(sample, found)
    if (number := _changed(pool, drawn, chance)) or not len(drawn):
        return Estimates(**told, lacks="pool", number=number)
    query, document, grade = record.asked_of(version.pk, found.queries)
    asked = pair_key(query, document)
    if number := len(np.setdiff1d(pool, asked)):
        return Estimates(**told, lacks="asked", number=number)
    inside = np.isin(asked, pool)
    predicted = np.full(len(pool), np.nan)
    predicted[np.searchsorted(pool, asked[inside])] = np.where(
        np.isnan(grade[inside]), np.nan, gain(grade[inside], options)
    )
    queries, stratum = np.unique(_query_of(pool), return_inverse=True)
    systems = {
        name: _system(pool, queries, ranking, measure.cutoff, options) for name, ranking in found.rankings.items()
    }
    rows = np.searchsorted(pool, drawn)
    return Estimates(
        **told, sampled=Sampled(stratum, predicted, rows, _gains(judgments, drawn, options)), systems=systems
    )


def _drawn(sample: JudgeSample, found: record.Record) -> tuple[np.ndarray, np.ndarray]:
    """The keys of the sampled pairs, ascending, and their chances."""
    rows = np.array(sample.pairs.values_list("query", "document", "probability"), np.float64).reshape(-1, 3)
    key = pair_key(index_of(rows[:, 0].astype(np.int64), found.queries["pk"]), rows[:, 1])
    order = np.argsort(key)
    return key[order], rows[order, 2]


def _query_of(key: np.ndarray) -> np.ndarray:
    return key >> DOCUMENT_BITS


def _changed(pool: np.ndarray, drawn: np.ndarray, chance: np.ndarray) -> int:
    """Of how many queries the pool is not the one that the sample was drawn from."""
    queries, place, sampled = np.unique(_query_of(drawn), return_inverse=True, return_counts=True)
    now = np.searchsorted(_query_of(pool), [queries, queries + 1])
    then = np.round(sampled / chance[np.searchsorted(place, np.arange(len(queries)))])
    other = now[1] - now[0] != then
    other[place[~np.isin(drawn, pool)]] = True
    return int(other.sum()) + len(np.setdiff1d(_query_of(pool), queries))


def _gains(judgments: Judgments, drawn: np.ndarray, options: Options) -> np.ndarray:
    """float64[n]: 0 where nobody could judge the pair."""
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


def document(found: Estimates) -> dict:
    """The JSON document: the means of systems, highest first, and what each is below the highest."""
    whole = {"measure": str(found.measure), "options": found.fingerprint, "level": LEVEL}
    if found.lacks:
        return whole | {"lacks": found.lacks, "number": found.number, "systems": [], "differences": []}
    systems = sorted(means(found), key=_highest_first)
    known = [row for row in systems if row["with_machine"]]
    orders = [np.array([row[name]["value"] for row in known]) for name in ("people", "with_machine")]
    alone = np.array([row["machine_alone"] for row in known])
    return whole | {
        "lacks": "",
        "pairs": found.pairs,
        "sampled": len(found.sampled.rows),
        "queries": int(found.sampled.stratum.max(initial=-1)) + 1,
        "systems": systems,
        "differences": list(differences(found, [row["system"] for row in known])),
        "tau": {
            name: _number(tau(order, alone))
            for name, order in zip(("people", "with_machine"), orders, strict=True)
        },
    }


def _highest_first(row: dict) -> tuple[bool, float]:
    return (True, 0.0) if row["with_machine"] is None else (False, -row["with_machine"]["value"])


def means(found: Estimates) -> Iterator[dict]:
    """A row for each system; without numbers where some of its documents are not in the pool."""
    shared = _shared(found)
    for name, system in found.systems.items():
        row = {"system": name, "sampled": system.among(found.sampled.rows), "outside": system.outside}
        row["pairs"] = int((system.weight != 0).sum())
        if system.outside or not row["pairs"]:
            yield row | {"people": None, "with_machine": None, "saved": None, "machine_alone": None}
        else:
            alone = float(np.nansum(system.weight * found.sampled.predicted))
            yield row | _both(found, system.weight, shared) | {"machine_alone": alone}


def differences(found: Estimates, systems: list[str]) -> Iterator[dict]:
    """How far each system is below the first."""
    shared = _shared(found)
    for name in systems[1:]:
        weight = found.systems[systems[0]].weight - found.systems[name].weight
        yield {"system": systems[0], "less": name, **_both(found, weight, shared)}


def _shared(found: Estimates) -> np.ndarray:
    return sum((each.weight**2 for each in found.systems.values()), np.zeros(found.pairs))


def _both(found: Estimates, weight: np.ndarray, shared: np.ndarray) -> dict:
    """The estimate by people alone and with the machine, and what share of the width the machine saves."""
    alone, helped = (powered(found.sampled, weight, shared, machine) for machine in (False, True))
    saved = 1 - helped.width / alone.width if alone.width > 0 else np.nan
    return {
        "people": _facts(alone),
        "with_machine": _facts(helped),
        "factor": _number(helped.factor),
        "saved": _number(saved),
    }


def _facts(each: Powered) -> dict[str, float | None]:
    return {name: _number(getattr(each, name)) for name in ("value", "low", "high")}


def _number(value: float) -> float | None:
    return None if isnan(value) else float(value)


def table(whole: dict) -> report.Table:
    """The means and differences of `document` as rows of one shape."""

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
