"""Documents of TREC's collections: <DOC>, <DOCNO>, and tags that differ between collections."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from html import unescape

from . import values
from .refusal import Refusal
from .rows import DocumentLine
from .source import LONGEST_LINE, Source, Start

CURE = "A document is <DOC> with <DOCNO> and <TEXT>, and ends with </DOC>."
STRAY_CURE = "Put it inside a document, or remove it."
# The tags of the collections for each part, in lower case.
_TITLES = {"title", "headline", "hl", "head", "ttl", "ti", "h3"}
_BODIES = {"text", "body", "abstract", "graphic"}
_URLS = {"url"}
_HEADER = "dochdr"  # of a web page: its address, and the HTTP headers
_OF_PAGES = {_HEADER, "title"}  # the parts of a web page; all else is its text

_edge = re.compile(r"<(/?)doc(\s[^<>]*)?>", re.IGNORECASE)
_first = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<(?!doc\b)\w+>\s*)?<doc(?:\s[^<>]*)?>", re.IGNORECASE)
_docno = re.compile(r"<docno(?:\s[^<>]*)?>([^<]*)</docno\s*>", re.IGNORECASE)
_id = re.compile(r"""\sid\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))""", re.IGNORECASE)
_open = re.compile(r"<([a-z][a-z0-9_.-]*)(?:\s[^<>]*)?>", re.IGNORECASE)
_end = re.compile(r"</([a-z][a-z0-9_.-]*)\s*>", re.IGNORECASE)
_markup = re.compile(r"</?[a-z!][^<>]*>", re.IGNORECASE)
_between = re.compile(r"<[a-z!?/][^<>]*>", re.IGNORECASE)  # what may stand outside documents
_blank_lines = re.compile(r"\n{3,}")


def is_documents(start: Start) -> bool:
    return bool(_first.match(start.text))


def read_documents(source: Source) -> Iterator[DocumentLine | Refusal]:
    """Documents in the order of the file, each with the line on which it begins."""
    begun, attributes, text, size = 0, "", [], 0
    for item in source.lines():
        if isinstance(item, Refusal):
            yield item
            continue
        at = 0
        for tag in _edge.finditer(item.text):
            if begun:
                text.append(item.text[at : tag.start()])
            elif stray := _outside(item.text[at : tag.start()]):
                yield _refused(source, item.number, stray)
            at = tag.end()
            if tag[1] and begun:
                yield _document(source, begun, attributes, "\n".join(text))
                begun = 0
            elif tag[1]:
                yield source.refusal(item.number, "a document ends here that did not begin", CURE)
            else:
                if begun:
                    yield _unclosed(source, begun)
                begun, attributes, text, size = item.number, tag[2] or "", [], 0
        if begun:
            text.append(item.text[at:])
            size += len(item.text)
        elif stray := _outside(item.text[at:]):
            yield _refused(source, item.number, stray)
        if size > LONGEST_LINE:
            problem = f"the document that begins here is longer than {LONGEST_LINE // 1_000_000} MB"
            yield source.stop(begun, problem, CURE)
            return
    if begun:
        yield _unclosed(source, begun)


def _unclosed(source: Source, begun: int) -> Refusal:
    return source.refusal(begun, "the document that begins here is not closed", CURE)


def _outside(text: str) -> str:
    """The text between documents, without markup and the byte order and end marks of joined files."""
    return _between.sub("", text).strip("\ufeff\x1a \t\r")


def _refused(source: Source, line: int, text: str) -> Refusal:
    return source.refusal(line, f"{values.quoted(text)} stands outside a document", STRAY_CURE)


def _document(source: Source, line: int, attributes: str, text: str) -> DocumentLine | Refusal:
    """The document. Its key is its <DOCNO>, or else the id in its <DOC>."""
    docno, id = _docno.search(text), _id.search(attributes)
    if docno is None and id is None:
        return source.refusal(line, "the document has no <DOCNO>", CURE)
    key = docno[1] if docno else unescape(id[1] or id[2] or id[3] or "")
    try:
        key = values.checked_key(key.strip(), "DOCNO", values.DOCUMENT_KEY_LENGTH)
    except ValueError as error:
        return source.refusal(line, str(error), CURE)
    title, body, url, fields = [], [], None, {}
    rest = []  # text outside known parts
    for name, part in _parts(text[: docno.start()] + text[docno.end() :] if docno else text):
        if name in _TITLES:
            title.append(_plain(part))
        elif name in _BODIES:
            body.append(_plain(part))
        elif name in _URLS:
            url = _plain(part)
        elif name == _HEADER:
            url = next(iter(part.split()), "")
        elif name and (value := _plain(part)):
            fields[name] = f"{fields[name]}\n{value}" if name in fields else value
        else:
            rest.append(_plain(part))
    body = body or list(filter(None, rest))
    one_line = " ".join(" ".join(title).split()) if title else None
    text = "\n\n".join(filter(None, body)) if body else None
    return DocumentLine(line, key, one_line, text, url, fields or None)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Each outermost element by its name in lower case, and the text between them with the name ""."""
    ends: dict[str, list[re.Match]] = defaultdict(list)
    for end in _end.finditer(text):
        ends[end[1].lower()].append(end)
    page = "<html" in text.lower()
    at = 0
    for start in _open.finditer(text):
        name = start[1].lower()
        if start.start() < at or (page and name not in _OF_PAGES):
            continue
        place = bisect_left(ends[name], start.end(), key=re.Match.start)
        if place == len(ends[name]):
            continue  # never closed
        end = ends[name][place]
        yield "", text[at : start.start()]
        yield name, text[start.end() : end.start()]
        at = end.end()
    yield "", text[at:]


def _plain(markup: str) -> str:
    text = unescape(_markup.sub(" ", markup)) if "<" in markup or "&" in markup else markup
    return _blank_lines.sub("\n\n", "\n".join(map(str.strip, text.split("\n")))).strip()
