"""All formats: their names, how each is recognised, which rows it holds, and its readers and writers.

The commands and the import page take their lists from here.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from typing import NamedTuple

from . import (
    by_query,
    columns,
    header,
    json_topics,
    jsonl,
    letor,
    opensearch,
    parquet,
    quepid,
    rre,
    strict_json,
    tables,
    topics,
    trec,
    trec_documents,
    xlsx,
)
from .archives import UNPACK, is_tar, is_zip
from .refusal import Cure, Option, Refusal, Refused
from .rows import WRITTEN_COLUMNS
from .source import Source, Start

KINDS = ("queries", "documents", "results", "ratings")
# How rows name their query. In a table the same column may hold keys or texts, so both are tried.
KEY, TEXT, EITHER = "key", "text", "either"

Writer = Callable[[Iterable], Iterator[str | bytes]]


class Format(NamedTuple):
    name: str
    title: str
    fits: Callable[[str, Start], bool]  # kind of row, first bytes
    reads: Mapping[str, Callable[[Source], Iterator]]  # by kind of row
    writes: Mapping[str, Writer] = {}  # by kind of row, or "judgments": one grade a pair, and no rater
    queries_by: str = KEY
    whole: bool = False  # holds only grades that are whole and not negative
    binary: bool = False
    spreadsheet: bool = False  # people open it in spreadsheets, which must not compute cells
    ending: str = "txt"  # of a file's name

    def written(self, kind: str, rows: Iterable, *, raw: bool = False) -> Iterator[str | bytes]:
        """The rows in this format. `raw`: cells as they are, even those that a spreadsheet would compute."""
        write = self.writes[kind]
        return write(rows, raw=raw) if self.spreadsheet else write(rows)


def _always(fits: Callable[[Start], bool]) -> Callable[[str, Start], bool]:
    return lambda kind, start: fits(start)


def _text(name: str, title: str, fits: Callable, reads: Mapping, writes: Mapping = {}, **more) -> Format:
    return Format(name, title, _always(fits), reads, writes, **more)


def _json(name: str, title: str, fits: Callable, reads: Mapping, writes: Mapping = {}, by: str = TEXT) -> Format:
    return _text(name, f"{title} (JSON)", fits, reads, writes, queries_by=by, ending="json")


def _only_written(name: str, title: str, writes: Mapping[str, Writer], ending: str, **more) -> Format:
    return Format(name, title, lambda kind, start: False, {}, writes, TEXT, ending=ending, **more)


def _table(name: str, title: str, fits: Callable, write: Callable | None, **more) -> Format:
    reads = {kind: partial(tables.read, name, kind) for kind in KINDS}
    writes = {kind: partial(write, kind) for kind in WRITTEN_COLUMNS} if write else {}
    return Format(name, title, fits, reads, writes, EITHER, **more)


_NUMBERS = "numbers by query and document: BEIR, ranx, pytrec_eval"
_OBJECTS = "JSON objects, one on each line or in a list"
_JSON_TOPICS = "queries in a JSON list, or in an object by their keys"
_CSV = "comma-, semicolon- or tab-separated values"
_BOOK_CSV = "Quepid book (CSV, a column a rater, without comments, times and reasons); read as csv"
_QUEPID_CSV = "Quepid ratings (CSV); read as csv"
_RANK_EVAL = "rank_eval of Elasticsearch and OpenSearch"
_ELASTICSEARCH = "_rank_eval of Elasticsearch (JSON); read as rank-eval"
_RUN = {"writes": {"results": trec.write_run}, "ending": "run"}
_QRELS = {"writes": {"judgments": trec.write_qrels}, "whole": True, "ending": "qrels"}

# The first that fits is taken, so formats with more specific marks come first.
FORMATS = (
    _json("quepid-book", "Quepid book", quepid.is_book, quepid.BOOK),
    _json("quepid-snapshot", "Quepid snapshot", quepid.is_snapshot, quepid.SNAPSHOT),
    _json("quepid-case", "Quepid case, or its ratings", quepid.is_case, quepid.CASE),
    _json("opensearch", "OpenSearch judgment list", opensearch.is_judged, opensearch.READS, opensearch.WRITES),
    _json("opensearch-queries", "OpenSearch query set", opensearch.is_query_set, opensearch.QUERY_SET),
    _json("rre", "Rated Ranking Evaluator", rre.is_ratings, rre.READS, rre.WRITES),
    _json("rank-eval", _RANK_EVAL, opensearch.is_rank_eval, opensearch.RANK_EVAL, by=EITHER),
    _only_written("elasticsearch", _ELASTICSEARCH, {"judgments": opensearch.write_rank_eval}, "json", whole=True),
    _json("by-query", _NUMBERS, by_query.is_by_query, by_query.READS, by=EITHER),
    _table("parquet", "Parquet", _always(parquet.is_parquet), parquet.write, binary=True, ending="parquet"),
    _table("xlsx", "Excel workbook", _always(xlsx.is_xlsx), None, binary=True),
    _text("letor", "LTR: RankLib, SVMrank, LETOR", letor.is_letor, letor.READS, letor.WRITES, whole=True),
    _table("jsonl", _OBJECTS, tables.is_objects, tables.write_as_json, ending="jsonl"),
    _text("json-topics", _JSON_TOPICS, json_topics.is_topics, json_topics.READS),
    _text("trec-documents", "TREC documents (<DOC>, <DOCNO>)", trec_documents.is_documents, trec_documents.READS),
    _table("csv", _CSV, header.begins_with_header, tables.write, spreadsheet=True, ending="csv"),
    _only_written("quepid-book-csv", _BOOK_CSV, {"ratings": quepid.write_book}, "csv", spreadsheet=True),
    _only_written("quepid-csv", _QUEPID_CSV, {"judgments": quepid.write_judgments}, "csv", spreadsheet=True),
    _text("trec-run", "TREC run", trec.is_run, {"results": trec.read_run}, **_RUN),
    _text("trec-qrels", "TREC qrels", trec.is_qrels, {"ratings": trec.read_qrels}, **_QRELS),
    _text("topics", "TREC topics (SGML or XML), or lines of key, tab, text", topics.is_topics, topics.READS),
)
BY_NAME = {format.name: format for format in FORMATS}
TREC = {"trec-run", "trec-qrels"}  # so regular that text of this form is hardly anything else
LIKE_TABLES = {"topics", *TREC}  # lines of cells, as a table may have them
# The groups are atomic: otherwise many comments would make the match backtrack exponentially.
_HTML = re.compile(r"\s*(<\?xml[^>]*>\s*)?(?><!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.I | re.S)
_SHEET = "Save its sheet as CSV or .xlsx, and import that."
_DATA = "Give its data as a table, such as CSV."
_REPACK = "Unpack it, or pack it with gzip."
# First bytes -> problem and cure.
_UNSUPPORTED = {
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": (
        "an Excel workbook of the old kind (.xls), or one with a password",
        _SHEET,
    ),
    b"%PDF-": ("a PDF", _DATA),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", UNPACK),
    b"Rar!\x1a\x07": ("a RAR archive", UNPACK),
    b"\xfd7zXZ\x00": ("packed with xz", _REPACK),
    b"BZh91AY&SY": ("packed with bzip2", _REPACK),
    b"SQLite format 3\0": ("an SQLite database", _DATA),
}
# A name in a ZIP that is no archive of files -> problem and cure.
_ZIPPED = {
    b"opendocument.spreadsheet": ("an OpenDocument spreadsheet", _SHEET),
    b"xl/": ("a binary Excel workbook (.xlsb)", _SHEET),
    b"word/": ("a Word document", _DATA),
    b"ppt/": ("a presentation", _DATA),
}
_OBJECT = {
    "queries": '{"id": "q1", "text": "red shoes"}',
    "documents": '{"id": "d1", "title": "Red shoe"}',
    "results": '{"query": "q1", "document": "d1", "rank": 1, "system": "bm25"}',
    "ratings": '{"query": "q1", "document": "d1", "grade": 2}',
}
_SEPARATELY = "Import the files of each kind separately."


def readable(kind: str) -> list[Format]:
    return [format for format in FORMATS if kind in format.reads]


def writable(kind: str) -> list[Format]:
    return [format for format in FORMATS if kind in format.writes]


def recognised(source: Source, kind: str, default: str) -> Format | Refusal:
    """The format that the first bytes of `source` show, or the refusal of a file that is in none or in doubt.

    Text that shows none gets the format called `default`, whose refusals are more helpful than "unknown format".
    """
    start = source.start
    if problem_and_cure := source.why_unopened or unsupported(start) or _of_another_tool(start):
        return source.refusal(0, *problem_and_cure)  # 0: the file as a whole
    format = _likely(source, kind, default)
    if refusal := _refusal_if_in_doubt(source, kind, format):
        return refusal
    if format is None:
        return _default_of(source, kind, default)
    if format.name != default:
        in_encoding = f", in {source.reading.encoding}" if source.reading.encoding else ""
        source.notes.append(f"{source.name}: read as {format.name}, {format.title}{in_encoding}.")
    return format


def _fitting(kind: str, start: Start) -> Format | None:
    return next((format for format in readable(kind) if format.fits(kind, start)), None)


def _likely(source: Source, kind: str, default: str) -> Format | None:
    """The format that fits the first bytes, or one that nearly fits; None without one.

    CSV nearly fits a table whose columns have no usual names, and TREC qrels fit lines with a column more or less.
    Their refusals name the columns, so that people see what is wrong. `default`: the usual format of `kind`.
    """
    start, reading = source.start, source.reading
    format = _fitting(kind, start)
    if start.text.lstrip().startswith(("<", "{", "[")):
        return format  # markup or JSON, and no table of cells
    # Only for a table do people choose columns, or say that it has a header.
    is_chosen_table = bool(reading.columns) or reading.header is True
    if format is not None:  # LIKE_TABLES: TREC and topics, whose lines of cells also fit a table
        return BY_NAME["csv"] if is_chosen_table and format.name in LIKE_TABLES else format
    # No format fits. Who says that there is no header means a table, too.
    if is_chosen_table or reading.header is False:
        return BY_NAME["csv"]
    # Where CSV is the default, `_default_of` takes it, but first looks for a format of other kinds.
    if default != "csv" and header.is_table(start):
        return BY_NAME["csv"]
    has_blanks_alone = header.delimiter_of(start) == header.NO_DELIMITER
    if kind == "ratings" and has_blanks_alone and trec.is_nearly_qrels(start):
        return BY_NAME["trec-qrels"]
    return None


def _refusal_if_in_doubt(source: Source, kind: str, format: Format | None) -> Refusal | None:
    """The refusal of a title above a table, and of qrels with several grades; None for any other file."""
    may_have_title = format in (None, BY_NAME["csv"]) and source.reading.header is None
    if may_have_title and (line := header.line_below_title(kind, source.start)):
        says = Option("header", str(line), "it does")
        return source.refusal(1, f"this line seems to be a title, and line {line} to name the columns", says)
    if format is None and kind == "ratings" and (doubt := trec.doubt(source.start)):
        return source.refusal(0, *doubt, Option("kind", "results", "this is a run"))
    return None


def _default_of(source: Source, kind: str, default: str) -> Format | Refusal:
    """The format called `default`, for a file in no format of `kind`.

    A refusal where it is JSON or TREC and the default is not: it names the format that the file is in, if that has
    rows of other kinds alone. In both cases it tells how to give rows of `kind` as JSON.
    """
    actual = _format_of_other_kinds(source.start, kind)
    is_json = source.start.text.lstrip().startswith(("{", "["))
    is_unexpected_json = is_json and default != "jsonl"
    is_unexpected_trec = actual is not None and actual.name in TREC and default not in TREC
    if not is_unexpected_json and not is_unexpected_trec:
        return BY_NAME[default]
    problem = "it is unknown JSON"  # TREC has a format of another kind, so its problem is set below
    cures: list[Cure] = []
    if actual:
        problem = f"it is in the format {actual.name}, which has only {' and '.join(actual.reads)}"
        cures += [Option("kind", actual_kind, f"you want its {actual_kind}") for actual_kind in actual.reads]
    json_names = ", ".join(format.name for format in readable(kind) if "JSON" in format.title)
    cures.append(f"Give {kind} as one object on each line, such as {_OBJECT[kind]}.")
    # Without a value: people choose one of these formats themselves.
    return source.refusal(1, problem, *cures, Option("format", when=f"it is one of {json_names}"))


def _format_of_other_kinds(start: Start, kind: str) -> Format | None:
    """The first format that fits these bytes, of those without rows of `kind`; None if none of them fits."""
    others = (format for format in FORMATS if kind not in format.reads)
    return next((format for format in others if any(format.fits(other, start) for other in format.reads)), None)


def _of_another_tool(start: Start) -> tuple[str, str] | None:
    """The problem and the cure of JSON that tools of this job write for something else; None for any other."""
    names = strict_json.containers(start)
    of_opensearch = any(name in ("judgmentRatings", "querySetQueries") for _, name in names)
    if ({(1, "hits"), (2, "hits")} <= names and not of_opensearch) or {(1, "response"), (2, "docs")} <= names:
        cure = "Connect the engine on a page, which asks it for all queries, or write a run of all answers."
        return "it is the answer of a search engine to one query", cure
    if jsonl.is_list(start) and '"annotations"' in start.text and '"result"' in start.text:
        return "it is an export of Label Studio", "Export it from there as CSV."
    return None


def unsupported(start: Start) -> tuple[str, str] | None:
    """The problem and the cure of a file that cannot hold rows, such as a PDF; None for any other."""
    if _HTML.match(start.text):
        return "it is an HTML page, perhaps a sign-in page", "Download the file again while signed in."
    if is_tar(start):
        return "it is a tar archive", UNPACK
    if is_zip(start) and not xlsx.is_xlsx(start):
        for name, (what, cure) in _ZIPPED.items():
            if name in start.data:
                return f"it is {what}", cure
        return "it is a ZIP archive", UNPACK
    for beginning, (what, cure) in _UNSUPPORTED.items():
        if start.data.startswith(beginning):
            return f"it is {what}", cure
    return None


def certain_kind(source: Source) -> str | None:
    """The kind of rows in a file, if its first bytes or its columns leave no doubt; None if they do.

    Nothing else can be read from `source` afterwards. Raises Refused for a file that no format can read.
    """
    start = source.start
    if problem_and_cure := source.why_unopened or unsupported(start):
        refusal = source.refusal(0, *problem_and_cure)  # 0: the file as a whole
        if refusal.options:
            return None  # people can choose an option that makes it readable
        raise Refused([refusal])
    fitting = {kind: _fitting(kind, start) for kind in KINDS}
    name_of_format = {kind: format.name for kind, format in fitting.items() if format}  # by kind of row
    table_formats = sorted(tables.TABLE_FORMATS.intersection(name_of_format.values()))  # hardly ever several
    if table_formats:  # of a table, the columns decide
        # Read for queries, it could be in doubt whether the first line names the columns. Read for ratings, it is
        # not, and the names are the same.
        names = tables.columns_of(table_formats[0], "ratings", source)
        certain = [kind for kind in name_of_format if columns.are_only_of(kind, names)]
    else:
        certain = [kind for kind, name in name_of_format.items() if _is_unmistakable(name, start)]
    return certain[0] if len(certain) == 1 else None


def with_other_columns(sources: Sequence[Source], kind: str) -> dict[str, Refusal]:
    """The refusals of tables of queries or documents whose columns are not those of the first one, by their names.

    Only columns with usual names are compared. Files that are imported together may be of several kinds, as in an
    archive of BEIR, and a query and a document look alike: both may have an id and a text. Reads only first bytes.
    """
    if kind not in ("queries", "documents") or len(sources) < 2:
        return {}
    usual_columns: dict[str, set[str]] = {}  # of each table, by its name
    refusals = {}
    for source in sources:
        format = None if source.why_unopened else _fitting(kind, source.start)
        # The other tables, Parquet and workbooks, cannot be read from their first bytes alone.
        if format is None or format.name not in ("csv", "jsonl"):
            continue
        # The columns are read from a copy of the first bytes, as a source can be read only once.
        beginning = Source(source.name, BytesIO(source.start.data), source.reading)
        names = tables.columns_of(format.name, kind, beginning)
        usual_columns[source.name] = set(filter(columns.is_usual, names))
        first_table = next(iter(usual_columns))
        # The columns that one of the two tables has, and not the other.
        if differing := sorted(usual_columns[source.name] ^ usual_columns[first_table]):
            problem = f"its columns are not those of {first_table} ({columns.listed(differing)})"
            refusals[source.name] = source.refusal(0, problem, _SEPARATELY)
    return refusals


def _is_unmistakable(format: str, start: Start) -> bool:
    """Whether a file in this format, which is no table, hardly holds rows of another kind than the format's."""
    # In by-query, whole numbers may be grades or scores. In json-topics, titles may be those of products.
    if format in ("by-query", "json-topics"):
        return False
    if format == "trec-run":
        return not trec.doubt(start)
    if format == "trec-qrels":
        # Qrels have one iteration or few. Where the second column has many values, the file may be the output of
        # trec_eval for several runs (run, measure, query, value), which fits the four columns of qrels, too.
        return trec.has_few_iterations(start)
    if format != "topics" or start.text.lstrip().startswith("<"):
        return True
    # Topics on lines of key, tab, text. If all texts are numbers or ids, they may be grades or documents.
    last_cells = [cells[-1].strip() for cells in header.first_records(start, "\t")]
    are_all_ids = all(" " not in cell and re.search("[0-9]", cell) for cell in last_cells)
    # A table with a header may hold rows of any kind. None: the first line may be one.
    may_have_header = header.has_header("queries", start, "\t") is not False
    return not are_all_ids and not may_have_header
