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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np

from ratings.models import Collection

from ..frozen import content
from ..frozen.content import Broken, Judged, Lines, Settings
from ..measures import Judgments, Measure, parse_measure
from ..measures.arrays import pair_key, pair_of
from ..record import InUse, Keys, Machine, Record
from ..record.drawn import DrawnRows, PoolRows, RoundRows
from ..scores.expected import Expected
from .report import expected_of_state
from .state import State

FACTS = ("born", "known", "skipped")

# To lines


def files(
    collection: Collection, settings: Settings, used: Sequence[InUse]
) -> Iterator[tuple[str, Iterator[str]]]:
    """The name and the lines of each of these files, in their order."""
    systems = tuple(settings.expected["systems"])
    aim = replace(settings.asked, measure=parse_measure(settings.expected["measures"][0]), systems=systems)
    state = State.of(collection, aim, used)
    keys = Keys([state.pool.document])
    yield content.POOL, pool_lines(state, keys)
    yield content.ROUNDS, round_lines(state, keys)
    if used:
        yield content.MACHINES, machine_lines(state, keys)


def pool_lines(state: State, keys: Keys) -> Iterator[str]:
    """The lines of pool.jsonl."""
    queries, names = _keys_of_pairs(state, keys)
    order = sorted(range(state.pool.pairs), key=lambda row: (state.pool.query[row], names[row]))
    for row in order:
        facts = {"born": int(state.born[row]), "known": int(state.known[row]), "skipped": bool(state.skipped[row])}
        yield content.as_line({"query": queries[row], "document": names[row]} | facts)


def round_lines(state: State, keys: Keys) -> Iterator[str]:
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


def machine_lines(state: State, keys: Keys) -> Iterator[str]:
    """The lines of machines.jsonl."""
    queries, names = _keys_of_pairs(state, keys)
    rows = np.flatnonzero(~np.isnan(state.pool.machine).all(axis=1))
    for row in sorted(rows.tolist(), key=lambda row: (state.pool.query[row], names[row])):
        grades = [None if np.isnan(grade) else grade for grade in state.pool.machine[row].tolist()]
        yield content.as_line({"query": queries[row], "document": names[row], "grades": grades})


def _keys_of_pairs(state: State, keys: Keys) -> tuple[list[str], list[str]]:
    """The key of the query and the key of the document of each pair."""
    of_query = state.record.queries["key"].tolist()
    queries = [of_query[place] for place in state.pool.number[state.pool.query].tolist()]
    return queries, keys.of(state.pool.document)


# From lines


def expected_in(settings: Settings, lines: Lines) -> dict[Measure, Expected]:
    """The expected means computed from these files, by measure. Raises Broken."""
    judged = Judged.read(settings, lines)
    pairs = list(content.read_objects(content.POOL, lines(content.POOL), "query document born known skipped"))
    for pair in pairs:
        numbers = judged.numbers[_place(judged, pair["query"])]
        numbers.setdefault(pair["document"], len(numbers))
    rankings = {
        system.system: judged.rankings(system, lines(system.run), settings.options.ties)
        for system in settings.systems
        if system.system in settings.expected["systems"]
    }
    data = Record("", judged.queries, tuple(rankings), ratings=None, values=None, rankings=rankings)
    key = _keys(judged, ((pair["query"], pair["document"]) for pair in pairs), content.POOL)
    rows = _pool_rows(pairs)
    rounds = list(_rounds(judged, lines, key, rows))
    graded = _machine_grades(settings, judged, lines)
    scale = np.array(settings.expected["scale"], np.float64)
    aims = [replace(settings.asked, measure=parse_measure(text)) for text in settings.expected["measures"]]
    states = (State.joined(data, judged.judgments, scale, aim, rows, key, rounds, graded) for aim in aims)
    return {aim.measure: expected_of_state(state, aim) for aim, state in zip(aims, states, strict=True)}


def _pool_rows(pairs: Sequence[dict]) -> PoolRows:
    """The pairs as rows of a record, numbered from 1 in place of pks. Nothing of them can be drawn any more."""
    born, known, skipped = (np.array([pair[name] for pair in pairs], np.int64) for name in FACTS)
    none, no = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), bool)
    return PoolRows(
        pair=np.arange(1, len(pairs) + 1),
        query=none,
        document=none,
        wanted=none,
        born=born,
        known=known,
        waiting=skipped == 0,
        retired=no,
        anchored=no,
    )


def _rounds(judged: Judged, lines: Lines, key: np.ndarray, rows: PoolRows) -> Iterator[RoundRows]:
    """The rounds as rows of a record. key: int64[rows], the pair_key of each row. Raises Broken."""
    number_of = dict(zip(key.tolist(), rows.pair.tolist(), strict=True))
    members = "round precision threshold greedy units"
    for line in content.read_objects(content.ROUNDS, lines(content.ROUNDS), members):
        drawn = [
            (query, document, unit, each["key"], each["rate"], within)
            for unit, each in enumerate(line["units"], 1)
            for query, document, within in each["pairs"]
        ]
        every = [(*pair, 0, np.nan, np.nan, np.nan) for pair in line["greedy"]] + drawn
        keys = _keys(judged, ((query, document) for query, document, *_ in every), content.ROUNDS)
        pair = np.array([number_of[each] for each in keys.tolist()], np.int64)
        unit, unit_key, rate, within = np.array([numbers for _, _, *numbers in every], np.float64).reshape(-1, 4).T
        yield RoundRows(
            number=line["round"],
            threshold=line["threshold"],
            precision=line["precision"],
            judged=0,
            rows=DrawnRows(pair, unit.astype(np.int64), unit_key, rate, within, rows.born[pair - 1]),
            triage=tuple(line.get("triage", ())),
        )


def _machine_grades(settings: Settings, judged: Judged, lines: Lines) -> dict[Machine, Judgments]:
    """The grades of each machine of the settings. Raises Broken."""
    if not settings.machines:
        return {}
    rows = list(content.read_objects(content.MACHINES, lines(content.MACHINES), "query document grades"))
    key = _keys(judged, ((row["query"], row["document"]) for row in rows), content.MACHINES)
    try:
        grades = np.array([row["grades"] for row in rows], np.float64).reshape(len(rows), len(settings.machines))
    except (TypeError, ValueError) as error:
        wanted = f"{len(settings.machines)} grades, each a number or null"
        raise Broken(f"{content.MACHINES}: not every line has {wanted}.") from error
    try:
        machines = [Machine(**members) for members in settings.machines]
    except TypeError as error:
        raise Broken(f"{content.SETTINGS}: a machine has a judge, version, model and sha256.") from error
    query, document = pair_of(key)
    graded = {}
    for machine, column in zip(machines, grades.T, strict=True):
        known = ~np.isnan(column)
        graded[machine] = Judgments(len(judged.queries), query[known], document[known], column[known])
    return graded


def _keys(judged: Judged, pairs: Iterable[tuple[str, str]], file: str) -> np.ndarray:
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
