"""Queries: tab-separated lines, and the topic formats of TREC, recognised by their content."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from xml.parsers import expat

from ..words import counted
from . import header, values
from .columns import listed
from .delimited import LINES_CURE
from .refusal import Option, Refusal
from .rows import Topic, size_of
from .source import LONGEST_LINE, Line, Source, Start

TSV_CURE = "A line is KEY, a tab and the query. After another tab it may have the information need."
BARE = Option("header", "no", "each line is only the text of a query")
HEADER = Option("header", "no", "it is a query"), Option("header", "yes", "it names the columns")
MARKUP_CURE = "A topic is <top> with <num> and <title>, or <topic number=…> with <query>."

ROW = 400  # bytes of memory that a row takes beside its text
MOST_HELD = 50_000_000  # bytes of rows

# The tags of TREC's tracks -> the part of a topic.
_PARTS = {
    "num": "key", "number": "key", "identifier": "key",
    "title": "title", "query": "title",
    "desc": "description", "description": "description", "question": "description",
    "narr": "narrative", "narrative": "narrative",
    "summary": "summary", "subtopic": "subtopic",
    "dom": "", "smry": "", "con": "", "fac": "", "def": "", "head": "", "nat": "", "time": "",
}  # fmt: skip
_LABELS = {"key": "number", "title": "topic", "description": "description", "narrative": "narrative"}
_TEXT_FROM = ["title", "description", "summary", "narrative"]
_TOPIC_TAGS = {"top", "topic", "query"}
_OF_QUERY = {"id": "key", "qid": "key", "text": "title"}  # in <query>, whose tags are of no track
_ROLES = {"key": "key", "text": "title", "need": "narrative"}  # of columns, which people may choose

_top = re.compile(r"(</?top(?:\s[^<>]*)?>)", re.IGNORECASE)
_part = re.compile(rf"<(/?)({'|'.join(_PARTS)})(?:\s[^<>]*)?>", re.IGNORECASE)
_quoted = re.compile(r'"(?:[^"]|"")*+"')
_needs_marks = re.compile(r'[",;]')
_between = re.compile(r"<[!?/][^<>]*>")  # what may stand outside topics


def is_topics(start: Start) -> bool:
    first = start.text.lstrip().split("\n", 1)[0].lower()
    return first.startswith(("<top", "<quer", "<?xml", "<!doctype", "<xml")) or first.count("\t") in (1, 2)


def read_topics(source: Source) -> Iterator[Topic | Refusal]:
    """Topics in the order of the file, each with the line on which it begins."""
    named = header.has_header("queries", source.start, "\t")
    lines = source.lines()
    blank, first = [], None
    for first in lines:
        if isinstance(first, Refusal) or first.text.strip():
            break
        blank.append(first)
    if first is None:
        return
    start = "" if isinstance(first, Refusal) else first.text.lstrip().lower()
    whole = chain(blank, [first], lines)
    if _top.match(start):
        yield from _read_sgml(source, whole)
    elif start.startswith("<"):
        yield from _read_xml(source, whole)
    else:
        yield from _without_quoting(source, _read_tsv(source, whole, named))


def _without_quoting(source: Source, rows: Iterator[Topic | Refusal]) -> Iterator[Topic | Refusal]:
    """The rows, without the quotation marks that a spreadsheet or another program put around their cells.

    Nearly all files are short enough to be seen whole before that is decided. Longer ones stay as they are.
    """
    held, size = [], 0
    for row in rows:
        held.append(row)
        size += ROW + (size_of(row) if isinstance(row, Topic) else len(row.problem))
        if size > MOST_HELD:
            break
    else:
        if count := _quoted_cells([row for row in held if isinstance(row, Topic)]):
            marks = f"the quotation marks around {counted(count, 'cell')}"
            source.notes.append(f"{source.name}: {marks} were removed, as those of a spreadsheet.")
            held = [_unquoted(source, row) if isinstance(row, Topic) else row for row in held]
    yield from held
    yield from rows


def _quoted_cells(topics: list[Topic]) -> int:
    """How many cells are in quotation marks that are no part of them; 0 where some marks may be a part.

    A spreadsheet quotes only cells that need it. Other programs quote all texts.
    """
    marked = [cell for topic in topics for cell in topic[1:4] if cell and cell.startswith('"')]
    needed = all(_needs_marks.search(cell[1:-1]) for cell in marked)
    alike = needed or all(topic.text.startswith('"') for topic in topics)
    return len(marked) if alike and all(map(_quoted.fullmatch, marked)) else 0


def _unquoted(source: Source, topic: Topic) -> Topic | Refusal:
    cells = [cell for cell in topic[1:4] if cell is not None]
    plain = [cell[1:-1].replace('""', '"') if cell.startswith('"') else cell for cell in cells]
    try:
        return _topic_of_cells(topic.line, plain)
    except ValueError as error:
        return source.refusal(topic.line, str(error), TSV_CURE)


def _read_tsv(source: Source, lines: Iterable[Line | Refusal], named: bool | None) -> Iterator[Topic | Refusal]:
    """Tab-separated queries. `named`: whether the first line seems to name the columns; None: in doubt."""
    first = True
    for item in lines:
        if isinstance(item, Refusal):
            yield item
        elif item.text.strip() and first:
            first = False
            if doubt := _doubt_of_first(source, item, named):
                yield doubt
                return
            if not source.reading.header:
                yield _topic_of_line(source, item)
        elif item.text.strip():
            yield _topic_of_line(source, item)


def _doubt_of_first(source: Source, line: Line, named: bool | None) -> Refusal | None:
    """Why the file cannot be read as its first line stands."""
    if source.reading.header is None and named is not False:
        cells = ", ".join(map(values.quoted, line.text.rstrip("\r").split("\t")))
        return source.stop(line.number, f"this line may name the columns or be a query ({cells})", *HEADER)
    if "\t" not in line.text:
        return source.stop(line.number, f"there is no tab in {values.quoted(line.text)}", TSV_CURE, BARE)
    return None


def _topic_of_line(source: Source, line: Line) -> Topic | Refusal:
    if "\r" in line.text.rstrip("\r"):
        return source.refusal(line.number, "a line ends here with CR alone, unlike the others", LINES_CURE)
    try:
        text = line.text.removeprefix("\ufeff")  # the byte order mark of a file appended to another
        return _topic_of_cells(line.number, text.rstrip("\r").split("\t"))
    except ValueError as error:
        return source.refusal(line.number, str(error), TSV_CURE)


def _topic_of_cells(number: int, cells: list[str]) -> Topic:
    if len(cells) == 1:
        raise ValueError(f"there is no tab in {values.quoted(cells[0])}")
    if len(cells) > 3:
        raise ValueError(f"there are {len(cells)} columns, at most three are known")
    key = values.checked_key(cells[0], "query", values.QUERY_KEY_LENGTH)
    text = values.checked_text(cells[1].strip(), f"text of query {key}")
    return Topic(number, key, text, cells[2].strip() if len(cells) == 3 else None)


def _read_sgml(source: Source, lines: Iterable[Line | Refusal]) -> Iterator[Topic | Refusal]:
    """Topics between <top> and </top>; their parts need no end tags."""
    begun, text, size = 0, [], 0
    for item in lines:
        if isinstance(item, Refusal):
            yield item
            continue
        for piece in _top.split(item.text):
            tag = _top.fullmatch(piece)
            if tag and piece.startswith("</") and begun:
                yield _topic(source, begun, _parts("\n".join(text)))
                begun = 0
            elif tag and not piece.startswith("</"):
                if begun:
                    yield _unclosed(source, begun)
                begun, text, size = item.number, [], 0
            elif begun:
                text.append(piece)
                size += len(piece)
            elif stray := _between.sub("", piece).strip():
                problem = f"{values.quoted(stray)} stands outside a topic"
                yield source.refusal(item.number, problem, "Put it inside a topic, or remove it.")
        if size > LONGEST_LINE:
            break
    if begun:
        yield _unclosed(source, begun)


def _unclosed(source: Source, begun: int) -> Refusal:
    return source.refusal(begun, "the topic that begins here is not closed", "End each topic with </top>.")


def _parts(text: str) -> dict[str, list[str]]:
    """The parts of one SGML topic. A part ends where the next begins."""
    parts = defaultdict(list)
    _, *pieces = _part.split(text)
    for closing, tag, content in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True):
        if not closing:
            parts[_PARTS[tag.lower()]].append(content)
    return parts


class _TopicsInXml:
    """Collects topics while expat parses. A file that declares entities is refused."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.topics: list[Topic | Refusal] = []
        self.any = False
        self.path: list[str] = []  # open tags from the topic inwards
        self.begun, self.size = 0, 0
        self.parts: dict[str, list[list[str]]] = {}
        self.tags: tuple[str, ...] | None = None
        self.names = _PARTS | {
            str(tag).lower(): _ROLES[role] for role, tag in source.reading.columns.items() if role in _ROLES
        }
        self.unknown: list[str] = []  # tags of the topic
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.EntityDeclHandler = self.entity
        parser.SkippedEntityHandler = self.entity

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.lower()
        if self.path:
            self.path.append(tag)
            if len(self.path) == 2:
                if tag not in self.names:
                    self.unknown.append(tag)
                self.parts.setdefault(self.names.get(tag, ""), []).append([])
        elif tag in _TOPIC_TAGS:
            self.path, self.begun, self.size, self.unknown = [tag], self.parser.CurrentLineNumber, 0, []
            if tag == "query":
                self.names = _OF_QUERY | self.names
            number = attributes.get("number") or attributes.get("id") or attributes.get("num")
            self.parts = {"key": [[number]]} if number else {}
            self.tags = (attributes["type"],) if attributes.get("type") else None

    def text(self, text: str) -> None:
        self.size += len(text)
        if self.size > LONGEST_LINE:
            raise ValueError("there are more than 10 MB of text in one topic")
        if len(self.path) >= 2:
            self.parts[self.names.get(self.path[1], "")][-1].append(text)
        elif self.path == ["query"] and text.strip():
            self.parts.setdefault("title", []).append([text])

    def end(self, tag: str) -> None:
        if self.path:
            self.path.pop()
            if not self.path:
                self.any = True
                parts = {name: ["".join(pieces) for pieces in texts] for name, texts in self.parts.items()}
                topic = _topic(self.source, self.begun, parts, self.tags)
                if isinstance(topic, Refusal) and self.unknown and "title" not in parts:
                    tags = listed(self.unknown)
                    choose = Option("columns", {"text": None}, "one of them holds the text")
                    topic = self.source.refusal(self.begun, f"{topic.problem}; it has the tags {tags}", choose)
                self.topics.append(topic)

    def entity(self, name: str, *declaration: object) -> None:
        problem = f"the XML entity {values.quoted(name)} is declared or left open"
        raise ValueError(f"{problem}, and entities are never expanded")


