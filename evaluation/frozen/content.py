"""The inputs of an evaluation as text files in canonical form, and their hash. No Django.

    settings.json     measures, options, rule, adjudications, the interval, systems and their runs, and "count",
                      "chance" and "stratum" of each query that was drawn from a log, but left out
    queries.jsonl     {"query", "text", "weight"}, in the natural order of keys; of a query that was drawn from a
                      log "count", "chance" and "stratum", too
    qrels.txt         "query 0 document grade", by query and then by document, in the order of code points
    judgments.jsonl   {"query", "document", "grade"} instead of qrels, where a grade is negative or no whole number
    runs/1-bm25.run   "query Q0 document rank score tag", a file for each system, in the order of their names
    pool.jsonl        the pairs of the pool, where expected values were frozen: see `expected`
    rounds.jsonl      the rounds that were drawn, where expected values were frozen
    machines.jsonl    the grades of machines, where they are features of the model of expected values

All is UTF-8 with \\n at the end of every line. Numbers are written as Python's repr writes them, whole grades
without a point. The hash of an evaluation is the SHA-256 of these lines, one for each file in the order above:

    <SHA-256 of the file in hex><two blanks><name of the file>\\n

This is what `sha256sum` prints, so anybody can compute the hash from the files of a bundle. It does not depend on
database ids, on the name of the collection, or on the time and the person of the freezing.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import groupby
from operator import itemgetter

import numpy as np
import pandas as pd

from ..measures import Judgments, Measure, Options, Rankings, parse_measure
from ..scores import Asked

FORMAT = 1
WITH_MACHINES = 2  # expected values with machines: a reader of format 1 would leave the machines out
SETTINGS, QUERIES, QRELS, GRADES = "settings.json", "queries.jsonl", "qrels.txt", "judgments.jsonl"
POOL, ROUNDS, MACHINES = "pool.jsonl", "rounds.jsonl", "machines.jsonl"
PIECE_BYTES = 1 << 20  # bytes of text in a compressed part

BLANK = re.compile(r"\s+")  # not allowed in the system's column of a run
UNFIT = re.compile(r"[^A-Za-z0-9._-]+")  # not allowed in a file name

Lines = Callable[[str], Iterator[bytes]]  # from the name of a file to its lines, each with its \n


class Broken(ValueError):
    """A bundle or stored content that cannot be used: the message says why."""


@dataclass(frozen=True)
class System:
    """A system and its run file."""

    system: str  # name
    run: str  # name of the file
    tag: str  # run tag in the file
    empty: tuple[str, ...] = ()  # queries with an empty ranking, which has no line but is not missing
    gaps: bool = False  # whether a query without a ranking has no value, since the system did not answer it

    def as_json(self) -> dict:
        """The entry in settings.json. Systems without gaps have the entry that all had before there were any."""
        entry = asdict(self)
        if not self.gaps:
            del entry["gaps"]
        return entry


@dataclass(frozen=True)
class Settings:
    """The settings of an evaluation, which together with the files determine all numbers."""

    measures: tuple[Measure, ...]
    options: Options
    rule: str
    adjudications: str
    interval: dict  # level, draws and seed of the bootstrap
    judgments: str  # QRELS or GRADES
    systems: tuple[System, ...]
    # Where expected values were frozen: their measures and systems, the grades of the scale, and the machines with
    # grades as features of the model.
    expected: dict = field(default_factory=dict)
    left_out: int = 0  # how many raters were left out
    left_out_queries: tuple[dict, ...] = ()  # as in `Record`

    @property
    def asked(self) -> Asked:
        """The settings of the first measure, as pages have them."""
        return Asked(
            self.measures[0],
            self.options,
            rule=self.rule,
            adjudications=self.adjudications,
            left_out=self.left_out,
        )

    def as_text(self) -> str:
        """The text of settings.json."""
        members = {
            "format": WITH_MACHINES if self.machines else FORMAT,
            "measures": list(map(str, self.measures)),
            "options": self.options.as_dict(),
            "rule": self.rule,
            "adjudications": self.adjudications,
            "interval": self.interval,
            "judgments": self.judgments,
            "systems": [system.as_json() for system in self.systems],
        }
        # Left out where empty, so that the hash stays that of versions without them.
        if self.expected:
            members["expected"] = self.expected
        if self.left_out:
            members["left_out"] = self.left_out
        if self.left_out_queries:
            members["left_out_queries"] = self.left_out_queries
        return json.dumps(members, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def parse(cls, text: str) -> "Settings":
        """The settings from the text of settings.json. Raises Broken for those of a newer Idealist."""
        members = json.loads(text)
        if members["format"] not in (FORMAT, WITH_MACHINES):
            raise Broken(f"{SETTINGS}: format {members['format']!r} is not known here; a newer Idealist reads it.")
        return cls(
            measures=tuple(map(parse_measure, members["measures"])),
            options=Options.parse(**members["options"]),
            rule=members["rule"],
            adjudications=members["adjudications"],
            interval=members["interval"],
            judgments=members["judgments"],
            systems=tuple(System(**row | {"empty": tuple(row["empty"])}) for row in members["systems"]),
            expected=members.get("expected", {}),
            left_out=members.get("left_out", 0),
            left_out_queries=tuple(members.get("left_out_queries", ())),
        )

    @property
    def machines(self) -> list[dict]:
        """The machines whose grades are features of the model, in the order of their grades in the file."""
        return self.expected.get("machines", [])

    @property
    def names(self) -> list[str]:
        """The names of the canonical files, in their order."""
        names = [SETTINGS, QUERIES, self.judgments, *(system.run for system in self.systems)]
        if self.expected:
            names += [POOL, ROUNDS]
        if self.machines:
            names.append(MACHINES)
        return names


@dataclass(frozen=True)
class File:
    """A canonical file as it was written."""

    name: str
    lines: int
    bytes: int
    sha256: str


def hash_of(files: Iterable[File]) -> str:
    """The hash of an evaluation with these files: see above."""
    return hashlib.sha256("".join(f"{file.sha256}  {file.name}\n" for file in files).encode()).hexdigest()


def systems_of(names: Iterable[str]) -> list[System]:
    """The systems with these names, in this order, each with its run file and tag, without empty rankings."""
    systems = []
    for number, name in enumerate(names, 1):
        file = UNFIT.sub("-", name).strip("-.")[:60] or "system"
        systems.append(System(name, run=f"runs/{number}-{file}.run", tag=BLANK.sub("_", name)))
    return systems


def pieces_of(groups: Iterable[str]) -> Iterator[bytes]:
    """The groups of whole lines as pieces of about PIECE_BYTES; the last can be shorter. No piece for no text."""
    pending = bytearray()
    for group in groups:
        pending += group.encode()
        if len(pending) >= PIECE_BYTES:
            yield bytes(pending)
            pending.clear()
    if pending:
        yield bytes(pending)


# Rows to lines


def query_lines(queries: pd.DataFrame) -> Iterator[str]:
    """The lines of queries.jsonl."""
    for row in queries.to_dict("records"):
        line = {"query": row["key"], "text": row["text"], "weight": float(row["weight"])}
        if not np.isnan(row.get("chance", np.nan)):
            line |= {"count": int(row["count"]), "chance": row["chance"], "stratum": row["stratum"]}
        yield as_line(line)


def fits_qrels(grades: np.ndarray) -> bool:
    """Whether every grade is a whole number and at least 0, which every reader of qrels accepts."""
    return bool(((grades >= 0) & (grades == np.floor(grades))).all())


def qrels_line(query: str, document: str, grade: float) -> str:
    return f"{query} 0 {document} {int(grade)}\n"


def grade_line(query: str, document: str, grade: float) -> str:
    return as_line({"query": query, "document": document, "grade": int(grade) if grade == int(grade) else grade})


def run_lines(query: str, documents: Iterable[str], scores: Iterable[float], tag: str) -> str:
    """The lines of one ranking in a run file."""
    return "".join(
        f"{query} Q0 {document} {rank} {score!r} {tag}\n"
        for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1)
    )


def as_line(row: dict) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


# Lines to rows


@dataclass(frozen=True, eq=False)
class Judged:
    """Queries and judgments as arrays. Documents are numbered within each query, judged ones first."""

    queries: pd.DataFrame  # key, text, weight, count, chance, stratum
    judgments: Judgments
    place: dict[str, int]  # the row of each query, by key
    numbers: list[dict[str, int]]  # by query, the numbers of its judged documents by key

    @classmethod
    def read(cls, settings: Settings, lines: Lines) -> "Judged":
        """The queries and judgments in these files. Within a query, documents are numbered as they come."""
        queries = read_queries(lines(QUERIES))
        place = {key: row for row, key in enumerate(queries["key"])}
        numbers: list[dict[str, int]] = [{} for _ in place]
        rows = []
        for query, document, grade in read_judgments(settings.judgments, lines(settings.judgments)):
            numbers_of_query = numbers[place[query]]
            number = numbers_of_query.setdefault(document, len(numbers_of_query))  # the next one, from 0
            rows.append((place[query], number, grade))
        columns = np.array(rows, np.float64).reshape(-1, 3).T  # query, document, grade
        return cls(queries, Judgments(len(place), *columns), place, numbers)

    def rankings(self, system: System, lines: Iterable[bytes]) -> Rankings:
        """The rankings in a system's run file, one for each query of QUERIES; others are left out.

        A query without lines has an empty ranking if the system lists it as empty, and else none. Raises Broken.
        """
        no_ranking = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)  # documents, scores, tiebreak
        by_query = [no_ranking] * len(self.place)  # by row of the query
        for query, keys, scores in read_run(lines):
            row = self.place.get(query)
            if row is not None:
                if by_query[row] is not no_ranking:
                    raise Broken(f"{system.run}: the lines of query {query!r} are not together.")
                by_query[row] = self._numbers_of(row, keys), np.array(scores), _tiebreak(keys)
        length = np.array([len(documents) for documents, _, _ in by_query], np.int64)
        present = length > 0
        # An empty ranking has no line in the file. The system's settings name its query.
        present[[self.place[query] for query in system.empty if query in self.place]] = True
        offsets = np.append(0, np.cumsum(length))
        # For each column the arrays of all queries. The empty one of `no_ranking` comes first, since `concatenate`
        # needs one array at least, and a collection can have no queries.
        columns = zip(no_ranking, *by_query, strict=True)
        documents, all_scores, tiebreak = map(np.concatenate, columns)
        return Rankings(offsets, documents, all_scores, present=present, tiebreak=tiebreak, gaps=system.gaps)

    def _numbers_of(self, row: int, documents: list[str]) -> np.ndarray:
        """The numbers of the documents of one ranking, int64[documents]: unjudged ones follow the judged ones.

        Those of unjudged documents hold within this ranking alone.
        """
        judged = self.numbers[row]
        return np.array([judged.get(key, len(judged) + place) for place, key in enumerate(documents)], np.int64)


def _tiebreak(documents: list[str]) -> np.ndarray:
    """The place of each document by its key, int64[documents], as `Rankings` has it.

    trec_eval compares keys as bytes; code points have the same order as their bytes in UTF-8.
    """
    places = np.empty(len(documents), np.int64)
    places[sorted(range(len(documents)), key=documents.__getitem__)] = np.arange(len(documents))
    return places


def read_queries(lines: Iterable[bytes]) -> pd.DataFrame:
    """The columns key, text, weight, count, chance and stratum of queries.jsonl, as in `Record`."""
    rows = [
        (row["query"], row["text"], row["weight"], row.get("count"), row.get("chance"), row.get("stratum", ""))
        for row in map(json.loads, lines)
    ]
    frame = pd.DataFrame(rows, columns=["key", "text", "weight", "count", "chance", "stratum"])
    return frame.astype({"count": np.float64, "chance": np.float64})


def read_judgments(name: str, lines: Iterable[bytes]) -> Iterator[tuple[str, str, float]]:
    """(query, document, grade) of each judgment, in the order of the file. name: QRELS or GRADES."""
    if name == GRADES:
        for row in map(json.loads, lines):
            yield row["query"], row["document"], float(row["grade"])
    else:
        for line in lines:
            query, _, document, grade = line.decode().removesuffix("\n").split(" ")
            yield query, document, float(int(grade))


def read_run(lines: Iterable[bytes]) -> Iterator[tuple[str, list[str], list[float]]]:
    """(query, documents best first, their scores) of each ranking, in the order of the file."""
    cells = (line.decode().removesuffix("\n").split(" ") for line in lines)
    for query, results in groupby(cells, key=itemgetter(0)):
        documents, scores = [], []
        for _, _, document, _, score, _ in results:
            documents.append(document)
            scores.append(float(score))
        yield query, documents, scores
