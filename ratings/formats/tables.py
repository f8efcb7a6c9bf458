"""Tables with named columns: delimited text, a JSON object on each line, Parquet.

A row of a table is one row of any kind, or what several raters said of one pair. Which column holds what is told,
or guessed from its name.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain
from typing import Any, NamedTuple

from . import delimited, jsonl, parquet, spreadsheet, strict_json, values
from .refusal import Refusal
from .rows import DocumentLine, RatingLine, RunLine, Topic, once
from .source import Source, Start

# What a column can hold, by kind of row, with the names that people give to it; the first is the one we write.
# Names are compared in small letters, with _ for blanks and dashes.
NAMES = {
    "queries": {
        # Before the key: a column named query is the text, unless another is.
        "text": ["text", "query_text", "querytext", "query"],
        "key": ["key", "query_id", "queryid", "qid", "topic_id", "_id", "id", "number", "topic", "query"],
        "need": ["need", "information_need", "description", "narrative", "referenceanswer", "reference_answer"],
        "tags": ["tags"],
        "weight": ["weight"],
    },
    "documents": {
        "id": [*jsonl.KEYS, "document", "document_id", "corpus_id"],
        "title": ["title"],
        "body": jsonl.BODIES,
        "url": ["url"],
    },
    "results": {
        "query": ["query", "query_id", "queryid", "qid", "topic_id", "topic", "query_text", "querytext"],
        "document": ["document", "document_id", "doc_id", "docid", "docno", "corpus_id", "doc", "id"],
        "rank": ["rank", "position", "doc_position"],
        "score": ["score"],
        "system": ["system", "run", "run_id", "tag", "name", "snapshot_name"],
    },
    "ratings": {
        "query": ["query", "query_id", "queryid", "qid", "topic_id", "topic", "query_text", "querytext"],
        "document": ["document", "document_id", "doc_id", "docid", "docno", "corpus_id", "doc"],
        "rater": ["rater", "judge", "assessor", "annotator", "user_email", "worker_id"],
        "grade": ["grade", "rating", "relevance", "judgment", "judgement", "rel", "label", "score"],
        "reason": ["reason"],
        "comment": ["comment", "explanation"],
        "seconds": ["seconds"],
        "rated_at": ["rated_at"],
        "unrateable": ["unrateable"],
    },
}  # fmt: skip
NEEDED = {
    "queries": ["text"],
    "documents": ["id"],
    "results": ["query", "document"],
    "ratings": ["query", "document"],
}
RATERS = "raters"  # of ratings: several columns, each named for the rater whose grades it holds
RATINGS = ["query", "document", "rater", "grade", "reason", "comment", "seconds", "rated_at"]
JUDGMENTS = ["query", "document", "grade"]
RESULTS = ["query", "document", "rank", "score", "system"]
CANNOT = "unrateable"  # in place of a grade
UNTOLD = "other"  # the reason, where a file says only that a pair cannot be judged
YES = {"1", "1.0", "true", "t", "yes"}
CURE = "Correct the cell."


class Layout(NamedTuple):
    """Which column holds what. `raters` are columns too."""

    column: dict[str, str]
    raters: tuple[str, ...]
    ignored: tuple[str, ...]


Rows = Iterator[Topic | DocumentLine | RunLine | RatingLine | Refusal]
Records = Iterator[tuple[int, dict[str, Any]] | Refusal]


def read_delimited(kind: str, source: Source) -> Rows:
    """Rows of `kind` from delimited text. The delimiter is the one that the header has most of."""
    delimiter = delimiter_of(source.start)
    records = delimited.records(source, delimiter, "Each record has as many cells as the header.")
    return _rows(kind, source, _with_names(source, records), tell=True)


def read_lines_of_json(kind: str, source: Source) -> Rows:
    """Rows of `kind` from JSON objects, whose names need not be the same on each line."""
    return _rows(kind, source, _objects(source), tell=False)


def read_parquet(kind: str, source: Source) -> Rows:
    """Rows of `kind` from Parquet; the line is the number of the row."""
    return _rows(kind, source, parquet.records(source), tell=True)


def columns_of(format: str, source: Source) -> list[str]:
    """The columns of a table, as its first record has them; none where there is no table."""
    if format == "csv":
        records = _with_names(source, delimited.records(source, delimiter_of(source.start), CURE))
    elif format == "jsonl":
        records = _objects(source)
    elif format == "parquet":
        records = parquet.records(source)
    else:
        return []
    first = next(records, None)
    return list(first[1]) if isinstance(first, tuple) and isinstance(first[1], dict) else []


def usual_role(kind: str, name: str) -> str:
    """What a column of that name usually holds; "" where nobody knows."""
    return next((role for role, names in NAMES[kind].items() if _plain(name) in names), "")


def is_delimited(kind: str, start: Start) -> bool:
    """Whether the first line names the columns that rows of `kind` need."""
    first = start.text.lstrip().split("\n", 1)[0]
    named = {_plain(name) for name in first.rstrip("\r").replace('"', "").split(delimiter_of(start))}
    return all(named & set(NAMES[kind][role]) for role in NEEDED[kind])


def is_lines_of_json(kind: str, start: Start) -> bool:
    first = start.text.lstrip().split("\n", 1)[0]
    try:
        named = {_plain(name) for name in strict_json.loaded(first)}
    except ValueError:
        return False
    return all(named & set(NAMES[kind][role]) for role in NEEDED[kind])


def delimiter_of(start: Start) -> str:
    header = start.text.lstrip("\r\n").split("\n", 1)[0]
    return max(",\t;|", key=header.count)


def layout_of(kind: str, names: Iterable[str], told: dict[str, str], *, wide: bool = True) -> Layout:
    """Which of the columns `names` holds what: what was told first, then the usual names.

    Where ratings have neither a rater nor a grade, and `wide`, each column that is left is a rater. Raises
    ValueError.
    """
    names, usual = list(names), NAMES[kind]
    raters = tuple(told.get(RATERS, "").split("|")) if RATERS in told else ()
    for role, name in [*((r, n) for r, n in told.items() if r != RATERS), *((RATERS, name) for name in raters)]:
        if role not in usual and not (role == RATERS and kind == "ratings"):
            raise ValueError(f"--columns names {values.shown(role)}; a column of {kind} is {', '.join(usual)}")
        if name not in names:
            raise ValueError(f"there is no column {values.shown(name)}; there are {_listed(names)}")
    column = {role: name for role, name in told.items() if role != RATERS}
    for role, known in usual.items():
        free = {_plain(name): name for name in reversed(names) if name not in {*column.values(), *raters}}
        found = next((free[name] for name in known if name in free), None)
        if role not in column and found is not None and not (raters and role in ("rater", "grade")):
            column[role] = found
    left = tuple(name for name in names if name not in {*column.values(), *raters})
    if kind == "ratings" and wide and not raters and not {"rater", "grade"} & column.keys():
        raters, left = left, ()
    missing = [role for role in NEEDED[kind] if role not in column]
    if kind == "ratings" and not raters and "grade" not in column and "reason" not in column:
        missing.append("grade")
    if kind == "results" and not {"rank", "score"} & column.keys():
        missing.append("rank")
    if missing:
        raise ValueError(f"no column holds the {' or the '.join(missing)}; there are {_listed(names)}")
    return Layout(column, raters, left)


def _rows(kind: str, source: Source, records: Records, *, tell: bool) -> Rows:
    found = _read(kind, source, records, tell)
    return once(source, found, CURE) if kind == "queries" else found


def _read(kind: str, source: Source, records: Records, tell: bool) -> Rows:
    """`tell`: the first record has all names there are, so it shows the raters, and what is read from where."""
    layouts: dict[tuple, Layout] = {}
    row_of = _READERS[kind](source)
    for item in records:
        if isinstance(item, Refusal):
            yield item
            continue
        line, cells = item
        names = tuple(cells)
        try:
            if names not in layouts:
                layouts[names] = layout_of(kind, names, source.columns, wide=tell)
                if tell:
                    _tell(source, layouts[names])
        except ValueError as error:
            cure = f"Say which, as in --columns {_example(kind)}."
            if tell:
                yield source.stop(1, str(error), cure)
                return
            yield source.refusal(line, str(error), cure)
            continue
        try:
            yield from row_of(line, cells, layouts[names])
        except ValueError as error:
            yield source.refusal(line, str(error), CURE)


def _tell(source: Source, layout: Layout) -> None:
    """Say what was guessed; of columns with our own names there is nothing to say."""
    guessed = [f"{role} from {values.shown(name)}" for role, name in layout.column.items() if role != name]
    if layout.raters:
        guessed.append(f"each of {len(layout.raters)} columns as a rater ({_listed(layout.raters)})")
    if guessed:
        source.told.append(f"{source.name}: {', '.join(guessed)}.")
    if layout.ignored:
        source.told.append(f"{source.name}: nothing is read from the columns {_listed(layout.ignored)}.")


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(map(values.shown, names[:12])) + (f" and {len(names) - 12:,} more" if len(names) > 12 else "")


def _example(kind: str) -> str:
    roles = NEEDED[kind] + {"ratings": ["grade"], "results": ["rank"]}.get(kind, [])
    return ",".join(f"{role}=NAME" for role in roles)


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


# From what a table is to records: a line and its cells by column


def _with_names(source: Source, records: Iterator) -> Records:
    header: list[str] = []
    for item in records:
        if isinstance(item, Refusal):
            yield item
        elif not header:
            header = item[1]
            if len(set(header)) < len(header):
                name = next(name for name in header if header.count(name) > 1)
                problem = f"the header has the column {values.shown(name)} twice"
                yield source.stop(item[0], problem, "Give each column its own name.")
                return
        else:
            yield item[0], dict(zip(header, item[1], strict=True))


def _objects(source: Source) -> Records:
    for item in source.lines():
        if isinstance(item, Refusal):
            yield item
        elif text := item.text.strip():
            try:
                yield item.number, strict_json.loaded(text)
            except ValueError as error:
                yield source.refusal(item.number, str(error), "A line is one JSON object.")


# From records to rows


def text_of(value: Any) -> str:
    """What a cell says. Raises ValueError for what is no single value."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat()
    return strict_json.text_of(value)


