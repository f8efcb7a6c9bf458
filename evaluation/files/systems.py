"""The systems in files of runs. Files with the same run tag are different systems, or parts of one."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from evaluation.measures import Rankings
from ratings.formats.rankings import system_of_file
from ratings.formats.refusal import Option, Refusal, Refused
from ratings.words import first_keys

# Cures, which say what the option system_from should be.
LEAVE_SYSTEM_FROM_OUT = Option("system_from", "")
BOTH_KEEP_NAMES = Option("system_from", "", "both are to keep their names")
SYSTEMS_BY_FILE = Option("system_from", "file", "they are several systems")
ByPath = Mapping[str, Mapping[str, Rankings]]  # by path, then by run tag


def by_tag_and_path(runs: ByPath, notes: list[str]) -> dict[str, Rankings]:
    """The systems by name: the run tag, with the path added where several files have the tag.

    This is without the option --system-from: files with the same tag are different systems. For each such tag, a
    note for the user is added to `notes`. It names the option with which the files are parts of one system, that
    is, have some of its queries each: see `of_parts`.
    """
    systems = {}
    for tag, paths in _paths(runs).items():
        for path in paths:
            systems[tag if len(paths) == 1 else f"{tag} ({path})"] = runs[path][tag]
        if len(paths) > 1:
            listed = ", ".join(paths)
            notes.append(
                f"{tag}: a system of its own in each of {listed}; for parts of one give --system-from tag."
            )
    return systems


def by_file(runs: ByPath) -> dict[str, Rankings]:
    """The systems, each named by its file. Raises Refused for a file with several, or a name of several files."""
    named: dict[str, Rankings] = {}
    refusals = []
    for path, rankings in runs.items():
        name = system_of_file(path)
        if len(rankings) > 1:
            problem = f"there are several systems in it ({first_keys(rankings)}), and the name of the file is one"
            refusals.append(Refusal(path, line=0, problem=problem, cure=(LEAVE_SYSTEM_FROM_OUT,)))
        elif name in named:
            problem = f"another file is called {name}, too, and so is its system"
            refusals.append(Refusal(path, line=0, problem=problem, cure=("Rename one of them.", BOTH_KEEP_NAMES)))
        else:
            (named[name],) = rankings.values()
    if refusals:
        raise Refused(refusals)
    return named


def of_parts(runs: ByPath, queries: tuple[str, ...], first_unjudged: int | None) -> dict[str, Rankings]:
    """The systems by tag, each joined from all files with the tag. Raises Refused where two have the same query.

    A part is the rankings of one file. queries: the keys of queries, by number. first_unjudged: the lowest number
    of an unjudged document. Each part numbers its unjudged documents from there, so they get new numbers in the
    joined system. None: the parts were read with the same number for the same document, and the numbers stay.
    """
    refusals, named = [], {}
    for tag, paths in _paths(runs).items():
        parts = [runs[path][tag] for path in paths]
        # The numbers of queries that several parts have. present: bool[queries].
        in_several = np.flatnonzero(np.sum([part.present for part in parts], axis=0) > 1)
        if len(in_several):
            keys = first_keys([queries[query] for query in in_several.tolist()])
            problem = (
                f"queries of {tag} stand in another part of it, too ({keys}); its parts are {', '.join(paths)}"
            )
            cures = ("Two parts of a system cannot share a query.", SYSTEMS_BY_FILE)
            refusals.append(Refusal(paths[-1], line=0, problem=problem, cure=cures))
        elif len(parts) == 1:
            (named[tag],) = parts
        else:
            named[tag] = _joined(parts, first_unjudged)
    if refusals:
        raise Refused(refusals)
    return named


def _paths(runs: ByPath) -> dict[str, list[str]]:
    """The paths of the files with each run tag."""
    paths: dict[str, list[str]] = defaultdict(list)
    for path, rankings in runs.items():
        for tag in rankings:
            paths[tag].append(path)
    return paths


def _joined(parts: list[Rankings], first_unjudged: int | None) -> Rankings:
    """One system from its parts, which have different queries. first_unjudged: as in `of_parts`."""
    # The results of all parts by query. Each query is in one part, so its results keep their order. part.query has
    # the query of each result, part.length the number of results of each query, 0 for a query of another part.
    order = np.argsort(np.concatenate([part.query for part in parts]), kind="stable")
    documents = np.concatenate([part.documents.astype(np.int64) for part in parts])[order]
    if first_unjudged is not None:
        # Parts use the same numbers for different unjudged documents. The new number rests on the place in the
        # joined array, so that no other document has it.
        documents = np.where(documents < first_unjudged, documents, first_unjudged + np.arange(len(documents)))
    length = np.sum([part.length for part in parts], axis=0)  # int64[queries]
    tiebreaks = [part.tiebreak for part in parts]  # of all parts, or None in all
    return Rankings(
        offsets=np.append(0, np.cumsum(length)),
        documents=documents,
        scores=np.concatenate([part.scores for part in parts])[order],
        tiebreak=None if tiebreaks[0] is None else np.concatenate(tiebreaks)[order],
    )
