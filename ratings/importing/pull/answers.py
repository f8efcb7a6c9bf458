"""What an answer of a search engine holds, so that people choose places from it. No socket, no database."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ...presentation.proposal import are_pictures
from .dialects import NOTHING, Dialect, at, field_name

MOST_STEPS = 6  # of a path
PLAIN_VALUES_SHOWN = 50  # of a list
MOST_PATHS = 200  # of an answer
LONGEST_SAMPLE = 60  # characters of a value
LONGEST_PATH = 190  # characters; with an index behind it, it fits into the database
# The last names of paths that mean the same in many engines. Blanks, _ and capitals do not count.
NAMES = {
    "id": ("id", "key", "objectid", "docid", "documentid", "sku", "uid"),
    "score": ("score", "relevance", "rankingscore", "similarity"),
    "title": ("title", "name", "headline", "productname", "label"),
    "text": ("body", "text", "content", "description", "abstract", "snippet", "summary"),
    "link": ("url", "link", "href", "permalink"),
}


class Found(NamedTuple):
    path: str
    sample: str  # the value in short


def lists_in(answer: Any) -> list[Found]:
    """The lists that may be the results: rows behind a head first, then the longest.

    The elements of a list are objects, or rows: lists of equally many texts and numbers. A head may stand before
    the rows. The path then ends with the index of the first row and a colon.
    """
    nested = _nested_values(answer, path="", steps=MOST_STEPS)
    lists = [(path, value) for path, value in nested if isinstance(value, list) and value]
    results: list[tuple[str, list]] = []
    for path, elements in lists[:MOST_PATHS]:
        if all(isinstance(element, dict) for element in elements):
            results.append((path, elements))
        elif first := _first_row(elements):
            path_of_rows = f"{path}.{first - 1}:".lstrip(".") if first > 1 else path
            results.append((path_of_rows, elements[first - 1 :]))
    # A head, as of Groonga, is a list of its columns, of which there may be more than results.
    results.sort(key=lambda pair: (not pair[0].endswith(":"), -len(pair[1])))
    return [Found(path, f"{len(elements)} × {_short(elements[0])}") for path, elements in results if path]


def values_in(hit: Any) -> list[Found]:
    """The texts, numbers and lists of texts of one result, with their paths."""
    found = []
    for path, value in _nested_values(hit, path="", steps=MOST_STEPS):
        is_plain_list = isinstance(value, list) and value and all(map(_is_plain, value))
        if path and (_is_plain(value) or is_plain_list):
            found.append(Found(path, _short(value)))
    return found[:MOST_PATHS]


def pictures_in(hit: Any) -> list[str]:
    """The paths in one result that a presentation proposes as pictures, one for each field."""
    path_of: dict[str, str] = {}
    for path, _ in values_in(hit):
        name = field_name(path)
        if name not in path_of and are_pictures(name, [at(hit, path)]):
            path_of[name] = path
    return list(path_of.values())


def guessed(answer: Any, proposed: Dialect) -> dict[str, str]:
    """The path of the results, and in a result those of id, score, title, text and link; "" for unknown ones.

    A proposed path is kept where the answer has it. Other paths are guessed by their last name.
    """
    if isinstance(at(answer, proposed.results), list):
        paths = {"results": proposed.results}
    else:
        paths = {"results": next((found.path for found in lists_in(answer)), "")}
    first = first_result(answer, paths["results"])
    pictures = pictures_in(first)  # which have an address, too
    paths_of_values = [found.path for found in values_in(first) if found.path not in pictures]
    for role, names in NAMES.items():
        proposed_path = getattr(proposed, role)
        if proposed_path and at(first, proposed_path) is not NOTHING:
            paths[role] = proposed_path
        else:  # the first name that a path has
            named = (path for name in names for path in paths_of_values if _plain_name(path) == name)
            paths[role] = next(named, "")
    return paths


def first_result(answer: Any, path: str) -> Any:
    """The first element of the list at a path; {} where there is none."""
    results = at(answer, path) if path else NOTHING
    return results[0] if isinstance(results, list) and results else {}


def _nested_values(value: Any, path: str, steps: int) -> Iterator[tuple[str, Any]]:
    """The value and all that a path can name in it to a depth of `steps`, with paths.

    Of a list of objects or lists only the first two, and of other lists the first PLAIN_VALUES_SHOWN values.
    """
    yield path, value
    elements: Iterable[tuple[str | int, Any]] = ()
    if steps and isinstance(value, dict):
        elements = value.items()
    elif steps and isinstance(value, list):
        elements = enumerate(value[: PLAIN_VALUES_SHOWN if all(map(_is_plain, value)) else 2])
    for step, element in elements:
        element_path = f"{path}.{step}".lstrip(".")
        # A path cannot name such a member: a dot parts its steps, and a bar parts paths.
        if "." not in str(step) and "|" not in str(step) and len(element_path) <= LONGEST_PATH:
            yield from _nested_values(element, element_path, steps - 1)


def _first_row(elements: list) -> int:
    """The number, from 1, of the element from which on all are lists of as many plain values; 0 if none is."""
    for place, row in enumerate(elements[:3], 1):
        rows = elements[place - 1 :]
        are_rows = all(isinstance(cells, list) and all(map(_is_plain, cells)) for cells in rows)
        if are_rows and len(row) > 1 and {len(cells) for cells in rows} == {len(row)}:
            return place
    return 0


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _plain_name(path: str) -> str:
    return path.rpartition(".")[2].replace("_", "").replace(" ", "").replace("-", "").casefold()


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SAMPLE else f"{text[: LONGEST_SAMPLE - 1]}…"
