"""The inputs of an evaluation as text files in canonical form, and their hash. No Django.

    settings.json     measures, options, rule, adjudications, the interval, systems and their runs
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

import numpy as np
import pandas as pd

from ..measures import Judgments, Measure, Options, Rankings, parse_measure
from ..measures.options import BY_SCORE
from ..scores import Asked

FORMAT = 1
WITH_MACHINES = 2  # expected values with machines: a reader of format 1 would leave the machines out
SETTINGS, QUERIES, QRELS, GRADES = "settings.json", "queries.jsonl", "qrels.txt", "judgments.jsonl"
POOL, ROUNDS, MACHINES = "pool.jsonl", "rounds.jsonl", "machines.jsonl"
PIECE = 1 << 20  # bytes of text in a compressed part

BLANK = re.compile(r"\s+")  # not allowed in the system's column of a run
UNFIT = re.compile(r"[^A-Za-z0-9._-]+")  # not allowed in a file name

# The number of columns of a ranking for each value of the option ties: documents, scores, tiebreak.
LISTED = {"rank": 1, "average": 2, **dict.fromkeys(BY_SCORE, 3)}

Lines = Callable[[str], Iterator[bytes]]  # from the name of a file to its lines, each with its \n


class Broken(ValueError):
    """A file is not in the canonical form; the message names the file and the line."""


@dataclass(frozen=True)
class System:
    """A system and its run file."""

    system: str  # name
    run: str  # name of the file
    tag: str  # run tag in the file
    empty: tuple[str, ...] = ()  # queries with an empty ranking, which has no line but is not missing


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

    @property
    def asked(self) -> Asked:
        """The settings of the first measure, as pages have them."""
        return Asked(self.measures[0], self.options, rule=self.rule, adjudications=self.adjudications)

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
            "systems": [asdict(system) for system in self.systems],
        } | ({"expected": self.expected} if self.expected else {})
        return json.dumps(members, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def parse(cls, text: str) -> "Settings":
        """The settings from the text of settings.json. Raises Broken."""
        try:
            members = json.loads(text)
            if members["format"] not in (FORMAT, WITH_MACHINES):
                raise Broken(
                    f"{SETTINGS}: format {members['format']!r} is not known here; a newer Idealist reads it."
                )
            return cls(
                measures=tuple(map(parse_measure, members["measures"])),
                options=Options.parse(**members["options"]),
                rule=members["rule"],
                adjudications=members["adjudications"],
                interval=members["interval"],
                judgments=members["judgments"],
                systems=tuple(
                    System(row["system"], row["run"], row["tag"], tuple(row["empty"]))
                    for row in members["systems"]
                ),
                expected=members.get("expected", {}),
            )
        except Broken:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Broken(f"{SETTINGS}: cannot be read ({error}).") from error

    @property
    def machines(self) -> list[dict]:
        """The machines whose grades are features of the model, in the order of their grades in the file."""
        return self.expected.get("machines", [])

    @property
    def names(self) -> list[str]:
        """The names of the canonical files, in their order."""
        of_expected = [POOL, ROUNDS] if self.expected else []
        of_expected += [MACHINES] if self.machines else []
        return [SETTINGS, QUERIES, self.judgments, *(system.run for system in self.systems), *of_expected]


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
    files = ((name, UNFIT.sub("-", name).strip("-.")[:60] or "system") for name in names)
    return [
        System(name, f"runs/{number}-{file}.run", BLANK.sub("_", name))
        for number, (name, file) in enumerate(files, 1)
    ]


def pieces_of(groups: Iterable[str]) -> Iterator[bytes]:
    """The groups of whole lines as pieces of about PIECE bytes; at least one piece."""
    pending, size = [b""], 0
    for group in groups:
        pending.append(group.encode())
        size += len(pending[-1])
        if size >= PIECE:
            yield b"".join(pending)
            pending, size = [], 0
    if pending:
        yield b"".join(pending)


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
        """The queries and judgments in these files. Raises Broken."""
        queries = read_queries(lines(QUERIES))
        place = {key: row for row, key in enumerate(queries["key"])}
        grades: list[dict[str, float]] = [{} for _ in place]
        for query, document, grade in read_judgments(settings.judgments, lines(settings.judgments)):
            if query not in place:
                raise Broken(f"{settings.judgments}: query {query!r} is not in {QUERIES}.")
            grades[place[query]][document] = grade
        numbers = [{document: number for number, document in enumerate(judged)} for judged in grades]
        judgments = Judgments(
            len(place),
            np.repeat(np.arange(len(place)), [len(judged) for judged in grades]),
            np.array([number for judged in numbers for number in judged.values()], np.int64),
            np.array([grade for judged in grades for grade in judged.values()], np.float64),
        )
        return cls(queries, judgments, place, numbers)

    def rankings(self, system: System, lines: Iterable[bytes], ties: str) -> Rankings:
        """The rankings in a system's run file, without queries that are not in QUERIES. Raises Broken."""
        length, present = np.zeros(len(self.place), np.int64), np.zeros(len(self.place), bool)
        lists: dict[int, tuple[np.ndarray, ...]] = {}
        for query, documents, scores in read_run(system.run, lines):
            if query not in self.place:
                continue
            row = self.place[query]
            if present[row]:
                raise Broken(f"{system.run}: the lines of query {query!r} are not together.")
            length[row], present[row] = len(documents), True
            lists[row] = self._list(row, documents, scores, ties)
        present[[self.place[query] for query in system.empty if query in self.place]] = True
        columns = [*zip(*(lists[row] for row in sorted(lists)), strict=True)] or [()] * LISTED[ties]
        documents, *others = (np.concatenate([np.empty(0, np.int64), *column]) for column in columns)
        scores, tiebreak = (*others, None, None)[:2]
        return Rankings(np.append(0, np.cumsum(length)), documents, scores, present, tiebreak)

    def _list(self, row: int, documents: list[str], scores: list[str], ties: str) -> tuple[np.ndarray, ...]:
        """The columns of one ranking: document numbers and, where `ties` needs them, scores and tiebreak."""
        known, beyond = self.numbers[row], len(self.numbers[row])
        numbered = [known.get(document, beyond + place) for place, document in enumerate(documents)]
        columns = [np.array(numbered, np.int64)]
        if ties != "rank":
            columns.append(np.array([float(score) for score in scores]))
        if ties in BY_SCORE:
            # trec_eval compares keys as bytes; code points have the same order as their bytes in UTF-8.
            order = sorted(range(len(documents)), key=documents.__getitem__)
            columns.append(np.empty(len(documents), np.int64))
            columns[-1][order] = np.arange(len(documents))
        return tuple(columns)


