"""Runs and qrels from files to arrays, without a database: the same numbers as after an import. No Django.

A file in the usual form is read by `regular`, in chunks and threads; any other by `tolerant`, which also reports
errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from evaluation.measures import Judgments, Rankings
from ratings.formats.cells import Irregular
from ratings.formats.rankings import ORDERS, SYSTEM_FROM
from ratings.formats.refusal import Refusal, Refused, counted, first_keys

from . import regular, systems, tolerant
from .text import Text, opened, plain


@dataclass(frozen=True, eq=False)
class Loaded:
    """The queries are those of the qrels, in the natural order of their keys."""

    queries: tuple[str, ...]
    judgments: Judgments
    rankings: dict[str, Rankings]  # by system, in the order of names
    notes: list[str]  # for the user: what was skipped or is missing


def load(
    qrels: str,
    runs: Sequence[str],
    order: str | None = None,
    tiebreak: bool = False,
    system_from: str | None = None,
    alike: bool = False,
) -> Loaded:
    """Read qrels and runs; each may be packed, an archive may hold several runs, and - is standard input.

    A system has the name of its run tag, with the file's name behind it where two files use the same tag: they are
    two systems. `system_from` "file" names each by its file alone; "tag" says that files of one tag are parts of
    one system, and then each query stands in one of them. Lines for queries that the qrels lack are skipped.

    The rank column orders the results where it agrees with the scores up to ties, or `order` says what does;
    `tiebreak` adds what ties="score" needs. With `alike` an unjudged document has the same number in all rankings,
    and not one for each; every line is then read by itself. Raises OSError, and Refused with each fault, its line
    and the cure.
    """
    if order not in (None, *ORDERS):
        raise ValueError(f"The order is {order!r}; give rank or score.")
    if system_from not in (None, *SYSTEM_FROM):
        raise ValueError(f"system_from is {system_from!r}; give {' or '.join(SYSTEM_FROM)}.")
    with opened(qrels) as (text, *more):
        if more:
            problem = "the archive has several files, and qrels are one"
            raise Refused([Refusal(qrels, 0, problem, ("Unpack it, and name the one.",))])
        judged = _Qrels(text)
        found = {}
        for path in dict.fromkeys(runs):
            with opened(path) as files:
                found |= {run.name: _run(run, judged, order, tiebreak, alike) for run in files}
    notes = judged.notes + [note for _, notes in found.values() for note in notes]
    rankings = {path: rankings for path, (rankings, _) in found.items()}
    if system_from == "file":
        named = systems.by_file(rankings)
    elif system_from == "tag":
        named = systems.of_parts(rankings, judged.queries, None if alike else len(judged.judgments.grade))
    else:
        named = systems.by_tag(rankings, notes)
    for name, ranking in named.items():
        lacking = [
            key for key, present in zip(judged.queries, ranking.present.tolist(), strict=True) if not present
        ]
        if lacking:
            has = counted(len(lacking), "query of the qrels has", "queries of the qrels have")
            notes.append(f"{name}: {has} no ranking ({first_keys(lacking)}).")
    return Loaded(judged.queries, judged.judgments, dict(sorted(named.items())), notes)


class _Qrels:
    """The qrels as each of the two readers of runs takes them."""

    def __init__(self, text: Text) -> None:
        self.text = text
        try:
            self.regular = regular.read_qrels(plain(text))
        except Irregular:
            # The same judgments in the usual form, so that a long run can be read by `regular`.
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


def _run(
    text: Text, qrels: _Qrels, order: str | None, tiebreak: bool, alike: bool
) -> tuple[dict[str, Rankings], list[str]]:
    """The rankings of each system of one file, and notes."""
    try:
        if qrels.regular is None or alike:
            raise Irregular
        tag, ranking, strangers = regular.read_run(plain(text), qrels.regular, order, tiebreak)
        rankings, notes = {tag: ranking}, []
    except Irregular:
        rankings, strangers, notes = tolerant.read_run(text.source(), qrels.grades, order, tiebreak, alike)
    if not any(ranking.present.any() for ranking in rankings.values()):
        own, known = first_keys(strangers), first_keys(qrels.queries)
        problem = f"none of its queries ({own}) is in {qrels.text.name}, which has {known}"
        raise Refused([Refusal(text.name, 0, problem, ("Check that both use the same numbering.",))])
    if strangers:
        lines = counted(strangers.total(), "line")
        notes.append(f"{text.name}: {lines} for queries outside the qrels skipped ({first_keys(strangers)}).")
    return rankings, notes
