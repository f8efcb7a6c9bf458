"""Expected values of a frozen evaluation: their inputs as canonical files, and the estimate from these.

    pool.jsonl    {"query", "document", "born", "known", "skipped"} of each pair: the number of rounds before it
                  came to the pool, the number of rounds before its judgment if it was judged in no round (else 0),
                  and whether it was drawn but nobody will judge it
    rounds.jsonl  {"round", "precision", "threshold", "greedy", "units"} of each round, oldest first. A unit is
                  {"key", "rate", "pairs"}. A pair is [query, document], in a unit [query, document, chance within
                  the unit]. "triage" has the names of machines whose grades changed the rates, if any
    machines.jsonl  {"query", "document", "grades"} of each pair with a machine grade: the grade of each machine of
                  the settings, null for none. Only where these are features of the model

The files follow the runs, and exist only where expected values were frozen.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np

from .. import record
from ..deciding import Expected, State
from ..deciding.report import expected_of_state
from ..expected import Round, pool_of
from ..expected.scope import refuse
from ..measures import Judgments, Measure, Options, effective
from ..measures.arrays import pair_key, pair_of
from ..record import Record
from ..scores import Asked, sampled_of
from . import content
from .content import Broken, Judged, Lines, Settings

FACTS = ("born", "known", "skipped")


@dataclass(frozen=True)
class FrozenMeans:
    """Expected means as they were frozen: `scores.ExpectedMeans` from JSON, whose members are the fields."""

    est: str
    estimated: str
    told: dict  # the facts
    rows: dict[str, dict]  # by system
    pairs: list[dict]  # the columns of `between`, with the systems as first and second

    @classmethod
    def of(cls, expected: Expected, systems: Sequence[str]) -> "FrozenMeans":
        rows = {name: expected.row(name) for name in systems}
        pairs = [
            {"first": first, "second": second} | expected.between(first, second)
            for first in systems
            for second in systems
            if first != second
        ]
        return cls(expected.est, expected.estimated, expected.facts(), rows, pairs)

    def row(self, system: str) -> dict[str, float | str | None]:
        return self.rows[system]

    def between(self, first: str, second: str) -> dict[str, float | str | None]:
        row = next(pair for pair in self.pairs if (pair["first"], pair["second"]) == (first, second))
        return {name: value for name, value in row.items() if name not in ("first", "second")}

    def facts(self) -> dict:
        return self.told


def outlooks_as_json(expected: Mapping[Measure, Expected], systems: Sequence[str]) -> dict[str, dict]:
    """The expected values by measure, in the form of `About.expected`."""
    return {str(measure): asdict(FrozenMeans.of(each, systems)) for measure, each in expected.items()}


def with_expected_values(measures: Iterable[Measure], options: Options) -> list[Measure]:
    """The measures for which expected values are defined. ValueError where there is none."""
    defined, first_error = [], None
    for measure in measures:
        try:
            refuse(measure, effective(measure, options))
            defined.append(measure)
        except ValueError as error:
            first_error = first_error or error
    if not defined:
        raise first_error or ValueError("there is no measure to expect a value of.")
    return defined


# To lines


def pool_lines(state: State, keys: record.Keys) -> Iterator[str]:
    """The lines of pool.jsonl."""
    queries, names = _keys_of_pairs(state, keys)
    order = sorted(range(state.pool.pairs), key=lambda row: (state.pool.query[row], names[row]))
    for row in order:
        facts = {"born": int(state.born[row]), "known": int(state.known[row]), "skipped": bool(state.skipped[row])}
        yield content.as_line({"query": queries[row], "document": names[row]} | facts)


def round_lines(state: State, keys: record.Keys) -> Iterator[str]:
    """The lines of rounds.jsonl."""
    queries, names = _keys_of_pairs(state, keys)
    for number, each, triage in zip(state.numbers, state.rounds, state.triage, strict=True):
        drawn = zip(each.unit.tolist(), each.drawn.tolist(), each.within.tolist(), strict=True)
        units = [
            {
                "key": float(each.keys[unit]),
                "rate": float(each.rate[unit]),
                "pairs": [[queries[row], names[row], within] for _, row, within in rows],
            }
            for unit, rows in groupby(drawn, key=itemgetter(0))
        ]
        threshold = float(each.keys[-1])
        yield content.as_line(
            {
                "round": number,
                "precision": float(each.precision),
                "threshold": None if np.isinf(threshold) else threshold,
                "greedy": [[queries[row], names[row]] for row in each.greedy.tolist()],
                "units": units,
                **({"triage": list(triage)} if triage else {}),
            }
        )


def machine_lines(state: State, keys: record.Keys) -> Iterator[str]:
    """The lines of machines.jsonl."""
    queries, names = _keys_of_pairs(state, keys)
    rows = np.flatnonzero(~np.isnan(state.pool.machine).all(axis=1))
    for row in sorted(rows.tolist(), key=lambda row: (state.pool.query[row], names[row])):
        grades = [None if np.isnan(grade) else grade for grade in state.pool.machine[row].tolist()]
        yield content.as_line({"query": queries[row], "document": names[row], "grades": grades})


def _keys_of_pairs(state: State, keys: record.Keys) -> tuple[list[str], list[str]]:
    """The key of the query and the key of the document of each pair."""
    of_query = state.record.queries["key"].tolist()
    queries = [of_query[place] for place in state.pool.number[state.pool.query].tolist()]
    return queries, keys.of(state.pool.document)


# From lines


def expected_in(asked: Settings, lines: Lines) -> dict[Measure, Expected]:
    """The expected values computed from these files, by measure; {} where none were frozen. Raises Broken."""
    if not asked.expected:
        return {}
    judged = Judged.read(asked, lines)
    pairs = list(content.read_objects(content.POOL, lines(content.POOL), "query document born known skipped"))
    for pair in pairs:
        numbers = judged.numbers[_place(judged, pair["query"])]
        numbers.setdefault(pair["document"], len(numbers))
    rankings = {
        system.system: judged.rankings(system, lines(system.run), asked.options.ties)
        for system in asked.systems
        if system.system in asked.expected["systems"]
    }
    data = Record("", judged.queries, tuple(rankings), ratings=None, values=None, rankings=rankings)
    members = "round precision threshold greedy units"
    rounds = list(content.read_objects(content.ROUNDS, lines(content.ROUNDS), members))
    graded = _machine_grades(asked, judged, lines)
    expected = {}
    for measure in map(content.parse_measure, asked.expected["measures"]):
        state = _state(asked, measure, judged, data, pairs, rounds, graded)
        aim = Asked(measure, asked.options, rule=asked.rule, adjudications=asked.adjudications)
        expected[measure] = expected_of_state(state, aim)
    return expected


def _machine_grades(asked: Settings, judged: Judged, lines: Lines) -> list[Judgments]:
    """The grades of each machine of the settings. Raises Broken."""
    if not asked.machines:
        return []
    rows = list(content.read_objects(content.MACHINES, lines(content.MACHINES), "query document grades"))
    key = _keys(judged, ((row["query"], row["document"]) for row in rows), content.MACHINES)
    each = [row["grades"] for row in rows]
    if not all(isinstance(row, list) and len(row) == len(asked.machines) for row in each):
        raise Broken(f"{content.MACHINES}: not every line has {len(asked.machines)} grades or null.")
    try:
        grades = np.array(each, np.float64).reshape(-1, len(asked.machines))
    except (TypeError, ValueError) as error:
        raise Broken(f"{content.MACHINES}: a grade is neither a number nor null.") from error
    queries = len(judged.queries)
    query, document = pair_of(key)
    return [
        Judgments(queries, query[known], document[known], column[known])
        for column, known in zip(grades.T, ~np.isnan(grades.T), strict=True)
    ]


def _state(
    asked: Settings,
    measure: Measure,
    judged: Judged,
    data: Record,
    pairs: list[dict],
    rounds: list[dict],
    graded: Sequence[Judgments],
) -> State:
    """The state of the pool from the rows of the files. Nothing of it can be drawn any more."""
    scale = np.array(asked.expected["scale"], np.float64)
    key = _keys(judged, ((pair["query"], pair["document"]) for pair in pairs))
    rankings = [*data.rankings.values()]
    sampled = sampled_of(judged.queries)
    pool, level = pool_of(
        judged.judgments,
        rankings,
        measure,
        asked.options,
        scale,
        unjudged=key,
        weight=sampled and sampled.searches,
    )
    if graded:
        pool = pool.with_machines(*graded)
    of_pool = pair_key(pool.number[pool.query], pool.document)
    order = np.argsort(key)
    at = np.minimum(np.searchsorted(key[order], of_pool), len(key) - 1)
    there = key[order][at] == of_pool
    born, known, skipped = (
        np.where(there, np.array([pair[name] for pair in pairs], np.int64)[order][at], 0) for name in FACTS
    )
    row_of = dict(zip(of_pool.tolist(), range(pool.pairs), strict=True))
    return State(
        record=data,
        judgments=judged.judgments,
        scale=scale,
        systems=tuple(data.rankings),
        pool=pool,
        level=level,
        pair=np.arange(pool.pairs),
        born=born,
        known=known,
        askable=np.zeros(pool.pairs, bool),
        eligible=np.zeros(pool.pairs, bool),
        undrawable=np.zeros(pool.pairs, bool),
        skipped=skipped > 0,
        rounds=tuple(_round(each, judged, row_of) for each in rounds),
        numbers=tuple(each["round"] for each in rounds),
        machines=_machines(asked),
        triage=tuple(tuple(each.get("triage", ())) for each in rounds),
    )


def _machines(asked: Settings) -> tuple[record.Machine, ...]:
    try:
        return tuple(record.Machine(**each) for each in asked.machines)
    except TypeError as error:
        raise Broken(f"{content.SETTINGS}: a machine has a judge, version, model and sha256.") from error


def _round(line: dict, judged: Judged, row_of: Mapping[int, int]) -> Round:
    """The round of a line of rounds.jsonl. row_of: the rows of the pool by pair_key."""
    units = line["units"]

    def rows(pairs: list[list]) -> np.ndarray:
        keys = _keys(judged, ((query, document) for query, document, *_ in pairs))
        return np.array([row_of[key] for key in keys.tolist()], np.int64)

    drawn = [pair for unit in units for pair in unit["pairs"]]
    threshold = np.inf if line["threshold"] is None else line["threshold"]
    return Round(
        greedy=rows(line["greedy"]),
        drawn=rows(drawn),
        unit=np.repeat(np.arange(len(units)), [len(unit["pairs"]) for unit in units]),
        within=np.array([within for *_, within in drawn], np.float64),
        rate=np.array([unit["rate"] for unit in units], np.float64),
        keys=np.array([*(unit["key"] for unit in units), threshold], np.float64),
        precision=line["precision"],
    )


def _keys(judged: Judged, pairs: Iterable[tuple[str, str]], file: str = content.ROUNDS) -> np.ndarray:
    """The pair_key of each (query, document). Raises Broken, with the name of the file that has the pairs."""
    places = []
    for query, document in pairs:
        place = _place(judged, query)
        if document not in judged.numbers[place]:
            raise Broken(f"{file}: document {document!r} of query {query!r} is not in {content.POOL}.")
        places.append((place, judged.numbers[place][document]))
    columns = np.array(places, np.int64).reshape(len(places), 2)
    return pair_key(columns[:, 0], columns[:, 1])


def _place(judged: Judged, query: str) -> int:
    if query not in judged.place:
        raise Broken(f"{content.POOL}: query {query!r} is not in {content.QUERIES}.")
    return judged.place[query]
