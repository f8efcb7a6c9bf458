"""TREC runs (six columns) and qrels (four columns), with tabs or blanks between them.

Arrow reads regular lines, a megabyte at once. Where it may read a line otherwise than it stands, the lines of that
megabyte are read one by one, and each wrong one is refused with its cure.
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from itertools import islice, pairwise, repeat
from typing import Any

import numpy as np

from ..words import counted
from . import values
from .refusal import Cure, Option, Refusal, WrongCell, cures_of_word
from .rows import RatingLine, RunLine, Stretch, rows_or_refusals, taken
from .source import START_BYTES, Block, Line, Source, Start, lines_of
from .values import NUMBER

RUN_COLUMNS = "query", "q0", "document", "rank", "score", "system"
QRELS_COLUMNS = "query", "iteration", "document", "grade"
RANKS_BELOW = 10**18  # or above -RANKS_BELOW: what `values.integer` takes
BLOCKS_AHEAD = 2  # blocks that are read at the same time
_other_blank = re.compile(r"[^\S \n]|\ufeff")
_blanks = " \t\v\f\r"
_gap = re.compile(r"[ \t\v\f]+")

RUN_CURE = "A run has six columns: query, Q0, document, rank, score, system."
QRELS_CURE = "Qrels have four columns: query, iteration, document, grade."
TABS_CURE = "Put tabs between the columns, or write ids without blanks."
HEADER_CURE = "If this line names the columns, remove it."
WIDTH_CURE = "Write as many columns in each line."
TAGS_ARE_SYSTEMS = Option("system_from", "tag", "this is a run, and the sixth column names systems")
FEWEST_STEPS = 4  # from one rank to the next, each by one; fewer of them may be grades by chance
BYTE_ORDER_MARK = "\ufeff"
_NO_KEY = f"#{BYTE_ORDER_MARK}"  # characters with which no query begins

# The columns of many lines but for the second one, and "line", the number of each: Arrow arrays of strings, coded
# where many are equal, and NumPy arrays of numbers.
Columns = dict[str, Any]


def read_run(source: Source) -> Iterator[Stretch | Refusal]:
    """The results, as stretches: lines of one ranking. Blank lines and those that begin with # are skipped.

    A block of about a megabyte is read at a time, and gives one stretch for each ranking with lines in it. A note
    says how many lines have more than six columns.
    """
    for item in _columns(source, RUN_COLUMNS, fit=_are_results, read_line=_result):
        if isinstance(item, Refusal):
            yield item
        else:
            yield from _rankings(item)
    if source.lines_with_more_columns:
        lines = counted(source.lines_with_more_columns, "line")
        source.notes.append(f"{source.name}: {lines} with more than six columns; the rest was ignored.")


def _rankings(columns: Columns) -> Iterator[Stretch]:
    """A stretch for each ranking (the results of a system for a query) in these lines, with its lines in order.

    Two spellings of one system, such as a%20b and a%20%20b, give two stretches, which callers join as they do
    those of two blocks. `columns`: of a run, at least one line. Equal queries and systems have one code, an index
    of the `dictionary` of their column.
    """
    query, system, documents = (columns[name] for name in ("query", "system", "document"))
    numbers = [columns[name] for name in ("line", "rank", "score")]
    queries = query.dictionary.to_pylist()
    systems = list(map(values.system_name, system.dictionary.to_pylist()))
    # The ranking of each line as one number, int64[lines]: code of query * number of systems + code of system.
    codes = np.from_dlpack(query.indices).astype(np.int64) * len(systems) + np.from_dlpack(system.indices)
    if (codes[1:] < codes[:-1]).any():  # bring the lines of a ranking together, between which others may stand
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        documents = taken(documents, order)
        numbers = [array[order] for array in numbers]
    begins = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])).tolist()  # where the next ranking begins
    for begin, end in pairwise([*begins, len(codes)]):
        query_code, system_code = divmod(int(codes[begin]), len(systems))
        lines, ranks, scores = (array[begin:end] for array in numbers)
        yield Stretch(queries[query_code], systems[system_code], lines, documents[begin:end], ranks, scores)


def _are_results(columns: Columns) -> bool:
    """Whether no name, rank or score has to be refused."""
    if not _are_valid(columns["system"].dictionary.to_pylist(), values.system_name):
        return False
    ranks = columns["rank"]
    in_range = (ranks > -RANKS_BELOW) & (ranks < RANKS_BELOW)
    return bool(in_range.all() and np.isfinite(columns["score"]).all())


def _result(source: Source, text: str, cells: list[str]) -> tuple[str, str, int, float, str]:
    """(query, document, rank, score, system) of one line. Counts lines with more than six columns in `source`.

    `text`: the line. `cells`: its words, as tabs or blanks part them. Raises ValueError.
    """
    if len(cells) < 6:
        seem_qrels = len(cells) == 4 and _is_number(cells[3])  # a grade
        kind = [Option("kind", "qrels", "these are qrels")] if seem_qrels else []
        raise WrongCell(f"{_width(cells)}, a run needs six", RUN_CURE, *kind, *_columns_cure("rank", cells))
    query, _, document, rank, score, system = cells[:6]
    has_more = len(cells) > 6
    if has_more and text.count("\t") == 5:  # tabs part six columns, so the system's name has blanks
        system = text.rpartition("\t")[2]  # all of it: two systems may have the same first word
        has_more = False
    elif has_more and _is_number(system):  # a blank in an id would move each cell, and the rank become the score
        problem = f"{_width(cells)}, and the sixth is the number {system}, as if an id had a blank"
        raise WrongCell(problem, TABS_CURE)
    try:
        result = (
            values.checked_key(query, "query", values.QUERY_KEY_LENGTH),
            values.checked_key(document, "document", values.DOCUMENT_KEY_LENGTH),
            values.integer(rank, "rank"),
            values.number(score, "score"),
            values.system_name(system),
        )
    except ValueError as error:
        cures = [RUN_CURE, *_header_cure(query, rank, score), *_decimal_comma_cure(score)]
        raise WrongCell(str(error), *cures) from error
    source.lines_with_more_columns += has_more
    return result


def read_qrels(source: Source) -> Iterator[RatingLine | Refusal]:
    """Grades in the order of the file. Blank lines and lines that begin with # are skipped."""
    for columns in read_grades(source):
        if isinstance(columns, Refusal):
            yield columns
        else:
            keys = columns["query"].to_pylist(), columns["document"].to_pylist()
            grades = [columns["grades"][code] for code in columns["grade"].indices.to_pylist()]
            reasons = [values.NO_REASON if grade is None else "" for grade in grades]
            yield from map(RatingLine, columns["line"].tolist(), *keys, repeat(""), grades, reasons)


