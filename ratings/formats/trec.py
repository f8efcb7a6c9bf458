"""TREC runs (six columns) and qrels (four columns), with tabs or blanks between them."""

import math
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import islice, pairwise, repeat
from typing import Any

import numpy as np

from . import values
from .refusal import Cure, Option, Refusal
from .rows import Grades, RatingLine, RunLine, Stretch, taken
from .source import BOM, START, Block, Source, Start, lines_of
from .values import KEY, NUMBER

RUN = "query", "q0", "document", "rank", "score", "system"
QRELS = "query", "iteration", "document", "grade"
MOST_RANK = 10**18
AHEAD = 2  # blocks that are read at the same time
NOT_REGULAR = b"\r", b"\x7f", BOM
_other_blank = re.compile(r"[^\S \n]")

# One expression reads a whole line; only a line that does not match is examined cell by cell.
_blanks = " \t\v\f\r"
_gap = r"[ \t\v\f]+"
_query = rf"({KEY}{{1,{values.QUERY_KEY_LENGTH}}})"
_document = rf"({KEY}{{1,{values.DOCUMENT_KEY_LENGTH}}})"
_system = rf"({KEY}{{1,{values.SYSTEM_NAME_LENGTH}}})"
_more = rf"([ \t\v\f][{_blanks}]*[^{_blanks}].*)?"
_run = re.compile(
    rf"[{_blanks}]*"
    + _gap.join([_query, r"\S+", _document, rf"({values.INTEGER})", rf"({NUMBER}[0-9]*+)", _system])
    + rf"{_more}[{_blanks}]*"
)
_qrels = re.compile(_gap.join([_query, r"\S+", _document, rf"([^{_blanks}]+)"]))

RUN_CURE = "A run has six columns: query, Q0, document, rank, score, system."
BLANK_CURE = "Write names of systems without blanks, for example with _ in place of each."
QRELS_CURE = "Qrels have four columns: query, iteration, document, grade."
HEADER_CURE = "If this line names the columns, remove it."
WIDTH_CURE = "Write as many columns in each line."
ARE_SYSTEMS = Option("system_from", "tag", "this is a run, and the sixth column names systems")
FEWEST_STEPS = 4  # from one rank to the next, all by one: so few may be grades by chance
MARK = "\ufeff"
MARKED = "the line begins with a byte order mark, as where files were joined"
_NO_KEY = f"#{MARK}"  # characters with which no query begins


def read_run(source: Source) -> Iterator[Stretch | Refusal]:
    """Results by ranking, a megabyte of lines at a time. Blank lines and those that begin with # are skipped."""
    for block, columns in _with_columns(source, RUN):
        if isinstance(block, Refusal):
            yield block
        else:
            yield from (columns and _regular_run(block, *columns)) or _run_lines(source, block)


def _regular_run(block: Block, query: Any, documents: Any, ranks: Any, scores: Any, system: Any) -> list[Stretch]:
    """The lines of a block by ranking, from the columns that `_regular` read at once; the fast way.

    [] where a value may have to be refused: then `_run_lines` looks at each line.
    query, system: Arrow arrays of codes, with the words in their dictionaries.
    """
    queries, systems = query.dictionary.to_pylist(), system.dictionary.to_pylist()
    ranks, scores = np.from_dlpack(ranks), np.from_dlpack(scores)
    numbers_fit = ((ranks > -MOST_RANK) & (ranks < MOST_RANK)).all() and np.isfinite(scores).all()
    if max(map(len, systems)) > values.SYSTEM_NAME_LENGTH or not numbers_fit:
        return []
    lines = np.arange(block.first, block.first + len(query))
    # A ranking is a query and a system, so that both codes together make its number.
    ranking = np.from_dlpack(query.indices).astype(np.int64) * len(systems) + np.from_dlpack(system.indices)
    if (ranking[1:] < ranking[:-1]).any():
        # The lines of a ranking may be apart: bring them together, in their order.
        order = np.argsort(ranking, kind="stable")
        ranking, lines, documents = ranking[order], lines[order], taken(documents, order)
        ranks, scores = ranks[order], scores[order]
    begins = np.flatnonzero(np.append(True, ranking[1:] != ranking[:-1])).tolist()
    stretches = []
    for begin, end in pairwise([*begins, len(ranking)]):
        of_query, of_system = divmod(int(ranking[begin]), len(systems))
        rows = slice(begin, end)
        columns = lines[rows], documents[rows], ranks[rows], scores[rows]
        stretches.append(Stretch(queries[of_query], systems[of_system], *columns))
    return stretches


