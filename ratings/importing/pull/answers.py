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
    """The lists in an answer that may be the results: rows behind a head first, then the longest list first.

    The elements of such a list are objects, or rows: lists of equally many texts and numbers. A head, such as the
    number of hits, may stand before the rows. The path then ends with the index of the first row and a colon.
    """
    nested = _nested_values(answer, path="", steps=MOST_STEPS)
    lists = [(path, value) for path, value in nested if isinstance(value, list) and value]
    results: list[tuple[str, list]] = []
    for path, elements in lists[:MOST_PATHS]:
        if all(isinstance(element, dict) for element in elements):
            results.append((path, elements))
        elif (head := _elements_before_rows(elements)) is not None:
            path_of_rows = f"{path}.{head}:".lstrip(".") if head else path  # `path` is "" for the answer itself
            results.append((path_of_rows, elements[head:]))
    # Rows behind a head, whose path ends with a colon, come first: a head may itself have a list that looks like
    # rows, such as Groonga's list of columns, and this may be longer.
    results.sort(key=lambda result: (not result[0].endswith(":"), -len(result[1])))
    # Without the answer itself, which has no path to choose.
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
    """Role -> path: of `results` in the answer, of id, score, title, text and link in a result; "" for unknown.

    A proposed path is kept where the answer has it. Other paths are guessed by their last name.
    """
    results = proposed.results
    if not isinstance(at(answer, results), list):
        lists = lists_in(answer)
        results = lists[0].path if lists else ""
    first = first_result(answer, results)
    pictures = pictures_in(first)  # which have an address, too, and so would be taken for the link
    value_paths = [found.path for found in values_in(first) if found.path not in pictures]
    path_by_name = {_plain_name(path): path for path in reversed(value_paths)}  # of equal names the first path
    paths = {"results": results}
    for role, usual_names in NAMES.items():
        proposed_path = getattr(proposed, role)
        if proposed_path and at(first, proposed_path) is not NOTHING:
            paths[role] = proposed_path
        else:
            paths[role] = next((path_by_name[name] for name in usual_names if name in path_by_name), "")
    return paths


def first_result(answer: Any, path: str) -> Any:
    """The first element of the list at a path; {} where there is none."""
    results = at(answer, path) if path else NOTHING
    return results[0] if isinstance(results, list) and results else {}


def _nested_values(value: Any, path: str, steps: int) -> Iterator[tuple[str, Any]]:
    """(path, value) of the value itself, and of all that a path can name in it to a depth of `steps`.

    Of a list of objects or lists only the first two, and of other lists the first PLAIN_VALUES_SHOWN values.
    """
    yield path, value
    elements: Iterable[tuple[str | int, Any]] = ()  # with the names or indexes that lead to them
    if steps and isinstance(value, dict):
        elements = value.items()
    elif steps and isinstance(value, list):
        most = PLAIN_VALUES_SHOWN if all(map(_is_plain, value)) else 2
        elements = enumerate(value[:most])
    for step, element in elements:
        element_path = f"{path}.{step}".lstrip(".")
        # A path cannot name such a member: a dot parts its steps, and a bar parts paths.
        if "." not in str(step) and "|" not in str(step) and len(element_path) <= LONGEST_PATH:
            yield from _nested_values(element, element_path, steps - 1)


def _elements_before_rows(elements: list) -> int | None:
    """How many elements, two at most, come before rows: lists of equally many plain values. None without rows."""
    for number, first_row in enumerate(elements[:3]):
        rows = elements[number:]
        are_plain = all(isinstance(row, list) and all(map(_is_plain, row)) for row in rows)
        if are_plain and len(first_row) > 1 and all(len(row) == len(first_row) for row in rows):
            return number
    return None


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _plain_name(path: str) -> str:
    return path.rpartition(".")[2].replace("_", "").replace(" ", "").replace("-", "").casefold()


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SAMPLE else f"{text[: LONGEST_SAMPLE - 1]}…"