def read_grades(source: Source) -> Iterator[Columns | Refusal]:
    """The grades as columns, of about a megabyte of lines at a time.

    "grades" has the decimal of each code of the column "grade"; None: "cannot judge".
    """
    for columns in _columns(source, QRELS_COLUMNS, fit=partial(_are_grades, source), read_line=_judgment):
        if not isinstance(columns, Refusal):
            columns["grades"] = [_grade(source, text) for text in columns["grade"].dictionary.to_pylist()]
        yield columns


def _are_grades(source: Source, columns: Columns) -> bool:
    """Whether no grade has to be refused."""
    return _are_valid(columns["grade"].dictionary.to_pylist(), partial(_grade, source))


def _are_valid(texts: Iterable[str], check: Callable[[str], object]) -> bool:
    """Whether `check` raises no ValueError for any of the texts."""
    try:
        for text in texts:
            check(text)
    except ValueError:
        return False
    return True


def _judgment(source: Source, text: str, cells: list[str]) -> tuple[str, str, str]:
    """(query, document, grade) of one line of qrels, the grade as it stands there. Raises ValueError.

    `cells`: the words of the line. `text`, the line, is not used: the parameters are those of `_result`.
    """
    if len(cells) != 4:
        kind = [Option("kind", "results", "this is a run")] if len(cells) > 5 else []
        raise WrongCell(f"{_width(cells)}, qrels have four", QRELS_CURE, *kind, *_columns_cure("grade", cells))
    query, _, document, grade = cells
    try:
        values.checked_key(query, "query", values.QUERY_KEY_LENGTH)
        values.checked_key(document, "document", values.DOCUMENT_KEY_LENGTH)
        _grade(source, grade)
    except ValueError as error:
        # A word may stand for a grade. One with a comma or semicolon is rather several columns.
        is_word = not _is_number(grade) and not any(sign in grade for sign in ",;")
        cures = [QRELS_CURE, *_header_cure(query, grade), *_decimal_comma_cure(grade)]
        cures += cures_of_word(grade) if is_word else []
        raise WrongCell(str(error), *cures) from error
    return query, document, grade


