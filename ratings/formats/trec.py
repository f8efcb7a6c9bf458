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
from .refusal import Cure, Option, Refusal, WrongCell, cure_of
from .rows import RatingLine, RunLine, Stretch, taken
from .source import START, Block, Line, Source, Start, lines_of
from .values import NUMBER

RUN = "query", "q0", "document", "rank", "score", "system"
QRELS = "query", "iteration", "document", "grade"
MOST_RANK = 10**18
AHEAD = 2  # blocks that are read at the same time
_other_blank = re.compile(r"[^\S \n]|\ufeff")
_blanks = " \t\v\f\r"
_gap = re.compile(r"[ \t\v\f]+")

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

# The columns of many lines but for the second one, and "line", the number of each: Arrow arrays of strings, coded
# where many are equal, and NumPy arrays of numbers.
Columns = dict[str, Any]


def read_run(source: Source) -> Iterator[Stretch | Refusal]:
    """Results by ranking, a megabyte of lines at a time. Blank lines and those that begin with # are skipped."""
    for columns in _columns(source, RUN, _are_results, _result):
        if isinstance(columns, Refusal):
            yield columns
        else:
            yield from _rankings(columns)
    if source.wide:
        lines = counted(source.wide, "line")
        source.notes.append(f"{source.name}: {lines} with more than six columns; the rest was ignored.")


def _rankings(columns: Columns) -> Iterator[Stretch]:
    """The lines of each ranking, in their order."""
    query, system, documents = (columns[name] for name in ("query", "system", "document"))
    numbers = [columns[name] for name in ("line", "rank", "score")]
    queries, systems = query.dictionary.to_pylist(), system.dictionary.to_pylist()
    # A ranking is a query and a system: the codes of both make its number.
    ranking = np.from_dlpack(query.indices).astype(np.int64) * len(systems) + np.from_dlpack(system.indices)
    if (ranking[1:] < ranking[:-1]).any():  # lines of one may be apart: they are brought together
        order = np.argsort(ranking, kind="stable")
        ranking, documents, numbers = ranking[order], taken(documents, order), [array[order] for array in numbers]
    begins = np.flatnonzero(np.append(True, ranking[1:] != ranking[:-1])).tolist()
    for begin, end in pairwise([*begins, len(ranking)]):
        of_query, of_system = divmod(int(ranking[begin]), len(systems))
        lines, ranks, scores = (array[begin:end] for array in numbers)
        yield Stretch(queries[of_query], systems[of_system], lines, documents[begin:end], ranks, scores)


def _are_results(columns: Columns) -> bool:
    """Whether no name, rank or score has to be refused."""
    ranks, names = columns["rank"], columns["system"].dictionary.to_pylist()
    in_range = (ranks > -MOST_RANK) & (ranks < MOST_RANK)
    are_names = max(map(len, names)) <= values.SYSTEM_NAME_LENGTH
    return are_names and bool(in_range.all()) and bool(np.isfinite(columns["score"]).all())


def _result(source: Source, text: str, cells: list[str]) -> tuple[str, str, int, float, str]:
    """Query, document, rank, score and system of one line. Raises ValueError. Counts lines with more columns."""
    if len(cells) < 6:
        kind = [Option("kind", "qrels", "these are qrels")] if len(cells) == 4 and _is_number(cells[3]) else []
        raise WrongCell(f"{_width(cells)}, a run needs six", RUN_CURE, *kind)
    query, _, document, rank, score, system = cells[:6]
    if len(cells) > 6 and text.count("\t") == 5:
        # Tabs separate the columns, so the name has blanks. By first words two systems would become one.
        name = values.quoted(text.rpartition("\t")[2])
        raise WrongCell(f"the name of the system {name} has a blank", BLANK_CURE)
    try:
        result = (
            values.checked_key(query, "query", values.QUERY_KEY_LENGTH),
            values.checked_key(document, "document", values.DOCUMENT_KEY_LENGTH),
            values.integer(rank, "rank"),
            values.number(score, "score"),
            values.checked_key(system, "system", values.SYSTEM_NAME_LENGTH),
        )
    except ValueError as error:
        raise WrongCell(str(error), RUN_CURE, *_header_cure(query, rank, score)) from error
    source.wide += len(cells) > 6
    return result


