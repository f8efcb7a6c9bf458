"""What the grades of a judge are worth beside those of people: documents and rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from ratings.models import JudgeSample, JudgeVersion, MachineGrade

from .. import cache, record
from ..agreement.machine import Both, Figure, bias_apart, confusion, figures
from ..draws import ALPHA, SEED
from ..measures.arrays import pair_key
from ..record import Opinions, Record
from . import report

TOP = 10  # ranks: a system's pairs are those that it has down to this one
FEWEST = 20  # pairs: of fewer no figure says much
HEADER = ["figure", "of", "pairs", "value", "low", "high", "drawn", "judge", "version", "model"]


@dataclass(frozen=True, eq=False)
class Against:
    """A version of a judge beside people, on the pairs of the judge's sample."""

    version: JudgeVersion
    sample: JudgeSample
    pairs: int  # of the sample
    rated: int  # of them, those with a person's grade
    answered: int  # those with a grade of the version
    both: Both
    pair: np.ndarray  # int64[n], the number of the pair of each row of `both`
    systems: dict[str, np.ndarray]  # bool[n]: the rows whose pair the system has in its first TOP places
    tags: dict[str, np.ndarray]  # bool[n]: the rows whose query has the tag
    repeated: int  # grades of pairs that were asked again
    repeated_same: int

    def count(self, rows: np.ndarray | None = None) -> int:
        """How many pairs have a grade of both."""
        return len(np.unique(self.pair if rows is None else self.pair[rows]))


def against_of(version: JudgeVersion) -> Against | None:
    """The latest sample of the judge with the grades of both; None where there is none."""
    sample = version.judge.samples.order_by("-pk").first()
    if sample is None:
        return None
    collection = version.judge.collection
    found, _ = cache.read(collection, cache.Source())
    opinions = record.opinions(collection)
    place = {pk: row for row, pk in enumerate(opinions.queries["pk"].tolist())}
    chance = {
        (place[query], document): probability or 1.0
        for query, document, probability in sample.pairs.values_list("query", "document", "probability")
    }
    graded = _grades(version, sample, place)
    rows = _rows(opinions, chance, graded)
    key = pair_key(rows["query"], rows["document"])
    numbers, pair, raters = np.unique(key, return_inverse=True, return_counts=True)
    scale = np.array(opinions.scale)
    both = Both(
        grades=scale,
        query=rows["query"],
        person=np.searchsorted(scale, rows["person"]),
        machine=np.searchsorted(scale, rows["machine"]),
        weight=rows["weight"] / raters[pair],  # a pair counts once, however many people graded it
    )
    again, same = _repeated(version)
    return Against(
        version=version,
        sample=sample,
        pairs=len(chance),
        rated=len(chance.keys() & set(zip(*_graded_pairs(opinions), strict=True))),
        answered=len(graded),
        both=both,
        pair=pair,
        systems={name: np.isin(key, _top(found, name)) for name in found.systems},
        tags=_tags(opinions, both.query),
        repeated=again,
        repeated_same=same,
    )


def _grades(version: JudgeVersion, sample: JudgeSample, place: dict[int, int]) -> dict[tuple[int, int], float]:
    sampled = MachineGrade.objects.filter(
        version=version, repeat=1, state=MachineGrade.State.GRADED, query__in=sample.pairs.values("query")
    )
    return {
        (place[query], document): float(value)
        for query, document, value in sampled.values_list("query", "document", "value")
        if query in place
    }


def _graded_pairs(opinions: Opinions) -> tuple[list[int], list[int]]:
    graded = ~np.isnan(opinions.grade)
    return opinions.query[graded].tolist(), opinions.document[graded].tolist()


def _rows(
    opinions: Opinions, chance: dict[tuple[int, int], float], graded: dict[tuple[int, int], float]
) -> dict[str, np.ndarray]:
    """The grades of people that have one of the machine beside them, by column."""
    scale, found = set(opinions.scale), []
    columns = (opinions.query.tolist(), opinions.document.tolist(), opinions.grade.tolist())
    for query, document, grade in zip(*columns, strict=True):
        machine = graded.get((query, document))
        if (query, document) in chance and machine in scale and not isnan(grade):
            found.append((query, document, grade, machine, 1 / chance[query, document]))
    types = {"query": int, "document": int, "person": float, "machine": float, "weight": float}
    table = list(zip(*found, strict=True)) or [()] * len(types)
    return {name: np.array(column, kind) for (name, kind), column in zip(types.items(), table, strict=True)}