def _grade(source: Source, text: str) -> Decimal | None:
    """The grade, of a number or of a word to which people gave one; None: "cannot judge". Raises ValueError."""
    return source.reading.grades[text] if text in source.reading.grades else values.grade(text)


def _width(cells: list[str]) -> str:
    return f"there is {len(cells)} column" if len(cells) == 1 else f"there are {len(cells)} columns"


def _columns_cure(number: str, cells: list[str]) -> list[Cure]:
    """How to read lines of three columns or five as a table; `number`: what stands behind the document."""
    columns = {3: ("1", "2", "3"), 5: ("1", "3", "4")}.get(len(cells))
    if columns is None:
        return []
    places: dict[str, str | None] = dict(zip(("query", "document", number), columns, strict=True))
    held = f"the query, the document and the {number} are in columns {columns[0]}, {columns[1]} and {columns[2]}"
    return [Option("columns", places, held)]


def _header_cure(*cells: str) -> list[Cure]:
    """The cure of a line that may name the columns: these cells, some of which should be numbers, lack digits."""
    return [] if any(letter.isdigit() for letter in "".join(cells)) else [HEADER_CURE]


# Columns at once, or line by line


def _columns(
    source: Source, names: tuple[str, ...], fit: Callable[[Columns], bool], read_line: Callable
) -> Iterator[Columns | Refusal]:
    """The columns of a file, block by block.

    `fit`: whether all values of columns that Arrow read can stay. If not, `read_line` reads the lines one by one.
    """
    for block, columns in _blocks_with_columns(source, names):
        if isinstance(block, Refusal):
            yield block
        elif columns and fit(columns):
            yield columns
        else:
            yield from _line_by_line(source, block, names, read_line)


def _blocks_with_columns(source: Source, names: tuple[str, ...]) -> Iterator[tuple[Block | Refusal, Columns]]:
    """Each block of a file with its columns by `_columns_by_arrow`, which threads read in advance."""
    waiting = deque()
    with ThreadPoolExecutor(BLOCKS_AHEAD) as pool:
        for block in source.blocks():
            waiting.append((block, pool.submit(_columns_by_arrow, block, names)))
            if len(waiting) > BLOCKS_AHEAD:
                before, columns = waiting.popleft()
                yield before, columns.result()
        for block, columns in waiting:
            yield block, columns.result()


def _columns_by_arrow(block: Block | Refusal, names: tuple[str, ...]) -> Columns:
    """The columns of a block but the second, read by Arrow; {} where its lines must be read one by one.

    That is where a line has another number of cells, an invisible character that Arrow takes otherwise, a comment,
    a key that is too long, or no number where one belongs; also for a refusal. `names`: of all columns, in order.
    """
    import pyarrow as pa  # takes a sixth of a second, and few commands read files
    from pyarrow import compute, csv

    text, separator_count = _with_single_blanks(block.lines) if isinstance(block, Block) else (b"", 0)
    if not text:
        return {}
    repeated_word = pa.dictionary(pa.int32(), pa.string())  # for a column of few different words
    types = {"document": pa.string(), "rank": pa.int64(), "score": pa.float64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text)),
            csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types={name: types.get(name, repeated_word) for name in names},
                include_columns=[names[0], *names[2:]],
                null_values=[],  # no word, such as NA, stands for a missing value
            ),
        )
    except pa.ArrowInvalid:
        return {}
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    queries = columns["query"].dictionary.to_pylist()
    cell_count = len(names) * table.num_rows
    # `separator_count` counts blanks, line ends and all other control characters. Behind each cell but the last
    # stands one blank or line end, so any further one is a control character in a cell.
    has_control_character = separator_count != cell_count - 1
    has_comment = any(query.startswith("#") for query in queries)
    longest_query = max(map(len, queries))
    longest_document = compute.max(compute.utf8_length(columns["document"])).as_py()
    has_long_key = longest_query > values.QUERY_KEY_LENGTH or longest_document > values.DOCUMENT_KEY_LENGTH
    if has_control_character or has_comment or has_long_key:
        return {}
    numbers = {name: np.from_dlpack(columns[name]) for name in columns.keys() & {"rank", "score"}}
    return columns | numbers | {"line": np.arange(block.first, block.first + table.num_rows)}