def read_qrels(source: Source) -> Iterator[RatingLine | Refusal]:
    """Grades in the order of the file. Blank lines and lines that begin with # are skipped."""
    for columns in read_grades(source):
        if isinstance(columns, Refusal):
            yield columns
        else:
            keys = columns["query"].to_pylist(), columns["document"].to_pylist()
            yield from map(RatingLine, columns["line"].tolist(), *keys, repeat(""), columns["grade"])


def read_grades(source: Source) -> Iterator[Columns | Refusal]:
    """The same as columns, a megabyte of lines at a time. The grades are a list of decimals."""
    for columns in _columns(source, QRELS, partial(_are_grades, source), _judgment):
        if not isinstance(columns, Refusal):
            grades = [_grade(source, text) for text in columns["grade"].dictionary.to_pylist()]
            columns["grade"] = [grades[code] for code in columns["grade"].indices.to_pylist()]
        yield columns


def _are_grades(source: Source, columns: Columns) -> bool:
    """Whether no grade has to be refused."""
    try:
        return all(_grade(source, text) is not None for text in columns["grade"].dictionary.to_pylist())
    except ValueError:
        return False


def _judgment(source: Source, text: str, cells: list[str]) -> tuple[str, str, str]:
    """Query, document and grade of one line, the grade as it stands there. Raises ValueError."""
    if len(cells) != 4:
        kind = [Option("kind", "results", "this is a run")] if len(cells) > 5 else []
        raise WrongCell(f"{_width(cells)}, qrels have four", QRELS_CURE, *kind)
    query, _, document, grade = cells
    try:
        values.checked_key(query, "query", values.QUERY_KEY_LENGTH)
        values.checked_key(document, "document", values.DOCUMENT_KEY_LENGTH)
        _grade(source, grade)
    except ValueError as error:
        is_word = not _is_number(grade) and not any(sign in grade for sign in ",;")
        stands_for = [Option("map", {grade: None}, "the word stands for a grade")] if is_word else []
        raise WrongCell(str(error), QRELS_CURE, *_header_cure(query, grade), *stands_for) from error
    return query, document, grade


def _grade(source: Source, text: str) -> Decimal:
    """The grade, of a number or of a word that people gave one. Raises ValueError."""
    return source.reading.grades[text] if text in source.reading.grades else values.grade(text)


def _width(cells: list[str]) -> str:
    return f"there is {len(cells)} column" if len(cells) == 1 else f"there are {len(cells)} columns"


def _header_cure(*cells: str) -> list[Cure]:
    """The cure of a line that may name the columns: these cells, some of which should be numbers, lack digits."""
    return [] if any(letter.isdigit() for letter in "".join(cells)) else [HEADER_CURE]


# Columns at once, or line by line


def _columns(
    source: Source, names: tuple[str, ...], fit: Callable[[Columns], bool], read_line: Callable
) -> Iterator[Columns | Refusal]:
    """The columns of a file, block by block. fit: whether all values of columns that Arrow read can stay."""
    for block, columns in _ahead(source, names):
        if isinstance(block, Refusal):
            yield block
        elif columns and fit(columns):
            yield columns
        else:
            yield from _line_by_line(source, block, names, read_line)


def _ahead(source: Source, names: tuple[str, ...]) -> Iterator[tuple[Block | Refusal, Columns]]:
    """The blocks of a file, each with what `_at_once` makes of it while those before are used."""
    waiting = deque()
    with ThreadPoolExecutor(AHEAD) as pool:
        for block in source.blocks():
            waiting.append((block, pool.submit(_at_once, block, names)))
            if len(waiting) > AHEAD:
                before, columns = waiting.popleft()
                yield before, columns.result()
        for block, columns in waiting:
            yield block, columns.result()