def read_queries(lines: Iterable[bytes]) -> pd.DataFrame:
    """The columns key, text, weight, count, chance and stratum of queries.jsonl, as in `Record`. Raises Broken."""
    rows = [
        (row["query"], row["text"], row["weight"], row.get("count"), row.get("chance"), row.get("stratum", ""))
        for row in read_objects(QUERIES, lines, "query text weight")
    ]
    frame = pd.DataFrame(rows, columns=["key", "text", "weight", "count", "chance", "stratum"])
    return frame.astype({"count": np.float64, "chance": np.float64})


def read_judgments(name: str, lines: Iterable[bytes]) -> Iterator[tuple[str, str, float]]:
    """(query, document, grade) of each judgment, in the order of the file. Raises Broken."""
    if name == GRADES:
        for row in read_objects(name, lines, "query document grade"):
            yield row["query"], row["document"], float(row["grade"])
        return
    for number, line in enumerate(lines, 1):
        try:
            query, _, document, grade = line.decode().removesuffix("\n").split(" ")
            yield query, document, float(int(grade))
        except ValueError as error:
            raise Broken(f"{name}, line {number}: is no line of qrels.") from error


def read_objects(name: str, lines: Iterable[bytes], members: str) -> Iterator[dict]:
    """The JSON object of each line. Raises Broken where one lacks any of `members`, named with blanks between."""
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise Broken(f"{name}, line {number}: is no JSON object.") from error
        if not isinstance(row, dict) or not row.keys() >= set(members.split()):
            raise Broken(f"{name}, line {number}: an object with {', '.join(members.split())} is wanted.")
        yield row


def read_run(name: str, lines: Iterable[bytes]) -> Iterator[tuple[str, list[str], list[str]]]:
    """(query, documents best first, their scores as text) of each ranking, in the order of the file.

    Raises Broken.
    """
    query, documents, scores = None, [], []
    for number, line in enumerate(lines, 1):
        try:
            key, _, document, _, score, _ = line.decode().removesuffix("\n").split(" ")
        except ValueError as error:
            raise Broken(f"{name}, line {number}: is no line of a run.") from error
        if key != query:
            if query is not None:
                yield query, documents, scores
            query, documents, scores = key, [], []
        documents.append(document)
        scores.append(score)
    if query is not None:
        yield query, documents, scores