def _read_xml(source: Source, lines: Iterable[Line | Refusal]) -> Iterator[Topic | Refusal]:
    xml = _TopicsInXml(source)
    number = 1
    try:
        for item in lines:
            if isinstance(item, Refusal):
                yield item
                return
            number = item.number
            xml.parser.Parse(item.text + "\n")
            yield from xml.topics
            xml.topics.clear()
        xml.parser.Parse("", True)
    except expat.ExpatError as error:
        problem = f"the XML is not well-formed ({expat.ErrorString(error.code)})"
        cure = "Repair the markup, or give the topics as tab-separated lines."
        yield source.refusal(error.lineno, problem, cure)
    except ValueError as error:
        yield source.refusal(number, str(error), "Write the text itself instead.")
    else:
        if not xml.any:
            yield source.refusal(number, "there is no topic in the XML", MARKUP_CURE)


def _topic(
    source: Source, line: int, parts: dict[str, list[str]], tags: tuple[str, ...] | None = None
) -> Topic | Refusal:
    """A topic from its parts. Its text is the first part of _TEXT_FROM that it has; the others are the need."""
    clean = {name: [_without_label(name, text) for text in texts] for name, texts in parts.items() if name}
    try:
        key = values.checked_key(clean.get("key", [""])[0], "topic number", values.QUERY_KEY_LENGTH)
    except ValueError as error:
        return source.refusal(line, str(error), MARKUP_CURE)
    texts = {name: "\n\n".join(filter(None, clean.get(name, []))) for name in _TEXT_FROM}
    chosen = next((name for name in _TEXT_FROM if texts[name]), None)
    if chosen is None:
        return source.refusal(line, f"topic {values.quoted(key)} has no title and no query", MARKUP_CURE)
    try:
        values.checked_text(texts[chosen], f"text of query {key}")
    except ValueError as error:
        return source.refusal(line, str(error), "Shorten it.")
    subtopics = [f"{i}. {text}" for i, text in enumerate(clean.get("subtopic", []), 1)]
    paragraphs = [texts[name] for name in _TEXT_FROM if name != chosen] + ["\n".join(subtopics)]
    return Topic(line, key, texts[chosen], "\n\n".join(filter(None, paragraphs)) or None, tags)


def _without_label(name: str, text: str) -> str:
    text = " ".join(text.split())
    label = _LABELS.get(name)
    return re.sub(rf"^{label}\s*:\s*", "", text, flags=re.IGNORECASE) if label else text
