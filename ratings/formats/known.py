"""All formats: what each is called, how it is known, which rows it holds, and who reads and writes them.

The commands and the import page take their lists from here.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from . import jsonl, letor, opensearch, parquet, quepid, rankquest, rre, tables, topics, trec
from .refusal import Refusal
from .source import Source, Start

KINDS = ("queries", "documents", "results", "ratings")
# How rows name their query. Tables may have either in the same column, so both are tried.
KEY, TEXT, EITHER = "key", "text", "either"

Reader = Callable[[Source], Iterator]
Writer = Callable[[Iterable], Iterator[str | bytes]]


class Format(NamedTuple):
    name: str
    title: str
    fits: Callable[[str, Start], bool]  # kind of row, first bytes
    reads: Mapping[str, Reader]  # by kind of row
    writes: Mapping[str, Writer]  # by kind of row, or "judgments": one grade a pair, and no rater
    queries_by: str = KEY
    whole: bool = False  # holds only grades that are whole and not negative
    binary: bool = False
    by_rows: bool = False  # what it refuses is one row or one cell; all others are read
    spreadsheet: bool = False  # opened by people, and kept from being computed
    ending: str = "txt"  # of a file's name
    # Results at their fastest, where there is such a way: many lines at a time, if the file allows it.
    reads_stretches: Reader | None = None

    def written(self, kind: str, rows: Iterable, *, raw: bool = False) -> Iterator[str | bytes]:
        """The rows in this format. `raw`: cells as they are, even those that a spreadsheet would compute."""
        write = self.writes[kind]
        return write(rows, raw=raw) if self.spreadsheet else write(rows)


def _always(fits: Callable[[Start], bool]) -> Callable[[str, Start], bool]:
    return lambda kind, start: fits(start)


def _table(name: str, title: str, fits: Callable, read: Callable, writes: Mapping, **more) -> Format:
    return Format(name, title, fits, {kind: partial(read, kind) for kind in KINDS}, writes, EITHER, **more)


# The first that fits is taken, so what is told by more comes before what is told by less.
FORMATS = (
    Format(
        "quepid-book",
        "Quepid book (JSON)",
        _always(quepid.is_book),
        {
            "queries": quepid.read_book_queries,
            "documents": quepid.read_book_documents,
            "ratings": quepid.read_book_ratings,
        },
        {},
        TEXT,
    ),
    Format(
        "quepid-snapshot",
        "Quepid snapshot (JSON)",
        _always(quepid.is_snapshot),
        {
            "queries": quepid.read_case_queries,
            "documents": quepid.read_snapshot_documents,
            "results": quepid.read_snapshot_results,
            "ratings": quepid.read_case_ratings,
        },
        {},
        TEXT,
    ),
    Format(
        "quepid-case",
        "Quepid case, or its ratings (JSON)",
        _always(quepid.is_case),
        {"queries": quepid.read_case_queries, "ratings": quepid.read_case_ratings},
        {},
        TEXT,
    ),
    Format(
        "opensearch",
        "OpenSearch judgment list (JSON)",
        _always(opensearch.is_judgment_list),
        {"queries": opensearch.read_judged_queries, "ratings": opensearch.read_ratings},
        {"judgments": opensearch.write_judgments},
        TEXT,
        ending="json",
    ),
    Format(
        "opensearch-queries",
        "OpenSearch query set (JSON)",
        _always(opensearch.is_query_set),
        {"queries": opensearch.read_queries},
        {},
        TEXT,
    ),
    Format(
        "rre",
        "Rated Ranking Evaluator (JSON)",
        _always(rre.is_ratings),
        {"queries": rre.read_queries, "ratings": rre.read_ratings},
        {"judgments": rre.write_judgments},
        TEXT,
        ending="json",
    ),
    Format(
        "rankquest",
        "Rankquest Studio (JSON)",
        _always(rankquest.is_rated_searches),
        {"queries": rankquest.read_queries, "ratings": rankquest.read_ratings},
        {"judgments": rankquest.write_judgments},
        TEXT,
        whole=True,
        ending="json",
    ),
    _table(
        "parquet",
        "Parquet",
        _always(parquet.is_parquet),
        tables.read_parquet,
        {"results": parquet.write_run, "ratings": parquet.write_ratings, "judgments": parquet.write_judgments},
        binary=True,
        by_rows=True,
        ending="parquet",
    ),
    Format(
        "letor",
        "LTR: RankLib, SVMrank, LETOR",
        _always(letor.is_letor),
        {"queries": letor.read_queries, "ratings": letor.read_ratings},
        {"judgments": letor.write_judgments},
        whole=True,
        by_rows=True,
    ),
    Format(
        "jsonl",
        "a JSON object on each line",
        tables.is_lines_of_json,
        {
            "queries": partial(tables.read_lines_of_json, "queries"),
            "documents": jsonl.read_documents,
            "results": partial(tables.read_lines_of_json, "results"),
            "ratings": partial(tables.read_lines_of_json, "ratings"),
        },
        {
            "results": tables.write_run_as_json,
            "ratings": tables.write_ratings_as_json,
            "judgments": tables.write_judgments_as_json,
        },
        EITHER,
        by_rows=True,
        ending="jsonl",
    ),
    _table(
        "csv",
        "comma-, semicolon- or tab-separated values with a header",
        tables.is_delimited,
        tables.read_delimited,
        {"results": tables.write_run, "ratings": tables.write_ratings, "judgments": tables.write_judgments},
        by_rows=True,
        spreadsheet=True,
        ending="csv",
    ),
    Format(
        "quepid-book-csv",
        "Quepid book (CSV, a column a rater, without comments, times and reasons); read as csv",
        lambda kind, start: False,
        {},
        {"ratings": quepid.write_book},
        TEXT,
        spreadsheet=True,
        ending="csv",
    ),
    Format(
        "quepid-csv",
        "Quepid ratings (CSV); read as csv",
        lambda kind, start: False,
        {},
        {"judgments": quepid.write_judgments},
        TEXT,
        spreadsheet=True,
        ending="csv",
    ),
    Format(
        "trec-run",
        "TREC run",
        _always(trec.is_run),
        {"results": trec.read_run},
        {"results": trec.write_run},
        ending="run",
        reads_stretches=trec.read_stretches,
    ),
    Format(
        "trec-qrels",
        "TREC qrels",
        _always(trec.is_qrels),
        {"ratings": trec.read_qrels},
        {"judgments": trec.write_qrels},
        whole=True,
        by_rows=True,
        ending="qrels",
    ),
    Format(
        "topics",
        "TREC topics (SGML or XML), or lines of key, tab, text",
        _always(topics.is_topics),
        {"queries": topics.read_topics},
        {},
    ),
)
BY_NAME = {format.name: format for format in FORMATS}
TELLING = {"trec-run", "trec-qrels"}  # text that can hardly be anything else, and that knows it of each other
SAVE_AS_CSV = "Save its sheet as CSV, and import that."
# A comment is taken as a whole: many of them would otherwise be split in all ways.
_HTML = re.compile(r"\s*(<\?xml[^>]*>\s*)?(?><!--.*?-->\s*)*<(!doctype\s+html|html|head|body)\b", re.I | re.S)
_ZIP, _OLD_OFFICE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IN_XLSX = re.compile(rb"xl/(workbook|worksheets|sharedStrings|styles|theme)")
LIKELY = ("ratings", "results", "documents", "queries")  # where the columns tell no more


def readable(kind: str) -> list[Format]:
    return [format for format in FORMATS if kind in format.reads]


def writable(kind: str) -> list[Format]:
    return [format for format in FORMATS if kind in format.writes]


def recognised(source: Source, kind: str, default: str) -> Format | Refusal:
    """The format that the first bytes of `source` show.

    Text that shows none is tried as `default`, whose refusals say more than that no format is known.
    """
    start = source.start
    if what := stranger(start):
        return source.refusal(0, *what)
    found = next((format for format in readable(kind) if format.fits(kind, start)), None)
    if found and found.name != default:
        source.told.append(f"{source.name}: read as {found.name}, {found.title}.")
    if found:
        return found
    other = next((f for f in FORMATS if kind not in f.reads and any(f.fits(k, start) for k in f.reads)), None)
    tells = other and other.name in TELLING and default not in TELLING
    if not tells and (default == "jsonl" or not start.text.lstrip().startswith(("{", "["))):
        return BY_NAME[default]
    problem = (
        f"it is in the format {other.name}, which has only {' and '.join(other.reads)}"
        if other
        else "it is unknown JSON"
    )
    known = ", ".join(format.name for format in readable(kind))
    return source.refusal(1, problem, f"There are {known} for {kind}; choose one with --format.")


def stranger(start: Start) -> tuple[str, str] | None:
    """What a file is that people send by mistake and no format has, and the cure. None where it may hold rows."""
    if _HTML.match(start.text):
        return "it is an HTML page, perhaps a sign-in page", "Download the file again while signed in."
    if start.data.startswith(_OLD_OFFICE) or (start.data.startswith(_ZIP) and _IN_XLSX.search(start.data)):
        return "it is an Excel workbook", SAVE_AS_CSV
    if start.data.startswith(_ZIP):
        if b"opendocument.spreadsheet" in start.data[:200]:
            return "it is an OpenDocument spreadsheet", SAVE_AS_CSV
        return "it is a ZIP archive", "Unpack it, and import what lies in it."
    return None


def kind_of(source: Source, *, has_queries: bool) -> str | None:
    """The kind of row that the first bytes show: of a table the one that uses most of its columns.

    What may be several, as a book of Quepid, is taken for its queries until the collection has some. None where
    nothing tells. Nothing else can be read from `source` after it. Raises ValueError for what no format has.
    """
    start = source.start
    if what := stranger(start):
        problem, cure = what
        raise ValueError(f"{problem[0].upper()}{problem[1:]}. {cure}")
    fits = {kind: next((f for f in readable(kind) if f.fits(kind, start)), None) for kind in KINDS}
    names = {name: tables.columns_of(name, source) for name in {f.name for f in fits.values() if f}}
    used = {kind: _used(kind, names[format.name]) for kind, format in fits.items() if format}
    order = LIKELY if has_queries else ("queries", *LIKELY)
    likeliest = max(order, key=lambda kind: used.get(kind, 0))
    return likeliest if used.get(likeliest) else None


def _used(kind: str, columns: list[str]) -> float:
    """How many of the columns rows of `kind` can use; 1 where there are no columns.

    Any column may be a rater, so all raters together count less than one column that is known.
    """
    try:
        layout = tables.layout_of(kind, columns, {}) if columns else None
    except ValueError:
        return 0
    return len(layout.column) + 0.5 * bool(layout.raters) if layout else 1