def _with_columns(source: Source, names: tuple[str, ...]) -> Iterator[tuple[Block | Refusal, list[Any]]]:
    """The blocks of a file, each with what `_regular` makes of it while those before are used."""
    waiting = deque()
    with ThreadPoolExecutor(AHEAD) as pool:
        for block in source.blocks():
            waiting.append((block, pool.submit(_regular, block, names)))
            if len(waiting) > AHEAD:
                before, columns = waiting.popleft()
                yield before, columns.result()
        for block, columns in waiting:
            yield block, columns.result()


def _regular(block: Block | Refusal, names: tuple[str, ...]) -> list[Any]:
    """The columns of a block as Arrow arrays, but for the second, of which nothing is kept.

    [] where a line is not regular: it has another number of cells, more than a blank or a tab between two,
    another invisible character, a comment, a key that is too long, or a word for a number.
    """
    import pyarrow as pa  # takes a sixth of a second, and few commands read files
    from pyarrow import compute, csv

    if isinstance(block, Refusal):
        return []
    text = block.lines + b"\n"
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if b"\t" in text:
        text = text.replace(b"\t", b" ")
    blank = np.frombuffer(text, np.uint8) <= ord(" ")
    if blank[0] or (blank[1:] & blank[:-1]).any() or any(mark in text for mark in NOT_REGULAR):
        return []
    if any(letter in text and b" 0" + letter in text for letter in (b"x", b"X")):
        return []  # Arrow reads 0x1f as a whole number
    few = pa.dictionary(pa.int32(), pa.string())  # a column of few different words
    types = {"document": pa.string(), "rank": pa.int64(), "score": pa.float64()}
    types, kept = {name: types.get(name, few) for name in names}, [names[0], *names[2:]]
    try:
        if not text.isascii() and _other_blank.search(text.decode()):
            return []
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text) + 1),
            csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=types, include_columns=kept, null_values=[]),
        )
    except (UnicodeDecodeError, pa.ArrowInvalid):
        return []
    if np.count_nonzero(blank) != len(names) * table.num_rows:
        return []
    query, document, *others = (column.combine_chunks() for column in table.columns)
    keys, longest = query.dictionary.to_pylist(), compute.max(compute.utf8_length(document)).as_py()
    if longest > values.DOCUMENT_KEY_LENGTH or max(map(len, keys)) > values.QUERY_KEY_LENGTH:
        return []
    return [] if any(key.startswith("#") for key in keys) else [query, document, *others]


def _run_lines(source: Source, block: Block) -> Iterator[Stretch | Refusal]:
    """The lines of a block, each looked at by itself."""
    rankings = defaultdict(list)
    for item in lines_of(source, block):
        found = item if isinstance(item, Refusal) else _run_line(source, *item)
        if isinstance(found, Refusal):
            yield from _stretches(rankings)
            rankings.clear()
            yield found
        elif found:
            rankings[found[:2]].append((item.number, *found[2:]))
    yield from _stretches(rankings)