def _top(found: Record, system: str) -> np.ndarray:
    top = found.rankings[system].top(TOP)
    return pair_key(top.query, top.documents)


def _tags(opinions: Opinions, query: np.ndarray) -> dict[str, np.ndarray]:
    tags = opinions.queries["tags"].tolist()
    every = sorted({tag for each in tags for tag in each})
    return {tag: np.isin(query, [row for row, each in enumerate(tags) if tag in each]) for tag in every}


def _repeated(version: JudgeVersion) -> tuple[int, int]:
    """How many answers there are to pairs that were asked before, and how many gave the first grade again."""
    grades = MachineGrade.objects.filter(version=version, state=MachineGrade.State.GRADED)
    first, again, same = {}, 0, 0
    for query, document, repeat, value in grades.order_by("query", "document", "repeat").values_list(
        "query", "document", "repeat", "value"
    ):
        if repeat == 1:
            first[query, document] = value
        elif (query, document) in first:
            again, same = again + 1, same + (first[query, document] == value)
    return again, same


# As files


def document(found: Against) -> dict:
    """The JSON document: counts, figures, confusion, bias by system and tag, repeats."""
    version, shares = found.version, confusion(found.both)
    counts = replace(found.both, weight=np.ones(len(found.both.query))).by_query.sum(axis=0).astype(int)
    return {
        "collection": version.judge.collection.slug,
        "judge": version.judge.name,
        "version": version.number,
        "model": version.model,
        "fingerprint": version.fingerprint,
        "drawn": found.sample.drawn,
        "sample_seed": found.sample.seed,
        "pairs": found.pairs,
        "rated": found.rated,
        "answered": found.answered,
        "compared": found.count(),
        "draws": ALPHA,
        "seed": SEED,
        "figures": {name: _figure(each) for name, each in figures(found.both).items()},
        "confusion": {
            "grades": found.both.grades.tolist(),
            "shares": [[None if isnan(share) else share for share in row] for row in shares.tolist()],
            "counts": counts.tolist(),
        },
        "systems": list(by_system(found)),
        "tags": list(by_tag(found)),
        "repeats": {"answers": found.repeated, "same": found.repeated_same},
    }


def by_system(found: Against) -> Iterator[dict]:
    """The bias on the first TOP places of each system, and whether it differs from that on all pairs."""
    apart = bias_apart(found.both, list(found.systems.values()))
    for (system, rows), other in zip(found.systems.items(), apart, strict=True):
        bias = figures(found.both.only(rows))["bias"]
        differs = found.count(rows) >= FEWEST and (other.low > 0 or other.high < 0)
        yield {
            "system": system,
            "pairs": found.count(rows),
            **_figure(bias),
            "apart": _figure(other),
            "differs": bool(differs),
        }


def by_tag(found: Against) -> Iterator[dict]:
    for tag, rows in found.tags.items():
        each = figures(found.both.only(rows))
        facts = {"tag": tag, "pairs": found.count(rows), **_figure(each["bias"])}
        yield facts | {"quadratic": _figure(each["quadratic"])}


def _figure(figure: Figure) -> dict[str, float | None]:
    return {name: None if isnan(value) else value for name, value in vars(figure).items()}


def table(whole: dict) -> report.Table:
    """The figures of `document` as rows of one shape."""
    end = [whole["drawn"], whole["judge"], whole["version"], whole["model"]]

    def row(name: str, of: str, pairs: int, figure: dict) -> list:
        return [name, of, pairs, figure["value"], figure["low"], figure["high"], *end]

    rows = [row(name, "all", whole["compared"], each) for name, each in whole["figures"].items()]
    rows += [row("bias", f"system {each['system']}", each["pairs"], each) for each in whole["systems"]]
    rows += [row("bias", f"tag {each['tag']}", each["pairs"], each) for each in whole["tags"]]
    return HEADER, rows
