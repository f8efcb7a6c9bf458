"""Documents of TREC's collections: <DOC>, <DOCNO>, and tags that differ between collections."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from html import unescape

from . import values
from .refusal import Refusal
from .rows import DocumentLine, rows_or_refusals
from .source import LONGEST_LINE, Source, Start

CURE = "A document is <DOC> with <DOCNO> and <TEXT>, and ends with </DOC>."
STRAY_CURE = "Put it inside, or remove it."
# The tags of the collections for each part, in lower case.
_TITLES = {"title", "headline", "hl", "head", "ttl", "ti", "h3"}
_BODIES = {"text", "body", "abstract", "graphic"}
_HEADER = "dochdr"  # of a web page: its address, and the HTTP headers
_OF_PAGES = {_HEADER, "title"}  # the parts of a web page; all else is its text

_first = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<(?!doc\b)\w+>\s*)?<doc(?:\s[^<>]*)?>", re.IGNORECASE)
_docno = re.compile(r"<docno(?:\s[^<>]*)?>([^<]*)</docno\s*>", re.IGNORECASE)
_id = re.compile(r"""\sid\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))""", re.IGNORECASE)
_open = re.compile(r"<([a-z][a-z0-9_.-]*)(?:\s[^<>]*)?>", re.IGNORECASE)
_end = re.compile(r"</([a-z][a-z0-9_.-]*)\s*>", re.IGNORECASE)
_markup = re.compile(r"</?[a-z!][^<>]*>", re.IGNORECASE)
_between = re.compile(r"<[a-z!?/][^<>]*>", re.IGNORECASE)  # what may stand outside documents
_MARKS_AND_BLANKS = "\ufeff\x1a \t\r"  # byte order and end marks of joined files
_blank_lines = re.compile(r"\n{3,}")


def is_documents(start: Start) -> bool:
    return bool(_first.match(start.text))


def read_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """Documents in the order of the file, each with the line on which it begins."""
    return rows_or_refusals(source, elements(source, "doc", "document", CURE), _documents, CURE)


def elements(source: Source, tag: str, what: str, cure: str) -> Iterator[tuple[int, str, str] | Refusal]:
    """The line, the attributes and the content of each element with this tag, which is not parsed; and refusals.

    Refused are elements without a start or an end tag, and text between the elements. Other tags there are passed
    over. `what`: the element in messages. `cure`: of an element that is not closed.
    """
    start_or_end_tag = re.compile(rf"<(/?){tag}(\s[^<>]*)?>", re.IGNORECASE)
    begun = 0  # the line on which the open element begins; 0 outside elements
    attributes = ""  # of the open element
    content = []  # its text so far
    size = 0  # characters of its text so far
    for line in source.lines():
        if isinstance(line, Refusal):
            yield line
            continue
        position = 0  # behind the last tag in this line
        for tag_match in [*start_or_end_tag.finditer(line.text), None]:  # None: the end of the line
            text = line.text[position : tag_match.start() if tag_match else None]  # in front of the tag
            if begun:
                content.append(text)
                size += len(text)
            elif stray := _between.sub("", text).strip(_MARKS_AND_BLANKS):
                yield source.refusal(line.number, f"{values.quoted(stray)} stands outside a {what}", STRAY_CURE)
            if tag_match is None:
                break
            position = tag_match.end()
            is_end_tag = bool(tag_match[1])  # the slash
            if begun and is_end_tag:
                yield begun, attributes, "".join(content)
            elif begun:
                yield source.refusal(begun, f"the {what} that begins here is not closed", cure)
            elif is_end_tag:
                yield source.refusal(line.number, f"a {what} ends here that did not begin", cure)
            begun = 0 if is_end_tag else line.number
            attributes, content, size = tag_match[2] or "", [], 0
        content.append("\n")
        if size > LONGEST_LINE:
            problem = f"the {what} that begins here is longer than {LONGEST_LINE // 1_000_000} MB"
            yield source.stop(begun, problem, cure)
            return
    if begun:
        yield source.refusal(begun, f"the {what} that begins here is not closed", cure)


def _documents(element: tuple[int, str, str]) -> Iterator[DocumentLine]:
    """The document of an element (line, attributes, content). Its key is its <DOCNO>, or else the id in its <DOC>.

    Tags other than those of its key, title, body and address give its fields. An iterator, as `rows_or_refusals`
    takes it. Raises ValueError for an element without a key.
    """
    line, attributes, text = element
    docno = _docno.search(text)
    if docno:
        key = docno[1]  # as it stands, with any &amp; in it, unlike the attribute below
        text = text[: docno.start()] + text[docno.end() :]
    elif id := _id.search(attributes):
        key = unescape(id[1] or id[2] or id[3] or "")  # in double, single or no quotation marks
    else:
        raise ValueError("the document has no <DOCNO>")
    key = values.checked_key(key.strip(), "DOCNO", values.DOCUMENT_KEY_LENGTH)
    titles, bodies = [], []
    other_texts = []  # outside all tags, or in empty ones; the body of a document without one of _BODIES
    url = None
    fields = {}  # name of a tag -> its texts, with a line end between two
    for name, part in _parts(text):
        if name in _TITLES:
            titles.append(_plain(part))
        elif name in _BODIES:
            bodies.append(_plain(part))
        elif name == "url":
            url = _plain(part)
        elif name == _HEADER:
            url = next(iter(part.split()), "")  # the first word is the address; HTTP headers follow
        elif name and (value := _plain(part)):
            fields[name] = f"{fields[name]}\n{value}" if name in fields else value
        else:
            other_texts.append(_plain(part))
    bodies = bodies or list(filter(None, other_texts))
    title = " ".join(" ".join(titles).split()) if titles else None
    body = "\n\n".join(filter(None, bodies)) if bodies else None
    yield DocumentLine(line, key, title, body, url, fields or None)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """(name in lower case, content) of each outermost element, and ("", text) for the text between them.

    Of a web page, only the elements in _OF_PAGES are such elements. Tags without an end tag are text.
    """
    end_tags: dict[str, list[re.Match]] = defaultdict(list)  # by name, in the order of the text
    for end in _end.finditer(text):
        end_tags[end[1].lower()].append(end)
    is_page = "<html" in text.lower()
    position = 0  # behind the last element
    for start in _open.finditer(text):
        name = start[1].lower()
        if start.start() < position or (is_page and name not in _OF_PAGES):
            continue  # inside the last element, or no part of a page
        # The first end tag of that name behind the start tag.
        next_end = bisect_left(end_tags[name], start.end(), key=re.Match.start)
        if next_end == len(end_tags[name]):
            continue  # no end tag follows
        end = end_tags[name][next_end]
        yield "", text[position : start.start()]
        yield name, text[start.end() : end.start()]
        position = end.end()
    yield "", text[position:]


def _plain(markup: str) -> str:
    text = unescape(_markup.sub(" ", markup)) if "<" in markup or "&" in markup else markup
    return _blank_lines.sub("\n\n", "\n".join(map(str.strip, text.split("\n")))).strip()


READS = {"documents": read_documents}  # by kind of row