def _run_line(source: Source, number: int, text: str) -> tuple[str, str, str, int, float, bool] | Refusal | None:
    """Query, system, document, rank and score, and whether the line has more columns; None for an empty one."""
    cells = _run.fullmatch(text)
    score = float(cells[4]) if cells else math.nan
    if math.isfinite(score) and cells[1][0] not in _NO_KEY:
        query, document, rank, _, system, more = cells.groups()
        if more is not None and text.strip(_blanks).count("\t") == 5:
            # Tabs separate the columns, so the name has blanks. By first words two systems would become one.
            name = values.quoted(text.strip(_blanks).rpartition("\t")[2])
            return source.refusal(number, f"the name of the system {name} has a blank", BLANK_CURE)
        return query, system, document, int(rank), score, more is not None
    if text := _filled(source, text):
        cells = _cells(text)
        return source.refusal(number, *_marked(text) or (_wrong_in_run(cells), *_run_cure(cells)))
    return None


def _stretches(rankings: dict[tuple[str, str], list[tuple[int, str, int, float, bool]]]) -> Iterator[Stretch]:
    import pyarrow as pa

    for (query, system), rows in rankings.items():
        lines, documents, ranks, scores, extra = zip(*rows, strict=True)
        documents = pa.array(documents, pa.string())
        yield Stretch(query, system, np.array(lines), documents, np.array(ranks), np.array(scores), sum(extra))


def read_qrels(source: Source) -> Iterator[RatingLine | Refusal]:
    """Grades in the order of the file. Blank lines and lines that begin with # are skipped."""
    for each in read_grades(source):
        if isinstance(each, Refusal):
            yield each
        else:
            keys = each.queries.to_pylist(), each.documents.to_pylist()
            yield from map(RatingLine, each.lines.tolist(), *keys, repeat(""), each.grades)


def read_grades(source: Source) -> Iterator[Grades | Refusal]:
    """The same, a megabyte of lines at a time."""
    for block, columns in _with_columns(source, QRELS):
        if isinstance(block, Refusal):
            yield block
        else:
            yield from (columns and _regular_grades(source, block, *columns)) or _grade_lines(source, block)


def _regular_grades(source: Source, block: Block, query: Any, document: Any, grade: Any) -> list[Grades]:
    """The lines of a block, of these columns; [] where one is not regular."""
    try:
        grades = [_grade(source, text) for text in grade.dictionary.to_pylist()]
    except ValueError:
        return []
    lines = np.arange(block.first, block.first + len(query))
    return [Grades(lines, query, document, [grades[i] for i in grade.indices.to_pylist()])]


def _grade_lines(source: Source, block: Block) -> Iterator[Grades | Refusal]:
    """The lines of a block, each looked at by itself."""
    import pyarrow as pa

    rows = []

    def found() -> Iterator[Grades]:
        if rows:
            lines, queries, documents, grades = zip(*rows, strict=True)
            queries = pa.array(queries, pa.string()).dictionary_encode()
            yield Grades(np.array(lines), queries, pa.array(documents, pa.string()), list(grades))
            rows.clear()

    for item in lines_of(source, block):
        row = item if isinstance(item, Refusal) else _grade_line(source, *item)
        if isinstance(row, Refusal):
            yield from found()
            yield row
        elif row:
            rows.append((item.number, *row))
    yield from found()


def _grade_line(source: Source, number: int, text: str) -> tuple[str, str, Decimal] | Refusal | None:
    """Query, document and grade; None for an empty line."""
    if not (text := _filled(source, text)):
        return None
    cells = _qrels.fullmatch(text)
    try:
        if cells is None or text[0] == MARK:
            raise ValueError(_wrong_in_qrels(_cells(text)))
        return cells[1], cells[2], _grade(source, cells[3])
    except ValueError as error:
        return source.refusal(number, *_marked(text) or (str(error), *_qrels_cure(_cells(text))))


def _grade(source: Source, text: str) -> Decimal:
    """The grade, of a number or of a word that people gave one. Raises ValueError."""
    return source.reading.grades[text] if text in source.reading.grades else values.grade(text)


def write_run(rows: Iterable[RunLine]) -> Iterator[str]:
    """Lines of a run. Reading a score gives the same float again. Raises ValueError as `_readable` does."""
    return (f"{_readable(row.query)} Q0 {row.document} {row.rank} {row.score!r} {row.system}\n" for row in rows)