def _topics(source: Source) -> Callable:
    def row_of(line: int, cells: dict[str, Any], layout: Layout) -> Iterator[Topic]:
        said = {role: text_of(cells[name]).strip() for role, name in layout.column.items() if role != "tags"}
        key = None
        if "key" in said:
            key = values.checked_key(said["key"], "query key", values.QUERY_KEY_LENGTH)
        tags = cells[layout.column["tags"]] if "tags" in layout.column else None
        if tags is not None:
            tags = tags if isinstance(tags, list) else text_of(tags).split(";")
            tags = tuple(filter(None, (text_of(tag).strip() for tag in tags)))
        text = values.checked_text(said["text"], "query")
        yield Topic(line, key, text, said.get("need"), tags, _weight(said.get("weight", "")))

    return row_of


def _weight(text: str) -> float | None:
    weight = values.number(text, "weight") if text else None
    if weight is not None and weight < 0:
        raise ValueError(f"the weight {values.shown(text)} is less than 0")
    return weight


def _documents(source: Source) -> Callable:
    def row_of(line: int, cells: dict[str, Any], layout: Layout) -> Iterator[DocumentLine]:
        record = {name: value for name, value in cells.items() if name not in layout.column.values()}
        for role, name in layout.column.items():
            record[role] = text_of(cells[name])
        yield jsonl.document_of(line, record)

    return row_of