def _with_single_blanks(lines: bytes) -> tuple[bytes, int]:
    """The lines with a single blank between two cells and none at an end, and the number of separators in them.

    Separators are blanks, line ends and other control characters (`_separators`). The caller knows how many the
    cells need. If there are more, a control character stands in a cell.
    (b"", 0) where the lines have a character that Arrow takes otherwise than `_line_by_line` does.
    """
    text = lines.replace(b"\t", b" ")
    if b"\r" in text:  # a search for \r\n in every line takes ten times as long
        # The last line has no \n here, but may have the \r that stood before it.
        text = text.replace(b"\r\n", b"\n").removesuffix(b"\r")
    # Arrow would end a line at any other \r, and take \x7f (delete) as a part of a key, where `_line_by_line`
    # refuses either.
    if b"\r" in text or b"\x7f" in text:
        return b"", 0
    separators = _separators(text)
    is_at_an_end = separators[:1].any() or separators[-1:].any()  # a slice, since the text may be empty
    # As where a line is blank, or begins or ends with a blank. Most files need not be written anew.
    if is_at_an_end or (separators[1:] & separators[:-1]).any():
        text = b"\n".join(b" ".join(line.split()) for line in text.split(b"\n"))
        separators = _separators(text)
    # Arrow would read a rank of 0x1f, but not one of -0x1f, as a whole number. A rank stands behind a blank. The
    # first search, of a single byte, is much faster.
    if any(letter in text and b" 0" + letter in text for letter in (b"x", b"X")):
        return b"", 0
    # A blank such as the no-break space, or a byte order mark: Arrow would take it as a part of a key.
    if not text.isascii() and _other_blank.search(text.decode(errors="replace")):
        return b"", 0
    return text, int(np.count_nonzero(separators))


def _separators(text: bytes) -> np.ndarray:
    """Whether each byte is a blank, a line end or another control character: bool[bytes]."""
    return np.frombuffer(text, np.uint8) <= ord(" ")


def _line_by_line(
    source: Source, block: Block, names: tuple[str, ...], read: Callable
) -> Iterator[Columns | Refusal]:
    """The refusals of the wrong lines in a block, and then the columns of all others.

    `names`: of all columns, in order. `read`: `_result` or `_judgment`, which makes a row of (source, line, its
    cells) or raises ValueError.
    """
    import pyarrow as pa

    def row_of(line: tuple[int, str, list[str]]) -> Iterator[tuple]:
        number, text, cells = line
        if text[0] == BYTE_ORDER_MARK:
            problem = "the line begins with a byte order mark, as where files were joined"
            raise WrongCell(problem, "Remove the mark, or import the files one by one.")
        yield number, *read(source, text, cells)

    rows = []
    # No cure is given here, as `read` and `row_of` raise WrongCell, which has one.
    for item in rows_or_refusals(source, _with_cells(source, lines_of(source, block)), row_of, ""):
        if isinstance(item, Refusal):
            yield item
        else:
            rows.append(item)
    if not rows:
        return
    columns: Columns = {}
    names_in_rows = ["line", names[0], *names[2:]]  # the second column, from which nothing is read, is not there
    for name, cells_of_column in zip(names_in_rows, zip(*rows, strict=True), strict=True):
        if name in ("line", "rank", "score"):
            columns[name] = np.array(cells_of_column)
        else:
            texts = pa.array(cells_of_column, pa.string())
            columns[name] = texts if name == "document" else texts.dictionary_encode()  # many are equal
    yield columns


def _with_cells(source: Source, items: Iterable[Line | Refusal]) -> Iterator[tuple[int, str, list[str]] | Refusal]:
    """The number, the text and the cells of each line that is neither blank nor a comment. Counts comments."""
    for item in items:
        if isinstance(item, Refusal):
            yield item
            continue
        text = item.text.strip(_blanks)
        if text.startswith("#"):
            source.comments += 1
        elif text:
            yield item.number, text, _gap.split(text)


def records(source: Source) -> Iterator[tuple[int, list[str]] | Refusal]:
    """The number and the cells of each line; a line with more or fewer cells than the first is refused.

    For tables without named columns, which people choose by their numbers.
    """
    width = 0  # cells of the first line; 0 before it

    def record_of(line: tuple[int, str, list[str]]) -> Iterator[tuple[int, list[str]]]:
        nonlocal width
        number, _, cells = line
        width = width or len(cells)
        if len(cells) != width:
            raise ValueError(f"{_width(cells)}, the first line has {width}")
        yield number, cells

    return rows_or_refusals(source, _with_cells(source, source.lines()), record_of, WIDTH_CURE)


