"""The systems in files of runs. Files with the same run tag are different systems, or parts of one."""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from evaluation.measures import Rankings
from ratings.formats.rankings import system_of_file
from ratings.formats.refusal import Option, Refusal, Refused
from ratings.words import first_keys

LEFT_OUT = Option("system_from", "")
KEPT_APART = Option("system_from", "", "both are to keep their names")
BY_FILE = Option("system_from", "file", "they are several systems")
ByPath = Mapping[str, Mapping[str, Rankings]]  # by path, then by run tag


def by_tag(runs: ByPath, notes: list[str]) -> dict[str, Rankings]:
    """The systems by tag, with the path added where several files have the tag. Adds a note for each such tag."""
    paths = _paths(runs)
    for tag, several in paths.items():
        if len(several) > 1:
            listed = ", ".join(several)
            notes.append(
                f"{tag}: a system of its own in each of {listed}; for parts of one give --system-from tag."
            )
    return {
        tag if len(paths[tag]) == 1 else f"{tag} ({path})": ranking
        for path, rankings in runs.items()
        for tag, ranking in rankings.items()
    }


def by_file(runs: ByPath) -> dict[str, Rankings]:
    """The systems by file name. Raises Refused where a file has several systems, or two files have one name."""
    named: dict[str, Rankings] = {}
    refusals = []
    for path, rankings in runs.items():
        name = system_of_file(path)
        if len(rankings) > 1:
            problem = f"there are several systems in it ({first_keys(rankings)}), and the name of the file is one"
            refusals.append(Refusal(path, 0, problem, (LEFT_OUT,)))
        elif name in named:
            problem = f"another file is called {name}, too, and so is its system"
            refusals.append(Refusal(path, 0, problem, ("Rename one of them.", KEPT_APART)))
        else:
            (named[name],) = rankings.values()
    if refusals:
        raise Refused(refusals)
    return named


def of_parts(runs: ByPath, queries: tuple[str, ...], judgments: int | None) -> dict[str, Rankings]:
    """The systems by tag, each joined from all files with the tag. Raises Refused where two have the same query.

    judgments: the number from which documents are unjudged and numbered within each part; None: a document has the
    same number in all parts.
    """
    refusals, named = [], {}
    for tag, paths in _paths(runs).items():
        parts = [runs[path][tag] for path in paths]
        twice = np.flatnonzero(np.sum([part.present for part in parts], axis=0) > 1)
        if len(twice):
            keys = first_keys([queries[query] for query in twice.tolist()])
            problem = (
                f"queries of {tag} stand in another part of it, too ({keys}); its parts are {', '.join(paths)}"
            )
            cure = "Two parts of a system cannot share a query.", BY_FILE
            refusals.append(Refusal(paths[-1], 0, problem, cure))
        elif len(parts) == 1:
            (named[tag],) = parts
        else:
            named[tag] = _joined(parts, judgments)
    if refusals:
        raise Refused(refusals)
    return named


def _paths(runs: ByPath) -> dict[str, list[str]]:
    """The files with each tag."""
    paths: dict[str, list[str]] = defaultdict(list)
    for path, rankings in runs.items():
        for tag in rankings:
            paths[tag].append(path)
    return paths


def _joined(parts: list[Rankings], judgments: int | None) -> Rankings:
    order = np.argsort(np.concatenate([part.query for part in parts]), kind="stable")
    documents = np.concatenate([part.documents.astype(np.int64) for part in parts])[order]
    if judgments is not None:
        documents = np.where(documents < judgments, documents, np.arange(len(documents)) + judgments)
    tiebreaks = [part.tiebreak for part in parts]
    return Rankings(
        offsets=np.append(0, np.cumsum(np.sum([part.length for part in parts], axis=0))),
        documents=documents,
        scores=np.concatenate([part.scores for part in parts])[order],
        tiebreak=None if tiebreaks[0] is None else np.concatenate(tiebreaks)[order],
    )
