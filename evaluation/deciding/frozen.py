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

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ratings.models import Collection

from ..frozen import content
from ..frozen.content import Judged, Lines, Settings
from ..measures import Judgments, Measure, parse_measure
from ..measures.arrays import pair_key, pair_of
from ..page.documents import none_for_nan
from ..record import InUse, Keys, Machine, Record
from ..record.drawn import DrawnRows, PoolRows, RoundRows
from ..scores.expected import Expected
from .report import expected_of_state
from .state import State

# To lines


def files(
    collection: Collection, settings: Settings, used: Sequence[InUse]
) -> Iterator[tuple[str, Iterator[str]]]:
    """(name, lines) of each file with inputs of expected values: pool, rounds, and machines if any are `used`.

    used: the machines whose grades are features of the model.
    """
    systems = tuple(settings.expected["systems"])
    # The files are the same for each of the measures, so they are made from the state for the first one.
    aim = replace(settings.asked, measure=parse_measure(settings.expected["measures"][0]), systems=systems)
    state = State.of(collection, aim, used)
    keys = Keys([state.pool.document])  # the keys of the pool's documents, by pk: lines have no pks
    yield content.POOL, pool_lines(state, keys)
    yield content.ROUNDS, round_lines(state, keys)
    if used:
        yield content.MACHINES, machine_lines(state, keys)


def pool_lines(state: State, keys: Keys) -> Iterator[str]:
    """The lines of pool.jsonl."""
    pairs = _pairs(state, keys)
    for row in _in_order(state, pairs):
        query, document = pairs[row]
        facts = {"born": int(state.born[row]), "known": int(state.known[row]), "skipped": bool(state.skipped[row])}
        yield content.as_line({"query": query, "document": document} | facts)


def round_lines(state: State, keys: Keys) -> Iterator[str]:
    """The lines of rounds.jsonl, one for each round: see the module docstring.

    `greedy` are the pairs that were taken for sure; all others were drawn at random. A unit is a group of pairs of
    one query that were drawn together by one random key, with the sampling rate `rate`: the units with the least
    keys were drawn, and the threshold is the least key of those that were not. `within` is the chance of a pair
    within its unit, and `triage` has the names of machines whose grades changed the rates.
    """
    pairs = _pairs(state, keys)  # (key of query, key of document) by row of the pool
    for number, round_, triage in zip(state.numbers, state.rounds, state.triage, strict=True):
        *keys_of_units, threshold = round_.keys.tolist()  # threshold: inf where all units were drawn
        units: list[dict[str, Any]] = [
            {"key": key, "rate": float(rate), "pairs": []}
            for key, rate in zip(keys_of_units, round_.rate, strict=True)
        ]
        for unit, row, within in zip(round_.unit.tolist(), round_.drawn.tolist(), round_.within, strict=True):
            units[unit]["pairs"].append([*pairs[row], float(within)])
        line: dict[str, Any] = {
            "round": number,
            "precision": float(round_.precision),
            "threshold": None if np.isinf(threshold) else threshold,
            "greedy": [pairs[row] for row in round_.greedy.tolist()],
            "units": units,
        }
        if triage:
            line["triage"] = triage
        yield content.as_line(line)


def machine_lines(state: State, keys: Keys) -> Iterator[str]:
    """The lines of machines.jsonl."""
    pairs = _pairs(state, keys)
    for row in _in_order(state, pairs):
        query, document = pairs[row]
        grades = list(map(none_for_nan, state.pool.machine[row]))
        if grades.count(None) < len(grades):
            yield content.as_line({"query": query, "document": document, "grades": grades})


def _pairs(state: State, keys: Keys) -> list[tuple[str, str]]:
    """The keys of query and document of each pair."""
    of_query = state.record.queries["key"].tolist()
    queries = [of_query[place] for place in state.pool.number[state.pool.query].tolist()]
    return list(zip(queries, keys.of(state.pool.document), strict=True))


def _in_order(state: State, pairs: Sequence[tuple[str, str]]) -> list[int]:
    """The rows of the pool, query after query, each by the keys of documents."""
    return sorted(range(len(pairs)), key=lambda row: (state.pool.query[row], pairs[row][1]))


# From lines


def expected_in(settings: Settings, lines: Lines) -> dict[Measure, Expected]:
    """The expected means computed from the files of a frozen evaluation alone, by measure.

    The files have the pool and its rounds: which pairs were drawn to be judged, and by what chances. They name
    documents by their keys. Arrays need numbers: documents are numbered anew, within each query. lines: gives the
    lines of a file by its name.
    """
    judged = Judged.read(settings, lines)
    pairs = list(map(json.loads, lines(content.POOL)))
    # `judged` numbers the judged documents of each query. Those of the pool get the next numbers, before
    # `judged.rankings` gives the numbers after these to all other documents.
    _number_pool(judged, pairs)
    rankings = {
        system.system: judged.rankings(system, lines(system.run))
        for system in settings.systems
        if system.system in settings.expected["systems"]
    }
    left_out = settings.left_out_queries
    # "": no collection. None, None: the ratings and their values, which files do not have, either. Judgments are
    # passed beside the record.
    record = Record("", judged.queries, tuple(rankings), None, None, rankings, left_out_queries=left_out)
    # Both have a row for each of `pairs`, in their order. A key is one number for query and document.
    pair_keys = _keys(judged, ((pair["query"], pair["document"]) for pair in pairs))
    pool_rows = _pool_rows(pairs)
    rounds = list(_rounds(judged, lines, pair_keys, pool_rows))
    graded = _machine_grades(settings, judged, lines)
    scale = np.array(settings.expected["scale"], np.float64)
    expected = {}
    for text in settings.expected["measures"]:
        aim = replace(settings.asked, measure=parse_measure(text))
        state = State.joined(
            record, judged.judgments, scale, aim, rows=pool_rows, key=pair_keys, rounds=rounds, graded=graded
        )
        expected[aim.measure] = expected_of_state(state, aim)
    return expected