def write_run(rows: Iterable[RunLine]) -> Iterator[str]:
    """Lines of a run. Reading gives the same scores and names of systems. Raises ValueError as `_readable`."""
    for row in rows:
        system = row.system.replace(" ", values.BLANK)
        yield f"{_readable(row.query)} Q0 {row.document} {row.rank} {row.score!r} {system}\n"


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
    return len(cells) >= 6 and bool(re.fullmatch(values.INTEGER, cells[3])) and _is_number(_pointed(cells[4]))


def is_qrels(start: Start) -> bool:
    cells = _first_cells(start)
    return len(cells) == 4 and _is_number(_pointed(cells[3]))


def has_few_iterations(start: Start) -> bool:
    """Whether the second column of the first lines has few values, unlike in the output of trec_eval."""
    iterations = [cells[1] for cells in islice(_lines(start), 20) if len(cells) == 4]
    return len(set(iterations)) <= max(1, len(iterations) // 2)


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


# Six columns are a run, or qrels with the grades of several aspects, or with a time and a rater.


def doubt(start: Start) -> tuple[str, Option] | None:
    """Why lines of six columns or more may be qrels, and the option that reads them so; None for any other text.

    Some qrels have so many columns: the grades of several aspects, or a grade with a time and a rater.
    They are surely a run where the second column is the same word in all lines and the sixth is no number, or
    where the fourth column counts the places of each ranking.
    """
    # Lines with a rank and a score.
    rows = [cells for cells in _lines(start) if len(cells) > 5 and all(map(_is_number, cells[3:5]))]
    if not rows:
        return None
    second_cells = {cells[1] for cells in rows}
    has_q0 = len(second_cells) == 1 and not any(map(_is_number, second_cells))
    has_aspects = all(_is_number(cells[5]) for cells in rows)  # the fourth to sixth cells may be grades
    if (has_q0 and not has_aspects) or _are_places(rows):
        return None  # surely a run
    columns = {"query": "1", "document": "3", "grade": "4"}  # the numbers of the columns, from 1
    width = len(rows[0])
    if has_aspects:
        problem = f"the last {width - 3} of {width} columns are numbers, as grades for several aspects are"
        return problem, Option("columns", columns, "the fourth column is the grade")
    problem = f"the fourth of {width} columns may be a grade or a rank"
    return problem, Option("columns", columns | {"rater": "6"}, "it is the grade, and the sixth is the rater")


def _are_places(rows: list[list[str]]) -> bool:
    """Whether the fourth cells are ranks: in each ranking the numbers from the same first one on, in any order.

    There must be FEWEST_STEPS from one rank to the next, as a few grades may count up by chance, too. `rows`: the
    cells of lines that may be a run.
    """
    ranks_of_ranking = defaultdict(list)
    for query, _, _, rank, _, system, *_ in rows:
        if not re.fullmatch(values.INTEGER, rank):
            return False
        ranks_of_ranking[query, system].append(int(rank))
    rankings = ranks_of_ranking.values()
    first = min(map(min, rankings))
    count_up = all(sorted(ranks) == list(range(first, first + len(ranks))) for ranks in rankings)
    # A ranking of n results has n - 1 steps from one rank to the next.
    return count_up and len(rows) - len(rankings) >= FEWEST_STEPS


def _pointed(cell: str) -> str:
    """The cell with a decimal point in place of a comma: a number with one is refused, and with its cure."""
    return cell.replace(",", ".", 1)


def _decimal_comma_cure(cell: str) -> list[Cure]:
    has_comma = "," in cell and _is_number(_pointed(cell))
    return ["Write a decimal point in place of a decimal comma."] if has_comma else []


def _is_number(cell: str) -> bool:
    return re.fullmatch(NUMBER, cell) is not None


def _lines(start: Start) -> Iterator[list[str]]:
    """The cells of the first lines that are neither blank nor comments, without one that may be cut off."""
    lines = start.text.split("\n")
    lines = (line.strip(_blanks) for line in (lines[:-1] if len(start.data) >= START_BYTES else lines))
    return (_gap.split(line) for line in lines if line and not line.startswith("#"))


def _first_cells(start: Start) -> list[str]:
    """The cells of the first line that is neither blank nor a comment."""
    return next(_lines(start), [""])