def write_qrels(rows: Iterable[RatingLine]) -> Iterator[str]:
    """Lines of qrels, for whole grades only. Raises ValueError as `_readable` does."""
    return (f"{_readable(row.query)} 0 {row.document} {row.grade:.0f}\n" for row in rows)


def _readable(query: str) -> str:
    """The key. Raises ValueError for one with which no line can begin."""
    if query[0] in _NO_KEY:
        what = "a comment" if query[0] == "#" else "one with a byte order mark"
        problem = f"a line of query {values.quoted(query)} would be read as {what}"
        raise ValueError(f"{problem}: choose csv or another table")
    return query


def is_run(start: Start) -> bool:
    cells = _first_cells(start)
    return len(cells) >= 6 and bool(re.fullmatch(values.INTEGER, cells[3]) and re.fullmatch(NUMBER, cells[4]))


def is_qrels(start: Start) -> bool:
    cells = _first_cells(start)
    return len(cells) == 4 and bool(re.fullmatch(NUMBER, cells[3]))


def has_one_iteration(start: Start) -> bool:
    """Whether the second column is the same in the first lines, unlike in the output of trec_eval."""
    return len({cells[1] for cells in _lines(start) if len(cells) == 4}) == 1


def is_nearly_qrels(start: Start) -> bool:
    """Whether the first line has a word as grade, or a column less or more and a number where one expects it."""
    cells = _first_cells(start)
    if len(cells) == 4:
        return _is_number(cells[1])
    return len(cells) in (3, 5) and _is_number(cells[min(len(cells), 4) - 1])


def has_columns(start: Start) -> bool:
    """Whether blanks part the first lines into equally many columns, of which there are three or more."""
    widths = {len(cells) for cells in islice(_lines(start), 20)}
    return len(widths) == 1 and min(widths) > 2


def records(source: Source) -> Iterator[tuple[int, list[str]] | Refusal]:
    """The cells of each line, as many as the first has; for tables of which people choose the columns."""
    width = 0
    for item in source.lines():
        if isinstance(item, Refusal):
            yield item
        elif text := _filled(source, item.text):
            cells = _cells(text)
            width = width or len(cells)
            if len(cells) == width:
                yield item.number, cells
            else:
                yield source.refusal(item.number, f"{_columns(cells)}, the first line has {width}", WIDTH_CURE)


# Six columns are a run, or qrels with the grades of several aspects, or with a time and a rater.


def doubt(start: Start) -> tuple[str, Option] | None:
    """Why lines of six columns or more may be qrels, and how to read them so; None for a run and other text.

    Of a run the second column is one word and the sixth is no number, or the fourth counts in each ranking.
    """
    rows = [cells for cells in _lines(start) if len(cells) > 5 and all(map(_is_number, cells[3:5]))]
    if not rows:
        return None
    seconds, aspects = {cells[1] for cells in rows}, all(_is_number(cells[5]) for cells in rows)
    if (len(seconds) == 1 and not aspects and not any(map(_is_number, seconds))) or _count_ranks(rows):
        return None
    grade = {"query": "1", "document": "3", "grade": "4"}
    width = len(rows[0])
    if aspects:
        problem = f"the last {width - 3} of {width} columns are numbers, as grades for several aspects are"
        return problem, Option("columns", grade, "the fourth column is the grade")
    problem = f"the fourth of {width} columns may be a grade or a rank"
    return problem, Option("columns", grade | {"rater": "6"}, "it is the grade, and the sixth is the rater")


def _count_ranks(rows: list[list[str]]) -> bool:
    """Whether the ranks of each ranking count from the same number, in more steps than grades would by chance."""
    ranks = defaultdict(list)
    for query, _, _, rank, _, system, *_ in rows:
        if not re.fullmatch(values.INTEGER, rank):
            return False
        ranks[query, system].append(int(rank))
    first = min(map(min, ranks.values()))
    count = all(sorted(each) == list(range(first, first + len(each))) for each in ranks.values())
    return count and len(rows) - len(ranks) >= FEWEST_STEPS


