"""The synthetic collection of the benchmarks: seeded, made with NumPy alone, kept in a folder."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

SEED = 7
JUDGED = 50  # documents a query
FOUND = 35  # of them stand in the first system's ranking; no system returned the other 30 %
GRADES, SHARES = np.arange(4), (0.5, 0.25, 0.15, 0.1)
DOCUMENTS = 5_000_000
EXACT = 1e-9  # how far two programs that do the same sums in double precision may differ


@dataclass(frozen=True)
class Shape:
    queries: int
    depth: int
    systems: int

    def __str__(self) -> str:
        systems = f"{self.systems} system" + "s" * (self.systems > 1)
        return f"{self.queries:,} queries x {self.depth:,} documents x {systems}"

    @property
    def rows(self) -> int:
        return self.queries * self.depth * self.systems


CASES = {"a": Shape(200, 100, 5), "b": Shape(7_000, 1_000, 1), "c": Shape(7_000, 1_000, 10)}
SMALL = {"a": Shape(20, 60, 2), "b": Shape(200, 100, 1), "c": Shape(200, 100, 10)}


@dataclass(frozen=True)
class Synthetic:
    """Arrays on disk. Document numbers sort as their keys do, so that they are also trec_eval's tiebreak."""

    shape: Shape
    folder: Path

    @property
    def judged_query(self) -> np.ndarray:
        return np.repeat(np.arange(self.shape.queries), JUDGED)

    @cached_property
    def judged_document(self) -> np.ndarray:
        """int64[queries * JUDGED], query by query."""
        return np.load(self.folder / "judged.npy").ravel()

    @cached_property
    def grade(self) -> np.ndarray:
        """float64[queries * JUDGED]."""
        return np.load(self.folder / "grades.npy").ravel()

    def documents(self, system: int) -> np.ndarray:
        """uint32[queries, depth], best first: score descending, then document descending."""
        return np.load(self.folder / f"documents-{system}.npy")

    def scores(self, system: int) -> np.ndarray:
        """float64[queries, depth] with three decimals, so that some are equal."""
        return np.load(self.folder / f"scores-{system}.npy")

    @property
    def offsets(self) -> np.ndarray:
        return np.arange(self.shape.queries + 1) * self.shape.depth

    @property
    def query(self) -> np.ndarray:
        """The query of each row of one system."""
        return np.repeat(np.arange(self.shape.queries), self.shape.depth)


def query_keys(numbers: np.ndarray) -> list[str]:
    return [f"q{number:05d}" for number in numbers.tolist()]


def document_keys(numbers: np.ndarray) -> list[str]:
    return [f"D{number:07d}" for number in numbers.tolist()]


def synthetic(shape: Shape, data: Path) -> Synthetic:
    """The collection of this shape, made in `data` where it is not there yet."""
    made = Synthetic(shape, data / f"{shape.queries}x{shape.depth}x{shape.systems}")
    if not (made.folder / "grades.npy").exists():  # which is written last
        made.folder.mkdir(parents=True, exist_ok=True)
        _make(made)
    return made


def _make(made: Synthetic) -> None:
    rng = np.random.default_rng(SEED)
    queries, depth, systems = made.shape.queries, made.shape.depth, made.shape.systems
    returnable = depth if systems == 1 else depth + depth // 2
    unreturned = JUDGED - FOUND
    # One document out of each of so many equal parts of all documents: a query never gets one twice.
    parts = returnable + unreturned
    width = DOCUMENTS // parts
    pool = rng.permuted(np.arange(parts) * width + rng.integers(0, width, (queries, parts)), axis=1)
    for system in range(systems):
        scores = np.round(rng.gamma(2.0, 4.0, (queries, depth)), 3)
        documents = rng.permuted(pool[:, :returnable], axis=1)[:, :depth]
        order = np.lexsort((-documents, -scores))
        np.save(made.folder / f"scores-{system}.npy", np.take_along_axis(scores, order, 1))
        np.save(made.folder / f"documents-{system}.npy", np.take_along_axis(documents, order, 1).astype(np.uint32))
    # Drawn without replacement, the head of the first system's ranking more often than its tail (Gumbel's trick).
    drawn = -np.log(np.arange(depth) + 5.0) + rng.gumbel(size=(queries, depth))
    places = np.argpartition(-drawn, FOUND, axis=1)[:, :FOUND]
    found = np.take_along_axis(made.documents(0), places, 1).astype(np.int64)
    np.save(made.folder / "judged.npy", np.concatenate([found, pool[:, returnable:]], axis=1))
    np.save(made.folder / "grades.npy", rng.choice(GRADES, (queries, JUDGED), p=SHARES).astype(np.float64))


def files(made: Synthetic) -> tuple[Path, list[Path]]:
    """The qrels and a run for each system as TREC files, written where they are not there yet."""
    qrels = made.folder / "qrels.txt"
    runs = [made.folder / f"run-{system}.txt" for system in range(made.shape.systems)]
    if not qrels.exists():  # which is written last
        queries = query_keys(np.arange(made.shape.queries))
        for system, path in enumerate(runs):
            _write_run(path, queries, made.documents(system), made.scores(system), f"system{system}")
        judged = zip(query_keys(made.judged_query), document_keys(made.judged_document), made.grade, strict=True)
        qrels.write_text("".join(f"{query} 0 {key} {grade:.0f}\n" for query, key, grade in judged))
    return qrels, runs


def _write_run(path: Path, queries: list[str], documents: np.ndarray, scores: np.ndarray, tag: str) -> None:
    with path.open("w") as file:
        for query, row, values in zip(queries, documents, scores.tolist(), strict=True):
            results = enumerate(zip(document_keys(row), values, strict=True), 1)
            file.writelines(f"{query} Q0 {key} {rank} {score:.3f} {tag}\n" for rank, (key, score) in results)
