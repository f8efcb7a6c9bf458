"""Agreement of a judge's grades with those of people: JSON documents and CSV tables."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
from django.db.models import Exists, OuterRef

from ratings.models import UNANSWERED, JudgeSample, JudgeVersion, MachineGrade, probe_results

from .. import record
from ..agreement.machine import Figure, Paired, bias_differences, confusion, figures
from ..measures.arrays import pair_key
from ..page import documents
from ..record import Opinions, Record, cache
from ..significance.draws import ALPHA, SEED
from . import worth

TOP = 10  # ranks: the pairs of a system are those in its first places
FEWEST = 20  # pairs: with fewer, a difference of bias is not reported
HEADER = ["figure", "of", "pairs", "value", "low", "high", "drawn", "judge", "version", "model"]


@dataclass(frozen=True, eq=False)
class Against:
    """The grades of a version of a judge and those of people, on the pairs of the judge's sample."""

    version: JudgeVersion
    sample: JudgeSample
    pairs: int  # of the sample
    rated: int  # of them, those with a person's grade
    answered: int  # those with a grade of the version
    paired: Paired
    pair: np.ndarray  # int64[n], the number of the pair of each row of `paired`
    systems: dict[str, np.ndarray]  # bool[n]: the rows whose pair the system has in its first TOP places
    tags: dict[str, np.ndarray]  # bool[n]: the rows whose query has the tag
    again: Paired  # of pairs asked again: `person` is the version's first grade, `machine` a later one
    unsure: int  # later answers with a grade where the first answer has none, or the other way round

    def count(self, rows: np.ndarray | None = None) -> int:
        """The number of pairs with a grade of both, among `rows` (None: all)."""
        return len(np.unique(self.pair if rows is None else self.pair[rows]))


