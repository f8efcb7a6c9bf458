"""Runs and qrels from files as arrays, with the same numbers as after an import. No database, no Django."""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from evaluation.measures import Judgments, Rankings
from ratings.formats import trec
from ratings.formats.archives import files_of
from ratings.formats.refusal import Cure, Refusal, Refused
from ratings.formats.registry import FORMATS, unsupported
from ratings.formats.source import Source, opened
from ratings.words import counted, first_keys

from . import systems
from .reading import Qrels, read_qrels, read_run


@dataclass(frozen=True, eq=False)
class Loaded:
    """Qrels and runs as arrays."""

    queries: tuple[str, ...]  # keys of the qrels, in their natural order
    judgments: Judgments
    rankings: dict[str, Rankings]  # by system, in the order of names
    notes: list[str]  # for the user, on what was skipped or is missing


def load(
    qrels: str,
    runs: Sequence[str],
    order: str | None = None,
    tiebreak: bool = False,
    system_from: str | None = None,
    same_numbers: bool = False,
    keep_first: bool = False,
    without_own: bool = False,
) -> Loaded:
    """The qrels and runs in these files. Each may be compressed or an archive; "-" is standard input.

    order: "rank" or "score", which orders the results; None: the ranks, where they agree with the scores up to
    ties. tiebreak: also read the order of tied documents, which an order by score needs. same_numbers: give an
    unjudged document the same number in all rankings, not a new one in each; this is slower.

    system_from: None names a system by its run tag, and files with the same tag are different systems, with the
    names of the files added. "file" names it by its file. "tag" takes files with the same tag for parts of one
    system, each with other queries.

    keep_first: a document that a ranking has twice keeps its better place; otherwise it is refused. without_own:
    leave out a document that has the key of the query, as BEIR does where queries are documents, too.

    Lines for queries that are not in the qrels are skipped. Raises OSError, and Refused with line and cure of each
    error.
    """
    with opened(qrels) as source, ExitStack() as stack:
        file, *more = files_of(source, stack)
        if more:
            problem = "the archive has several files, and qrels are one"
            raise Refused([Refusal(qrels, line=0, problem=problem, cure=("Unpack it, and name the one.",))])
        _refuse_others([file])
        _refuse_doubt([file], trec.QRELS_CURE)
        judged = read_qrels(file)
    notes = list(judged.notes)
    by_path: dict[str, dict[str, Rankings]] = {}  # the rankings of each file, by run tag
    for path in dict.fromkeys(runs):
        with opened(path) as source, ExitStack() as stack:
            files = list(files_of(source, stack))
            _refuse_others(files)
            if system_from is None:
                _refuse_doubt(files, trec.TAGS_ARE_SYSTEMS)
            for file in files:
                rankings, skipped, notes_of_file = read_run(
                    file, judged, order, tiebreak, same_numbers, keep_first, without_own
                )
                notes += notes_of_file + _notes_on(file, qrels, judged, rankings, skipped)
                by_path[file.name] = rankings
    queries = tuple(judged.queries)
    if system_from == "file":
        by_name = systems.by_file(by_path)
    elif system_from == "tag":
        first_unjudged = None if same_numbers else len(judged.documents)
        by_name = systems.of_parts(by_path, queries, first_unjudged)
    else:
        by_name = systems.by_tag_and_path(by_path, notes)
    for name, ranking in by_name.items():
        lacking = [key for key, present in zip(queries, ranking.present.tolist(), strict=True) if not present]
        if lacking:
            has = counted(len(lacking), "query of the qrels has", "queries of the qrels have")
            notes.append(f"{name}: {has} no ranking ({first_keys(lacking)}).")
    return Loaded(queries, judged.judgments, dict(sorted(by_name.items())), notes)


def _refuse_doubt(files: Sequence[Source], cure: Cure) -> None:
    """Raises Refused for files whose lines have six columns and may be a run or qrels."""
    doubts = [(file, trec.doubt(file.start)) for file in files]
    refusals = [file.refusal(0, doubt[0], cure) for file, doubt in doubts if doubt]
    if refusals:
        raise Refused(refusals)


def _refuse_others(files: Sequence[Source]) -> None:
    """Raises Refused for files that are not of lines, such as Parquet."""
    for file in files:
        if problem_and_cure := unsupported(file.start):
            raise Refused([file.refusal(0, *problem_and_cure)])
        for format in FORMATS:
            if format.binary and format.fits("ratings", file.start):
                cure = "Import it into a collection, or save it as lines of TREC."
                problem = f"it is in the format {format.name}, {format.title}"
                raise Refused([file.refusal(0, problem, cure)])


def _notes_on(
    source: Source, qrels: str, judged: Qrels, rankings: dict[str, Rankings], skipped: Counter
) -> list[str]:
    """Notes for the user on what of a run file has no judgment: its queries, or all documents of a system.

    source: the run file; qrels: the path of the qrels, for messages; judged: their content. rankings: by system;
    skipped: how many lines, by query outside the qrels. Raises Refused where no query of the run is in the qrels.
    """
    if not any(ranking.present.any() for ranking in rankings.values()):
        problem = (
            f"none of its queries ({first_keys(skipped)}) is in {qrels}, which has {first_keys(judged.queries)}"
        )
        raise Refused([source.refusal(0, problem, "Check that both use the same numbering.")])
    notes = []
    if skipped:
        lines = counted(skipped.total(), "line")
        notes.append(f"{source.name}: {lines} for queries outside the qrels skipped ({first_keys(skipped)}).")
    for system, ranking in rankings.items():
        # The qrels number the documents of their lines from 0; documents without a judgment have higher numbers.
        is_judged = ranking.documents < len(judged.documents)
        if len(ranking.documents) and not is_judged.any():
            ids = first_keys(judged.documents.slice(0, 100).to_pylist())
            notes.append(
                f"{source.name}: no document of {system} is judged, so all its scores are those of an empty list."
                f" Check that the ids are those of the qrels ({ids})."
            )
    return notes