def _at_once(block: Block | Refusal, names: tuple[str, ...]) -> Columns:
    """The columns of a block; {} where Arrow might read a line otherwise than it stands there.

    That is a line with another number of cells, another invisible character, a comment, a key that is too long, or
    anything but a number for a number.
    """
    import pyarrow as pa  # takes a sixth of a second, and few commands read files
    from pyarrow import compute, csv

    text = _with_single_blanks(block.lines) if isinstance(block, Block) else b""
    if not text:
        return {}
    few = pa.dictionary(pa.int32(), pa.string())  # a column of few different words
    types = {"document": pa.string(), "rank": pa.int64(), "score": pa.float64()}
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text)),
            csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types={name: types.get(name, few) for name in names},
                include_columns=[names[0], *names[2:]],
                null_values=[],
            ),
        )
    except pa.ArrowInvalid:
        return {}
    # Each cell ends with a blank or the line: any further one is a control character.
    if np.count_nonzero(np.frombuffer(text, np.uint8) <= ord(" ")) != len(names) * table.num_rows:
        return {}
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    keys, longest = columns["query"].dictionary.to_pylist(), compute.max(compute.utf8_length(columns["document"]))
    if longest.as_py() > values.DOCUMENT_KEY_LENGTH or max(map(len, keys)) > values.QUERY_KEY_LENGTH:
        return {}
    if any(key.startswith("#") for key in keys):
        return {}
    numbers = {name: np.from_dlpack(columns[name]) for name in columns.keys() & {"rank", "score"}}
    return columns | numbers | {"line": np.arange(block.first, block.first + table.num_rows)}


def _with_single_blanks(lines: bytes) -> bytes:
    """The lines with one blank between two cells; b"" where they have a character that Arrow takes otherwise."""
    text = (lines + b"\n").replace(b"\r\n", b"\n").replace(b"\t", b" ")
    if b"\r" in text or b"\x7f" in text:
        return b""
    blank = np.frombuffer(text, np.uint8) <= ord(" ")
    if blank[0] or (blank[1:] & blank[:-1]).any():
        text = b"".join(b" ".join(line.split()) + b"\n" for line in text.split(b"\n")[:-1])
    if any(letter in text and b" 0" + letter in text for letter in (b"x", b"X")):
        return b""  # 0x1f would be a whole number
    if not text.isascii() and _other_blank.search(text.decode(errors="replace")):
        return b""
    return text


def _line_by_line(
    source: Source, block: Block, names: tuple[str, ...], read: Callable
) -> Iterator[Columns | Refusal]:
    """The refusals of the wrong lines in a block, and then the columns of all others."""
    import pyarrow as pa

    rows = []
    for item in _with_cells(source, lines_of(source, block)):
        if isinstance(item, Refusal):
            yield item
            continue
        number, text, cells = item
        try:
            if text[0] == MARK:
                raise WrongCell(MARKED, "Remove the mark, or import the files one by one.")
            rows.append((number, *read(source, text, cells)))
        except ValueError as error:
            yield source.refusal(number, str(error), *cure_of(error, ""))
    if rows:
        columns = dict(zip(("line", names[0], *names[2:]), zip(*rows, strict=True), strict=True))
        for name, column in columns.items():
            if name in ("line", "rank", "score"):
                columns[name] = np.array(column)
            else:
                array = pa.array(column, pa.string())
                columns[name] = array if name == "document" else array.dictionary_encode()
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
    """The cells of each line, as many as the first has; for tables of which people choose the columns."""
    width = 0
    for item in _with_cells(source, source.lines()):
        if isinstance(item, Refusal):
            yield item
            continue
        number, _, cells = item
        width = width or len(cells)
        if len(cells) == width:
            yield number, cells
        else:
            yield source.refusal(number, f"{_width(cells)}, the first line has {width}", WIDTH_CURE)


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
    return (_gap.split(line) for line in lines if line and not line.startswith("#"))


def _first_cells(start: Start) -> list[str]:
    """The cells of the first line that is neither blank nor a comment."""
    return next(_lines(start), [""])
