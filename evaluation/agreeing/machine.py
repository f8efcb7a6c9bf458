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
from ..significance.draws import ALPHA_DRAWS, SEED
from . import worth

TOP_RANKS = 10  # the pairs of a system are those in its first places
FEWEST_PAIRS = 20  # pairs: with fewer, a difference of bias is not reported
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
    systems: dict[str, np.ndarray]  # bool[n]: the rows whose pair the system has in its first TOP_RANKS places
    tags: dict[str, np.ndarray]  # bool[n]: the rows whose query has the tag
    # Of pairs that the version was asked again: `person` is its first grade, and `machine` a later one.
    again: Paired
    unsure: int  # how many later answers have a grade where the first answer has none, or the other way round

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


def _placed(rows: Iterable[tuple], place: Mapping[int, int], *names: str) -> pd.DataFrame:
    """Rows of query (pk), document and numbers as a frame with PAIR and `names`; the query is its `place`."""
    frame = pd.DataFrame(list(rows), columns=[*PAIR, *names]).astype(dict.fromkeys(names, np.float64))
    frame["query"] = frame["query"].map(place)
    return frame.dropna(subset="query").astype(dict.fromkeys(PAIR, np.int64))


def _top(data: Record, system: str) -> np.ndarray:
    top = data.rankings[system].top(TOP_RANKS)
    return pair_key(top.query, top.documents)


def _tags(opinions: Opinions, query: np.ndarray) -> dict[str, np.ndarray]:
    """The rows of each tag, bool[n]. query: int64[n], the places of their queries."""
    tags = opinions.queries["tags"].explode().dropna()
    return {tag: np.isin(query, tags.index[tags == tag]) for tag in sorted(set(tags))}


def _asked_again(version: JudgeVersion, scale: np.ndarray, place: dict[int, int]) -> dict:
    """The fields of `Against` on pairs asked again.

    `again`: the first grade beside each later one; `unsure`: how often only one of two answers was a grade.

    `repeat` of a grade of the machine counts from 1 how often the version was asked about the pair.
    scale: the grades, lowest first; place: the row of each query, by pk. One database query.
    """
    repeated = version.grades.filter(query=OuterRef("query"), document=OuterRef("document"), repeat__gt=1)
    answers = version.grades.filter(Exists(repeated)).exclude(state=MachineGrade.State.WAITING)
    # Without an answer, as after a timeout, a pair is asked again in any case: that is no second opinion.
    answers = answers.exclude(problem__in=UNANSWERED).order_by("query", "document", "repeat")
    rows = _placed(answers.values_list(*PAIR, "repeat", "value"), place, "repeat", "grade")
    # An answer without a grade of the scale gets nan.
    rows["grade"] = rows["grade"].where(rows["grade"].isin(scale))
    first, later = rows[rows["repeat"] == 1], rows[rows["repeat"] > 1]
    answered_twice = first.merge(later, on=PAIR, suffixes=("_first", "_later"))  # a row for each later answer
    grade_counts = answered_twice[["grade_first", "grade_later"]].notna().sum(axis=1)  # 0, 1 or 2
    graded_twice = answered_twice[grade_counts == 2]
    again = Paired(
        grades=scale,
        query=graded_twice["query"].to_numpy(),
        person=np.searchsorted(scale, graded_twice["grade_first"]),  # of the machine, too: see `Against.again`
        machine=np.searchsorted(scale, graded_twice["grade_later"]),
        weight=np.ones(len(graded_twice)),
    )
    return {"again": again, "unsure": int((grade_counts == 1).sum())}


# As files


def document(against: Against) -> dict:
    """The JSON document: counts, figures, confusion, bias by system and tag, repeats."""
    version = against.version
    shares = confusion(against.paired)
    probed = [result for _, results in probe_results(version.judge.collection, [version]) for result in results]
    unweighted = replace(against.paired, weight=np.ones(len(against.paired.query)))
    counts = unweighted.by_query.sum(axis=0).astype(int)
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
        "draws": ALPHA_DRAWS,
        "seed": SEED,
        "figures": {name: documents.numbers(figure) for name, figure in figures(against.paired).items()},
        "confusion": {
            "grades": against.paired.grades.tolist(),
            "shares": [list(map(documents.none_for_nan, row)) for row in shares.tolist()],
            "counts": counts.tolist(),
        },
        "systems": [{"system": name} | row for name, _, row in _by_group(against, against.systems)],
        "tags": [
            {"tag": name} | row | {"quadratic": documents.numbers(of_group["quadratic"])}
            for name, of_group, row in _by_group(against, against.tags)
        ],
        "repeats": _repeats(against),
        "probes": {
            "asked": sum(result.asked for result in probed),
            "through": sum(result.through for result in probed),
        },
        "circular": worth.circular(version.judge.collection.systems.order_by("name"), version.model),
    }
    return whole | {"use": worth.use_of(whole)}


def _repeats(against: Against) -> dict:
    """The JSON about pairs that were asked again: how often a later answer has the same grade as the first."""
    again = against.again
    of_again = figures(again)
    return {
        "answers": len(again.query),
        "same": int((again.person == again.machine).sum()),
        "unsure": against.unsure,
        "share": documents.numbers(of_again["same"]),
        "quadratic": documents.numbers(of_again["quadratic"]),
    }


def _by_group(against: Against, groups: dict[str, np.ndarray]) -> Iterator[tuple[str, dict[str, Figure], dict]]:
    """The name of each group of pairs, its figures, and the JSON of its bias.

    groups: bool[n] by name, which rows of `against.paired` are in the group. The JSON has `value`, `low` and
    `high` of the bias on the group; `apart`, the same of this bias minus that on all pairs; and `differs`, whether
    enough pairs were compared and the interval of `apart` excludes 0.
    """
    differences = bias_differences(against.paired, list(groups.values()))
    for (name, rows), difference in zip(groups.items(), differences, strict=True):
        pairs = against.count(rows)
        of_group = figures(against.paired.subset(rows))
        excludes_zero = difference.low > 0 or difference.high < 0  # False for nan
        bias = {
            "pairs": pairs,
            **documents.numbers(of_group["bias"]),
            "apart": documents.numbers(difference),
            "differs": pairs >= FEWEST_PAIRS and excludes_zero,
        }
        yield name, of_group, bias


def table(whole: dict) -> documents.Table:
    """The CSV table of `whole`, a JSON document by `document`: a row for each of its figures.

    The column `of` (see HEADER) says which pairs the figure is about: all, those of a system or tag, or those
    asked again.
    """
    last_cells = [whole["drawn"], whole["judge"], whole["version"], whole["model"]]

    def row(name: str, group: str, pairs: int, figure: dict) -> list:  # figure: with `value`, `low` and `high`
        return [name, group, pairs, figure["value"], figure["low"], figure["high"], *last_cells]

    rows = [row(name, "all", whole["compared"], figure) for name, figure in whole["figures"].items()]
    rows += [row("bias", f"system {bias['system']}", bias["pairs"], bias) for bias in whole["systems"]]
    rows += [row("bias", f"tag {bias['tag']}", bias["pairs"], bias) for bias in whole["tags"]]
    repeats = whole["repeats"]
    rows += [row(name, "asked again", repeats["answers"], repeats[name]) for name in ("share", "quadratic")]
    return HEADER, rows