def against_of(version: JudgeVersion) -> Against | None:
    """The grades on the latest sample of the judge; None where there is no sample."""
    sample = version.judge.samples.order_by("-pk").first()
    if sample is None:
        return None
    collection = version.judge.collection
    data, _ = cache.read(collection, cache.Source())
    opinions = record.opinions(collection)
    place = {pk: row for row, pk in enumerate(opinions.queries["pk"].tolist())}
    chance = {
        (place[query], document): probability or 1.0
        for query, document, probability in sample.pairs.values_list("query", "document", "probability")
    }
    by_people = ~np.isnan(opinions.grade)
    people = set(zip(opinions.query[by_people].tolist(), opinions.document[by_people].tolist(), strict=True))
    graded = _grades(version, sample, place)
    rows = _rows(opinions, chance, graded)
    key = pair_key(rows["query"], rows["document"])
    numbers, pair, raters = np.unique(key, return_inverse=True, return_counts=True)
    scale = np.array(opinions.scale)
    paired = Paired(
        grades=scale,
        query=rows["query"],
        person=np.searchsorted(scale, rows["person"]),
        machine=np.searchsorted(scale, rows["machine"]),
        weight=rows["weight"] / raters[pair],  # a pair counts once, however many people graded it
    )
    return Against(
        version=version,
        sample=sample,
        pairs=len(chance),
        rated=len(chance.keys() & people),
        answered=len(graded),
        paired=paired,
        pair=pair,
        systems={name: np.isin(key, _top(data, name)) for name in data.systems},
        tags=_tags(opinions, paired.query),
        **_asked_again(version, scale, place),
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


def _rows(
    opinions: Opinions, chance: dict[tuple[int, int], float], graded: dict[tuple[int, int], float]
) -> np.ndarray:
    """The grades of people for pairs that the machine graded, too, as a structured array.

    chance, graded: by (query, document), the chance to be drawn and the grade of the machine.
    """
    scale, rows = set(opinions.scale), []
    columns = (opinions.query.tolist(), opinions.document.tolist(), opinions.grade.tolist())
    for query, document, grade in zip(*columns, strict=True):
        machine = graded.get((query, document))
        if (query, document) in chance and machine in scale and not isnan(grade):
            rows.append((query, document, grade, machine, 1 / chance[query, document]))
    fields = [("query", int), ("document", int), ("person", float), ("machine", float), ("weight", float)]
    return np.array(rows, fields)


def _top(data: Record, system: str) -> np.ndarray:
    top = data.rankings[system].top(TOP)
    return pair_key(top.query, top.documents)


def _tags(opinions: Opinions, query: np.ndarray) -> dict[str, np.ndarray]:
    tags = opinions.queries["tags"].tolist()
    every = sorted({tag for each in tags for tag in each})
    return {tag: np.isin(query, [row for row, each in enumerate(tags) if tag in each]) for tag in every}


def _asked_again(version: JudgeVersion, scale: np.ndarray, place: dict[int, int]) -> dict:
    """The fields again and unsure of `Against`. One database query."""
    repeated = version.grades.filter(query=OuterRef("query"), document=OuterRef("document"), repeat__gt=1)
    answers = version.grades.filter(Exists(repeated)).exclude(state=MachineGrade.State.WAITING)
    rows = answers.exclude(problem__in=UNANSWERED).order_by("query", "document", "repeat")
    first_grade, graded_twice, unsure, known = {}, [], 0, set(scale.tolist())
    for query, document, repeat, value in rows.values_list("query", "document", "repeat", "value"):
        grade = None if value is None or float(value) not in known else float(value)
        if repeat == 1:
            first_grade[query, document] = grade
        elif (query, document) in first_grade and query in place:
            first = first_grade[query, document]
            if first is not None and grade is not None:
                graded_twice.append((place[query], first, grade))
            elif first is not None or grade is not None:
                unsure += 1
    places, firsts, laters = np.array(graded_twice, np.float64).reshape(-1, 3).T
    levels, later_levels = np.searchsorted(scale, firsts), np.searchsorted(scale, laters)
    again = Paired(scale, places.astype(int), levels, later_levels, np.ones(len(graded_twice)))
    return {"again": again, "unsure": unsure}


# As files


def document(against: Against) -> dict:
    """The JSON document: counts, figures, confusion, bias by system and tag, repeats."""
    version, shares = against.version, confusion(against.paired)
    probed = [each for _, of in probe_results(version.judge.collection, [version]) for each in of]
    counts = replace(against.paired, weight=np.ones(len(against.paired.query))).by_query.sum(axis=0).astype(int)
    whole = {
        "collection": version.judge.collection.slug,
        "judge": version.judge.name,
        "version": version.number,
        "model": version.model,
        "fingerprint": version.fingerprint,
        "drawn": against.sample.drawn,
        "sample_seed": against.sample.seed,
        "pairs": against.pairs,
        "rated": against.rated,
        "answered": against.answered,
        "compared": against.count(),
        "queries": len(np.unique(against.paired.query)),
        "draws": ALPHA,
        "seed": SEED,
        "figures": {name: documents.numbers(each) for name, each in figures(against.paired).items()},
        "confusion": {
            "grades": against.paired.grades.tolist(),
            "shares": [list(map(documents.known, row)) for row in shares.tolist()],
            "counts": counts.tolist(),
        },
        "systems": [{"system": name} | row for name, _, row in _by_group(against, against.systems)],
        "tags": [
            {"tag": name} | row | {"quadratic": documents.numbers(each["quadratic"])}
            for name, each, row in _by_group(against, against.tags)
        ],
        "repeats": _repeats(against),
        "probes": {
            "asked": sum(each.asked for each in probed),
            "through": sum(each.through for each in probed),
        },
        "circular": worth.circular(version.judge.collection.systems.order_by("name"), version.model),
    }
    return whole | {"use": worth.use_of(whole)}


def _repeats(against: Against) -> dict:
    """The JSON about pairs that were asked again: how often a later answer has the same grade as the first."""
    again, each = against.again, figures(against.again)
    return {
        "answers": len(again.query),
        "same": int((again.person == again.machine).sum()),
        "unsure": against.unsure,
        "share": documents.numbers(each["same"]),
        "quadratic": documents.numbers(each["quadratic"]),
    }


def _by_group(against: Against, groups: dict[str, np.ndarray]) -> Iterator[tuple[str, dict[str, Figure], dict]]:
    """The name of each group, its figures, and the JSON of its bias.

    groups: rows of `against.paired` by name, bool[n]. The JSON has the bias on the group, `apart`, which is that
    minus the bias on all pairs, and `differs`, whether the interval of `apart` excludes 0.
    """
    differences = bias_differences(against.paired, list(groups.values()))
    for (name, rows), difference in zip(groups.items(), differences, strict=True):
        pairs, of_group = against.count(rows), figures(against.paired.subset(rows))
        excludes_zero = difference.low > 0 or difference.high < 0
        bias = {
            "pairs": pairs,
            **documents.numbers(of_group["bias"]),
            "apart": documents.numbers(difference),
            "differs": pairs >= FEWEST and excludes_zero,
        }
        yield name, of_group, bias


def table(whole: dict) -> documents.Table:
    """The CSV table: a row for each figure of `document`."""
    end = [whole["drawn"], whole["judge"], whole["version"], whole["model"]]

    def row(name: str, of: str, pairs: int, figure: dict) -> list:
        return [name, of, pairs, figure["value"], figure["low"], figure["high"], *end]

    rows = [row(name, "all", whole["compared"], each) for name, each in whole["figures"].items()]
    rows += [row("bias", f"system {each['system']}", each["pairs"], each) for each in whole["systems"]]
    rows += [row("bias", f"tag {each['tag']}", each["pairs"], each) for each in whole["tags"]]
    repeats = whole["repeats"]
    rows += [row(name, "asked again", repeats["answers"], repeats[name]) for name in ("share", "quadratic")]
    return HEADER, rows
