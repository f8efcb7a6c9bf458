"""Runs and qrels straight to arrays, without a database: the same numbers as after an import.

A file of plain shape is read by `regular`, some pieces at a time; any other by `tolerant`, which also says what is
wrong. No Django.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluation.measures import Judgments, Rankings
from ratings.formats.cells import Irregular
from ratings.formats.rankings import ORDERS
from ratings.formats.refusal import Refusal, counted, some

from . import regular, tolerant
from .text import Text, opened, plain
from .tolerant import Refused

__all__ = ["Loaded", "Refused", "load"]


@dataclass(frozen=True, eq=False)
class Loaded:
    """The queries are those of the qrels, in the natural order of their keys."""

    queries: tuple[str, ...]
    judgments: Judgments
    rankings: dict[str, Rankings]  # by system, in the order of names
    notes: list[str]  # what was passed over or is missing, for the person who gave the files


def load(qrels: str, runs: Sequence[str], order: str | None = None, tiebreak: bool = False) -> Loaded:
    """Read qrels and runs; each may be gzipped, and - is standard input.

    A system has the name of its run tag, with the file's name behind it where two files use the same tag. Lines
    for queries that the qrels lack are skipped. The rank column orders the results where it agrees with the scores
    up to ties, or `order` says what does; `tiebreak` adds what ties="score" needs. Raises OSError, and Refused
    with each fault, its line and the cure.
    """
    if order not in (None, *ORDERS):
        raise ValueError(f"The order is {order!r}; give rank or score.")
    with opened(qrels) as text:
        judged = _Qrels(text)
        found = {}
        for path in dict.fromkeys(runs):
            with opened(path) as run:
                found[path] = _run(run, judged, order, tiebreak)
    tags = Counter(tag for rankings, _ in found.values() for tag in rankings)
    named = {
        tag if tags[tag] == 1 else f"{tag} ({path})": ranking
        for path, (rankings, _) in found.items()
        for tag, ranking in rankings.items()
    }
    notes = judged.notes + [note for _, notes in found.values() for note in notes]
    for name, ranking in named.items():
        lacking = [
            key for key, present in zip(judged.queries, ranking.present.tolist(), strict=True) if not present
        ]
        if lacking:
            has = counted(len(lacking), "query of the qrels has", "queries of the qrels have")
            notes.append(f"{name}: {has} no ranking ({some(lacking)}).")
    return Loaded(judged.queries, judged.judgments, dict(sorted(named.items())), notes)


class _Qrels:
    """Qrels for both ways of reading a run."""

    def __init__(self, text: Text) -> None:
        self.text = text
        try:
            self.regular = regular.read_qrels(plain(text))
        except Irregular:
            # Another pass over the same judgments, so that a long run need not be read a line at a time.
            self.regular = _or_none(Text(text.name, -1, self.grades.as_text()))
        known = self.regular or self.grades
        self.queries, self.judgments = known.queries, known.judgments
        self.notes = self.grades.notes if "grades" in vars(self) else []

    @cached_property
    def grades(self) -> tolerant.Grades:
        return tolerant.read_qrels(self.text.source())


def _or_none(text: Text) -> regular.Judged | None:
    try:
        return regular.read_qrels(plain(text))
    except Irregular:
        return None


def _run(text: Text, qrels: _Qrels, order: str | None, tiebreak: bool) -> tuple[dict[str, Rankings], list[str]]:
    """The rankings of each system of one file, and notes."""
    try:
        if qrels.regular is None:
            raise Irregular
        tag, ranking, strangers = regular.read_run(plain(text), qrels.regular, order, tiebreak)
        rankings, notes = {tag: ranking}, []
    except Irregular:
        rankings, strangers, notes = tolerant.read_run(text.source(), qrels.grades, order, tiebreak)
    if not any(ranking.present.any() for ranking in rankings.values()):
        problem = (
            f"none of its queries ({some(strangers)}) is in {qrels.text.name}, which has {some(qrels.queries)}"
        )
        raise Refused([Refusal(text.name, 0, problem, "Check that both use the same numbering.")])
    if strangers:
        lines = counted(strangers.total(), "line")
        notes.append(f"{text.name}: {lines} for queries outside the qrels skipped ({some(strangers)}).")
    return rankings, notes
