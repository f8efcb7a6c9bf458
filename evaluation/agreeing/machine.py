"""Agreement of a judge's grades with those of people: JSON documents and CSV tables."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from django.db.models import Exists, OuterRef

from ratings.models import UNANSWERED, JudgeSample, JudgeVersion, MachineGrade, probe_results

from ..agreement.machine import Figure, Paired, bias_differences, confusion, figures
from ..measures.arrays import pair_key
from ..page import documents
from ..record import Opinions, Record, cache
from ..significance.draws import ALPHA, SEED
from . import worth

TOP = 10  # ranks: the pairs of a system are those in its first places
FEWEST = 20  # pairs: with fewer, a difference of bias is not reported
PAIR = ["query", "document"]
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
    opinions = cache.opinions(collection)
    place = {pk: row for row, pk in enumerate(opinions.queries["pk"].tolist())}
    people = pd.DataFrame({"query": opinions.query, "document": opinions.document, "person": opinions.grade})
    people = people.dropna()  # "cannot judge" is no grade
    sampled = _placed(sample.pairs.values_list("query", "document", "probability"), place, "chance")
    graded = MachineGrade.objects.filter(
        version=version, repeat=1, state=MachineGrade.State.GRADED, query__in=sample.pairs.values("query")
    )
    machine = _placed(graded.values_list("query", "document", "value"), place, "machine")
    scale = np.array(opinions.scale)
    rows = people.merge(sampled, on=PAIR)
    rated = len(rows[PAIR].drop_duplicates())
    rows = rows.merge(machine[machine["machine"].isin(scale)], on=PAIR)
    key = pair_key(rows["query"].to_numpy(), rows["document"].to_numpy())
    _, pair, raters = np.unique(key, return_inverse=True, return_counts=True)
    paired = Paired(
        grades=scale,
        query=rows["query"].to_numpy(),
        person=np.searchsorted(scale, rows["person"]),
        machine=np.searchsorted(scale, rows["machine"]),
        # A pair counts once, however many people graded it. A sample that was not drawn has no chances.
        weight=1 / rows["chance"].fillna(1.0).to_numpy() / raters[pair],
    )
    return Against(
        version=version,
        sample=sample,
        pairs=len(sampled),
        rated=rated,
        answered=len(machine),
        paired=paired,
        pair=pair,
        systems={name: np.isin(key, _top(data, name)) for name in data.systems},
        tags=_tags(opinions, paired.query),
        **_asked_again(version, scale, place),
    )


def _placed(rows: Iterable[tuple], place: Mapping[int, int], name: str) -> pd.DataFrame:
    """Rows of query (pk), document and a number as a frame with PAIR and `name`; the query is its `place`."""
    frame = pd.DataFrame(list(rows), columns=[*PAIR, name]).astype({name: np.float64})
    frame["query"] = frame["query"].map(place)
    return frame.dropna(subset="query").astype(dict.fromkeys(PAIR, np.int64))


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
