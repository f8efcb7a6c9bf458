"""Training data for learning to rank, as of RankLib, SVMrank and LETOR: GRADE qid:ID FEATURES # DOCUMENT."""

import re
from collections.abc import Iterable, Iterator

from . import values
from .refusal import Refusal
from .rows import RatingLine, Topic, unique_topics
from .source import Line, Source, Start

CURE = "A line is GRADE qid:QUERY, the features, and after a # the document."
LONGEST_HEADER = 10_000
_line = re.compile(r"(\S+)\s+qid:(\S+)([^#]*)(?:#(.*))?")
_header = re.compile(r"#\s*qid:([^\s:]+):\s*(.+?)(?:\*[0-9.]+)?\s*")  # a comment with the text of a query
_document = re.compile(r"\s*(?:.*?docno\s*=\s*|docid\s*=\s*)?(\S+)(.*)")


def is_letor(start: Start) -> bool:
    return re.search(r"^[^\s#]+[ \t]+qid:", start.text, re.MULTILINE) is not None


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """The grade of each line. Features are ignored."""
    for item in source.lines():
        if isinstance(item, Refusal):
            yield item
        elif item.text.lstrip().startswith("#"):
            source.comments += 1
        elif item.text.strip():
            try:
                query, document, grade, _ = _cells(item)
                yield RatingLine(item.number, query, document, "", values.grade(grade))
            except ValueError as error:
                yield source.refusal(item.number, str(error), CURE)


def read_queries(source: Source) -> Iterator[Topic | Refusal]:
    """The queries. Their text is in a comment such as "# qid:1: rambo", or else after their first document."""
    return unique_topics(source, _topics(source), CURE)


def _topics(source: Source) -> Iterator[Topic | Refusal]:
    keys = set()
    for item in source.lines():
        if isinstance(item, Refusal):
            yield item
            continue
        text = item.text.strip()
        try:
            if len(text) < LONGEST_HEADER and (header := _header.fullmatch(text)):
                key = values.checked_key(header[1], "query", values.QUERY_KEY_LENGTH)
                keys.add(key)
                yield Topic(item.number, key, values.checked_text(header[2].strip(), "query"))
            elif text and not text.startswith("#"):
                query, _, _, rest = _cells(item)
                if query not in keys:
                    keys.add(query)
                    yield Topic(item.number, query, values.checked_text(rest, f"text of query {query}"))
        except ValueError as error:
            yield source.refusal(item.number, str(error), CURE)


def _cells(item: Line) -> tuple[str, str, str, str]:
    """Query, document, grade, and the text after the document."""
    cells = _line.fullmatch(item.text.strip())
    if cells is None:
        raise ValueError(f"{values.quoted(item.text.strip())} has no grade and no qid")
    document = _document.fullmatch(cells[4] or "")
    if document is None:
        raise ValueError("no document follows after a #, and the features do not name one")
    return (
        values.checked_key(cells[2], "query", values.QUERY_KEY_LENGTH),
        values.checked_key(document[1], "document", values.DOCUMENT_KEY_LENGTH),
        cells[1],
        document[2].strip(),
    )


def write_judgments(rows: Iterable[RatingLine]) -> Iterator[str]:
    """Lines without features, which users add themselves."""
    return (f"{row.grade:.0f} qid:{row.query} # {row.document}\n" for row in rows)