def _results(source: Source) -> Callable:
    places: Counter = Counter()

    def row_of(line: int, cells: dict[str, Any], layout: Layout) -> Iterator[RunLine]:
        """Without ranks the order of the file is the ranking; without scores they fall with the rank."""
        said = {role: text_of(cells[name]) for role, name in layout.column.items()}
        (query, document), system = _pair(said), said.get("system", "")
        places[query, system] += 1
        rank = values.integer(said["rank"], "rank") if "rank" in said else places[query, system]
        if "score" not in said and rank < 1:
            raise ValueError(f"the rank {rank} is less than 1, and there is no score")
        score = values.number(said["score"], "score") if "score" in said else 1 / rank
        yield RunLine(line, query, document, rank, score, system)

    return row_of


def _ratings(source: Source) -> Callable:
    def row_of(line: int, cells: dict[str, Any], layout: Layout) -> Iterator[RatingLine | Refusal]:
        said = {role: text_of(cells[name]) for role, name in layout.column.items()}
        if layout.raters:
            yield from _of_raters(source, line, said, [(name, cells[name]) for name in layout.raters])
            return
        grade, reason = grade_of(said.get("grade", ""), source)
        if said.get("unrateable", "").strip().lower() in YES:
            reason = reason or UNTOLD
        reason = said.get("reason", "") or reason
        if grade is None and not reason and "reason" not in said:
            return  # a pair or a query that nobody rated
        if (grade is None) == (reason == ""):
            raise ValueError("a rating needs a grade or a reason why the pair cannot be judged, and not both")
        rater = said.get("rater", "")
        if "rater" in said:
            values.checked_name(rater, "rater", values.RATER_NAME_LENGTH)
        seconds, at = _seconds(said.get("seconds", "")), _moment(said.get("rated_at", ""))
        yield RatingLine(line, *_pair(said), rater, grade, reason, said.get("comment", ""), seconds, at)

    return row_of


