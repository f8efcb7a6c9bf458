"""Training data for learning to rank, as of RankLib, SVMrank and LETOR: GRADE qid:ID FEATURES # DOCUMENT."""

import re
from collections.abc import Iterable, Iterator

from . import values
from .refusal import Refusal, WrongCell
from .rows import RatingLine, Topic, rows_or_refusals, unique_topics
from .source import Line, Source, Start

CURE = "A line is GRADE qid:QUERY, the features, and after a # the document."
TEXT_CURE = 'Give the text in a comment before its first line, such as "# qid:1: red shoes".'
_line = re.compile(r"(?P<grade>\S+)\s+qid:(?P<query>\S+)[^#]*(?:#(?P<comment>.*))?")
_header = re.compile(r"#\s*qid:(\S+):\s+(.+)")  # a comment with the text of a query
_query_weight = re.compile(r"\*[0-9.]+$")  # behind the text, as in "rambo*2"
# No part goes back (?+): a label without a document is no document.
_document = re.compile(r"(?P<label>(?:docid\s*=.*?\s)??docno\s*=\s*|docid\s*=\s*)?+(?P<key>\S+)(?P<rest>.*)")


def is_letor(start: Start) -> bool:
    return re.search(r"^[^\s#]+[ \t]+qid:", start.text, re.MULTILINE) is not None


def read_ratings(source: Source) -> Iterator[RatingLine | Refusal]:
    """The grade of each line. Features are ignored."""

    def rating_of(line: Line) -> Iterator[RatingLine]:
        """The rating of a line; none for a comment, which is counted, and for a blank line. Raises ValueError."""
        text = line.text.strip()
        if text.startswith("#"):
            source.comments += 1
        elif text:
            query, document, grade, _ = _cells(text)
            yield RatingLine(line.number, query, document, rater="", grade=values.grade(grade))

    return rows_or_refusals(source, source.lines(), rating_of, CURE)


def read_queries(source: Source) -> Iterator[Topic | Refusal]:
    """The queries. Their text is in a comment such as "# qid:1: rambo", or after the document on all their lines.

    Some programs write the title of the document there, which differs from line to line: it is refused.
    """
    return unique_topics(source, _topics(source), TEXT_CURE)


def _topics(source: Source) -> Iterator[Topic | Refusal]:
    """A topic for each query, with the text in a comment, or else the text after its first document.

    A query without a comment is refused where the text after a later document is another one. A comment below the
    first grade of its query gives a second topic; if its text differs from that of the first, the import refuses
    it as a repeated key.
    """
    text_of_query: dict[str, str] = {}  # the text after the first document, by the key of the query
    keys_to_skip = set()  # of queries whose text is in a comment, or that were refused: their grades give no topic

    def topics_of(line: Line) -> Iterator[Topic]:
        """The topic of a comment with the text of a query, or of the first grade of a query; none of other lines.

        Raises ValueError. Reads and adds to `text_of_query` and `keys_to_skip`. A repeated comment gives its topic
        again, and `unique_topics` drops it.
        """
        text = line.text.strip()
        if header := _header.match(text):
            key = values.checked_key(header[1], "query", values.QUERY_KEY_LENGTH)
            keys_to_skip.add(key)
            query_text = _query_weight.sub("", header[2]).strip()  # the weight is no part of the text
            yield Topic(line.number, key, values.checked_text(query_text, "query"))
        elif text and not text.startswith("#"):
            key, _, _, query_text = _cells(text)
            if key in keys_to_skip:
                return
            if key not in text_of_query:
                text_of_query[key] = query_text
                try:
                    yield Topic(line.number, key, values.checked_text(query_text, f"text of query {key}"))
                except ValueError as error:
                    keys_to_skip.add(key)
                    raise WrongCell(str(error), TEXT_CURE) from error
            elif query_text != text_of_query[key]:
                keys_to_skip.add(key)
                earlier = values.quoted(text_of_query[key])
                raise WrongCell(f"query {key} has another text after its document, not {earlier}", TEXT_CURE)

    return rows_or_refusals(source, source.lines(), topics_of, CURE)


def _cells(text: str) -> tuple[str, str, str, str]:
    """(query, document, grade, text after the document) of a line such as "2 qid:q1 1:0.5 # d1 red shoes".

    The text is "" where the document has a label, as in "# docid = d1 inc = 1 prob = 0.5": what follows is then
    about the document.
    """
    line = _line.fullmatch(text)
    if line is None:
        raise ValueError(f"{values.quoted(text)} has no grade and no qid")
    document = _document.fullmatch((line["comment"] or "").strip())
    if document is None:  # the features are numbers, so nothing else on the line can name it
        raise ValueError("no document follows after a #, and the features do not name one")
    query = values.checked_key(line["query"], "query", values.QUERY_KEY_LENGTH)
    key = values.checked_key(document["key"], "document", values.DOCUMENT_KEY_LENGTH)
    return query, key, line["grade"], "" if document["label"] else document["rest"].strip()


def write_judgments(rows: Iterable[RatingLine]) -> Iterator[str]:
    """Lines without features, which users add themselves."""
    for row in rows:
        # A document whose own beginning would be read as a label needs one.
        label = "docno = " if row.document.startswith(("docid=", "docno=")) else ""
        yield f"{row.grade:.0f} qid:{row.query} # {label}{row.document}\n"


# By kind of row
READS = {"queries": read_queries, "ratings": read_ratings}
WRITES = {"judgments": write_judgments}