def _is_number(cell: str) -> bool:
    return re.fullmatch(NUMBER, cell) is not None


def _lines(start: Start) -> Iterator[list[str]]:
    """The cells of the first lines that are neither blank nor comments, without one that may be cut off."""
    lines = start.text.split("\n")
    lines = (line.strip(_blanks) for line in (lines[:-1] if len(start.data) >= START else lines))
    return (_cells(line) for line in lines if line and not line.startswith("#"))


def _first_cells(start: Start) -> list[str]:
    """The cells of the first line that is neither blank nor a comment."""
    return next(_lines(start), [""])


def _filled(source: Source, text: str) -> str:
    """The line without blanks around it; "" for a comment. Counts comments in `source`."""
    text = text.strip(_blanks)
    comment = text.startswith("#")
    source.comments += comment
    return "" if comment else text


def _cells(text: str) -> list[str]:
    return re.split(_gap, text)


def _marked(text: str) -> tuple[str, ...]:
    """The problem and the cure of a line that begins with a byte order mark; () for another line."""
    return (MARKED, "Remove the mark, or import the files one by one.") if text[0] == MARK else ()


def _columns(cells: list[str]) -> str:
    return f"there is {len(cells)} column" if len(cells) == 1 else f"there are {len(cells)} columns"


def _wrong_in_run(cells: list[str]) -> str:
    if len(cells) < 6:
        return f"{_columns(cells)}, a run needs six"
    query, _, document, rank, score, system = cells[:6]
    try:
        values.checked_key(query, "query", values.QUERY_KEY_LENGTH)
        values.checked_key(document, "document", values.DOCUMENT_KEY_LENGTH)
        values.integer(rank, "rank")
        values.number(score, "score")
        values.checked_key(system, "system", values.SYSTEM_NAME_LENGTH)
    except ValueError as error:
        return str(error)
    return "the line cannot be read as a run"


def _wrong_in_qrels(cells: list[str]) -> str:
    if len(cells) != 4:
        return f"{_columns(cells)}, qrels have four"
    try:
        values.checked_key(cells[0], "query", values.QUERY_KEY_LENGTH)
        values.checked_key(cells[2], "document", values.DOCUMENT_KEY_LENGTH)
        values.grade(cells[3])
    except ValueError as error:
        return str(error)
    return "the line cannot be read as qrels"


def _run_cure(cells: list[str]) -> tuple[Cure, ...]:
    if len(cells) == 4 and re.fullmatch(NUMBER, cells[3]):
        return RUN_CURE, Option("kind", "qrels", "these are qrels")
    return (RUN_CURE, HEADER_CURE) if _are_names([cells[0], *cells[3:5]]) else (RUN_CURE,)


def _qrels_cure(cells: list[str]) -> tuple[Cure, ...]:
    if len(cells) >= 6:
        return QRELS_CURE, Option("kind", "results", "this is a run")
    if len(cells) == 5 and re.fullmatch(NUMBER, cells[3]):
        return QRELS_CURE, "If the fourth column is the grade, remove the fifth."
    if len(cells) == 5:
        return QRELS_CURE, "Preference files have five, and hold no grades."
    if len(cells) == 3:
        return QRELS_CURE, "Add the iteration, 0, as second column."
    header = [HEADER_CURE] if _are_names([cells[0], *cells[3:]]) else []
    word = len(cells) == 4 and not any(c in cells[3] for c in ",;") and not _is_number(cells[3])
    map_it = [Option("map", {cells[3]: None}, "the word stands for a grade")] if word else []
    return QRELS_CURE, *header, *map_it


def _are_names(cells: list[str]) -> bool:
    """Whether words stand where numbers should, as in a line that names the columns."""
    return len(cells) > 1 and not any(c.isdigit() for c in "".join(cells))