def _number_pool(judged: Judged, pairs: Sequence[dict]) -> None:
    """Give a number, in `judged` itself, to the documents of the pool that nobody judged."""
    for pair in pairs:
        numbers = judged.numbers[judged.place[pair["query"]]]
        numbers.setdefault(pair["document"], len(numbers))


def _pool_rows(pairs: Sequence[dict]) -> PoolRows:
    """The pairs of pool.jsonl as rows of a record, in its order, with numbers from 1 in place of pks.

    `State` reads from them which drawn pairs were skipped, and when pairs were born and known: how many rounds
    there were before a pair came to the pool, and before it was judged outside rounds.
    """
    names = ("born", "known", "skipped")
    born, known, skipped = (np.array([pair[name] for pair in pairs], np.int64) for name in names)
    zeros = np.zeros(len(pairs), np.int64)
    return PoolRows(
        pair=np.arange(1, len(pairs) + 1),
        query=zeros,  # `State.joined` reads neither query nor document: their pair_key is passed beside
        document=zeros,
        wanted=zeros,  # read only to draw more pairs, as `anchored` is
        born=born,
        known=known,
        waiting=skipped == 0,  # `State` takes a drawn unjudged pair as skipped where this is false
        retired=zeros.astype(bool),
        anchored=zeros.astype(bool),
    )


def _rounds(judged: Judged, lines: Lines, pool_keys: np.ndarray, rows: PoolRows) -> Iterator[RoundRows]:
    """The rounds of rounds.jsonl as rows of a record.

    rows: the pairs of the pool; pool_keys: int64[rows], the pair_key of each. A greedy pair, which was taken for
    sure, has the unit 0, and nan as key, rate and chance. Pairs that were drawn at random have units from 1. The
    key of a unit is random, by its sampling rate: the units with the least keys were drawn.
    """
    pair_by_key = dict(zip(pool_keys.tolist(), rows.pair.tolist(), strict=True))
    for line in map(json.loads, lines(content.ROUNDS)):
        pairs = list(line["greedy"])  # (query, document) of all pairs of the round
        numbers = [(0, np.nan, np.nan, np.nan)] * len(pairs)  # unit, its key and rate, the chance within the unit
        for unit_number, unit in enumerate(line["units"], 1):
            for query, document, within in unit["pairs"]:
                pairs.append((query, document))
                numbers.append((unit_number, unit["key"], unit["rate"], within))
        pair = np.array([pair_by_key[key] for key in _keys(judged, pairs).tolist()], np.int64)
        units, unit_keys, rates, within_unit = np.array(numbers, np.float64).reshape(-1, 4).T
        # How many rounds there were before each pair came to the pool. Pairs are numbered from 1.
        born = rows.born[pair - 1]
        yield RoundRows(
            number=line["round"],
            threshold=line["threshold"],
            precision=line["precision"],
            judged=0,  # not in the file, and not read here
            rows=DrawnRows(pair, units.astype(np.int64), unit_keys, rates, within_unit, born),
            triage=tuple(line.get("triage", ())),
        )


def _machine_grades(settings: Settings, judged: Judged, lines: Lines) -> dict[Machine, Judgments]:
    """The grades in machines.jsonl by machine; {} without machines in the settings, and so without the file."""
    if not settings.machines:
        return {}
    rows = list(map(json.loads, lines(content.MACHINES)))
    query, document = pair_of(_keys(judged, ((row["query"], row["document"]) for row in rows)))
    grades = np.array([row["grades"] for row in rows], np.float64).reshape(len(rows), len(settings.machines))
    by_machine = {}
    for members, column in zip(settings.machines, grades.T, strict=True):  # members: the fields of a Machine
        has_grade = ~np.isnan(column)
        judgments = Judgments(len(judged.queries), query[has_grade], document[has_grade], column[has_grade])
        by_machine[Machine(**members)] = judgments
    return by_machine


def _keys(judged: Judged, pairs: Iterable[tuple[str, str]]) -> np.ndarray:
    """The pair_key of each (query, document), int64[pairs]."""
    places = []
    for query, document in pairs:
        place = judged.place[query]
        places.append((place, judged.numbers[place][document]))
    return pair_key(*np.array(places, np.int64).reshape(-1, 2).T)