def _of_raters(
    source: Source, line: int, said: dict[str, str], cells: list[tuple[str, Any]]
) -> Iterator[RatingLine | Refusal]:
    """What each rater says of one pair, whose cell is blank where they say nothing. Each cell may be refused."""
    for name, cell in cells:
        try:
            grade, reason = grade_of(text_of(cell), source)
            if grade is not None or reason:
                rater = values.checked_name(name.strip(), "rater", values.RATER_NAME_LENGTH)
                yield RatingLine(line, *_pair(said), rater, grade, reason)
        except ValueError as error:
            yield source.refusal(line, str(error), CURE)


def _pair(said: dict[str, str]) -> tuple[str, str]:
    query = values.checked_text(said["query"].strip(), "query")
    return query, values.checked_key(said["document"], "document", values.DOCUMENT_KEY_LENGTH)


_READERS = {"queries": _topics, "documents": _documents, "results": _results, "ratings": _ratings}


def grade_of(text: str, source: Source) -> tuple[Decimal | None, str]:
    """The grade that a cell holds, or the reason why there is none; neither where it is blank."""
    text = text.strip()
    if text in source.grades:
        return source.grades[text], ""
    if text.lower() == CANNOT:
        return None, UNTOLD
    if not text:
        return None, ""
    try:
        return values.grade(text), ""
    except ValueError as error:
        said = "" if any(c.isdigit() for c in text) else f"; --map {text}=… says which grade it is"
        raise ValueError(f"{error}{said}") from error


def _seconds(text: str) -> float | None:
    if not text:
        return None
    seconds = values.number(text, "number of seconds")
    if seconds < 0:
        raise ValueError(f"the number of seconds {values.shown(text)} is negative")
    return seconds


def _moment(text: str) -> datetime | None:
    """A time without an offset is UTC."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(
            f"rated_at {values.shown(text)} is not a time such as 2026-03-02T09:00:00+00:00"
        ) from error


# From rows to a table


def write_ratings(rows: Iterable[RatingLine], *, raw: bool = False) -> Iterator[str]:
    """The header and one record a rating. Reading them gives the same rows again."""
    return spreadsheet.written(chain([RATINGS], ([_told(value) for value in row[1:]] for row in rows)), raw=raw)


def write_run(rows: Iterable[RunLine], *, raw: bool = False) -> Iterator[str]:
    return spreadsheet.written(chain([RESULTS], ([_told(value) for value in row[1:6]] for row in rows)), raw=raw)


def write_judgments(rows: Iterable[RatingLine], *, raw: bool = False) -> Iterator[str]:
    cells = ([row.query, row.document, values.plain(row.grade)] for row in rows)
    return spreadsheet.written(chain([JUDGMENTS], cells), raw=raw)


def write_ratings_as_json(rows: Iterable[RatingLine]) -> Iterator[str]:
    """One object a rating, without what is not there."""
    return (_object(RATINGS, row[1:]) for row in rows)


def write_run_as_json(rows: Iterable[RunLine]) -> Iterator[str]:
    return (_object(RESULTS, row[1:6]) for row in rows)


def write_judgments_as_json(rows: Iterable[RatingLine]) -> Iterator[str]:
    return (_object(JUDGMENTS, (row.query, row.document, row.grade)) for row in rows)


def _told(value: Any) -> str:
    return values.plain(value) if isinstance(value, Decimal) else text_of(value)


def _object(names: list[str], row: Iterable[Any]) -> str:
    record = {name: value for name, value in zip(names, row, strict=True) if value not in (None, "")}
    return json.dumps(record, ensure_ascii=False, default=_plain_json) + "\n"


def _plain_json(value: Decimal | datetime) -> int | float | str:
    """A grade has at most 15 digits, which a float gives back."""
    if isinstance(value, datetime):
        return value.isoformat()
    return int(value) if value == int(value) else float(value)
