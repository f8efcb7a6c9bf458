"""Queries: tab-separated lines, and the topic formats of TREC, recognised by their content."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from xml.etree.ElementTree import Element, ParseError, XMLPullParser
from xml.parsers import expat

from . import header, tables, values
from .columns import listed
from .refusal import Option, Refusal, WrongCell, cure_of
from .rows import Topic, rows_or_refusals
from .source import LONGEST_LINE, Source, Start
from .trec_documents import elements

MARKUP_CURE = "A topic is <top> with <num> and <title>, or <topic number=…> with <query>."

# The tags of TREC's tracks -> the part of a topic.
_PART_OF_TAG = {
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
_PART_OF_QUERY_TAG = {"id": "key", "qid": "key", "text": "title"}  # in <query>, whose tags are of no track
_PART_OF_ROLE = {"key": "key", "text": "title", "need": "narrative"}  # of columns, which people may choose

_top = re.compile(r"<top(?:\s[^<>]*)?>", re.IGNORECASE)
_part = re.compile(rf"<(/?)({'|'.join(_PART_OF_TAG)})(?:\s[^<>]*)?>", re.IGNORECASE)


def is_topics(start: Start) -> bool:
    first = start.text.lstrip().split("\n", 1)[0].lower()
    return first.startswith(("<top", "<quer", "<?xml", "<!doctype", "<xml")) or first.count("\t") in (1, 2)


def read_topics(source: Source) -> Iterator[Topic | Refusal]:
    """Topics in the order of the file, each with the line on which it begins."""
    text = source.start.text.lstrip()
    if _top.match(text):
        return _read_sgml(source)
    if text.startswith("<"):
        return _read_xml(source)
    return _read_lines(source, text.split("\n", 1)[0])


def _read_lines(source: Source, first: str) -> Iterator[Topic | Refusal]:
    """Lines of key, tab, text and perhaps the need: a table without a header. Quotation marks are text."""
    named = header.has_header("queries", source.start, "\t")
    if source.reading.header is None and named is False and "\t" in first:
        source.reading = replace(source.reading, header=False, quoting="none")
    return tables.read("topics", "queries", source)


def _read_sgml(source: Source) -> Iterator[Topic | Refusal]:
    """Topics between <top> and </top>; their parts need no end tags."""

    def topics_of(element: tuple[int, str, str]) -> Iterator[Topic]:
        line, _, content = element
        yield _topic(line, _parts(content))

    topics = elements(source, "top", "topic", "End each topic with </top>.")
    return rows_or_refusals(source, topics, topics_of, MARKUP_CURE)


def _parts(text: str) -> dict[str, list[str]]:
    """The texts of each part of one SGML topic. A part ends where the next tag begins."""
    parts = defaultdict(list)
    tags = list(_part.finditer(text))
    ends = [tag.start() for tag in tags[1:]] + [len(text)]
    for tag, end in zip(tags, ends, strict=False):
        if not tag[1]:
            parts[_PART_OF_TAG[tag[2].lower()]].append(text[tag.end() : end])
    return parts


def _read_xml(source: Source) -> Iterator[Topic | Refusal]:
    """The topics of an XML file, each as soon as its element ends, so that memory does not grow with the file.

    The last item is a refusal where the XML is broken, declares an entity or has no topic.
    """
    parser = XMLPullParser(("start", "end"))
    topic = None  # the element of a topic that has begun and not ended; those inside it are its parts
    topic_line = line = 1  # the line on which the topic begins, and the one that was read last
    topic_size = topic_count = 0  # characters since the topic began, and topics so far
    try:
        for item in source.lines():
            if isinstance(item, Refusal):
                yield item
                return  # without this line, the parser would take the others for broken XML
            line = item.number
            topic_size += len(item.text)
            if "<!ENTITY" in item.text:
                raise ValueError("the XML declares an entity, and entities are never expanded")
            if topic is not None and topic_size > LONGEST_LINE:
                raise ValueError("there are more than 10 MB of text in one topic")
            parser.feed(item.text + "\n")
            for event, element in parser.read_events():
                if event == "start" and topic is None and _name(element) in _TOPIC_TAGS:
                    topic = element
                    topic_line = line
                    topic_size = 0
                    topic_count += 1
                elif event == "end" and element is topic:
                    yield _topic_of_xml(source, topic_line, element)
                    topic = None
                    element.clear()  # frees its parts; the empty element stays in the tree of the parser
        parser.close()
    except ParseError as error:
        problem = f"the XML is not well-formed ({expat.ErrorString(error.code)})"
        cure = "Repair the markup, or give the topics as tab-separated lines."
        yield source.refusal(error.position[0], problem, cure)
    except ValueError as error:
        yield source.refusal(line, str(error), "Write the text itself instead.")
    else:
        if not topic_count:
            yield source.refusal(line, "there is no topic in the XML", MARKUP_CURE)


def _name(element: Element) -> str:
    """The tag in lower case, without its namespace."""
    return element.tag.rpartition("}")[2].lower()


def _topic_of_xml(source: Source, line: int, element: Element) -> Topic | Refusal:
    """The topic of an element, from its children and attributes; <query> may have its text directly.

    Each child is a part of the topic, such as its title. People choose the tag of a part as they choose the column
    of a table, by its role, such as "text". A refusal where the topic lacks its number or its text. It lists the
    unknown tags, one of which may hold the text.
    """
    chosen = source.reading.columns  # role -> the tag that people chose for its part
    # str() is for type checkers: only other roles can have a list.
    chosen_tags = {str(chosen[role]).lower(): part for role, part in _PART_OF_ROLE.items() if role in chosen}
    part_of_tag = _PART_OF_TAG | chosen_tags
    parts = defaultdict(list)
    if number := element.get("number") or element.get("id") or element.get("num"):
        parts["key"].append(number)
    if _name(element) == "query":
        part_of_tag = _PART_OF_QUERY_TAG | part_of_tag  # chosen tags and those of _PART_OF_TAG win
        if (text := element.text or "").strip():
            parts["title"].append(text)
    for child in element:  # what unknown tags hold is of the part "", which `_topic` leaves out
        parts[part_of_tag.get(_name(child), "")].append("".join(child.itertext()))
    unknown_tags = [_name(child) for child in element if _name(child) not in part_of_tag]
    # The type of a topic, such as faceted, is the tag of its query.
    tags_of_query = (element.attrib["type"],) if element.get("type") else None
    try:
        return _topic(line, parts, tags_of_query)
    except ValueError as error:
        if unknown_tags and "title" not in parts:  # one of these tags may hold the text
            choose = Option("columns", {"text": None}, "one of them holds the text")
            return source.refusal(line, f"{error}; it has the tags {listed(unknown_tags)}", choose)
        return source.refusal(line, str(error), *cure_of(error, MARKUP_CURE))


def _topic(line: int, parts: dict[str, list[str]], query_tags: tuple[str, ...] | None = None) -> Topic:
    """A topic from its parts. Its text is the first part of _TEXT_FROM that it has.

    The other parts of _TEXT_FROM, and behind them the numbered subtopics, are its information need.
    `parts`: name of a part -> the texts of all its elements; "" -> the texts that are left out.
    `query_tags`: the words by which people group queries; None where the file has none.
    Raises ValueError for a topic without number or text.
    """
    texts = {name: [_without_label(name, text) for text in contents] for name, contents in parts.items() if name}
    # Of several numbers the first one counts. In place of a missing one "" is refused.
    key = values.checked_key(texts.get("key", [""])[0], "topic number", values.QUERY_KEY_LENGTH)
    joined_texts = ["\n\n".join(filter(None, texts.get(name, []))) for name in _TEXT_FROM]
    contents = list(filter(None, joined_texts))
    if not contents:
        raise ValueError(f"topic {values.quoted(key)} has no title and no query")
    text, *need = contents
    try:
        values.checked_text(text, f"text of query {key}")
    except ValueError as error:
        raise WrongCell(str(error), "Shorten it.") from error
    subtopics = [f"{i}. {subtopic}" for i, subtopic in enumerate(texts.get("subtopic", []), 1)]
    if subtopics:
        need.append("\n".join(subtopics))
    return Topic(line, key, text, "\n\n".join(need) or None, query_tags)


def _without_label(name: str, text: str) -> str:
    text = " ".join(text.split())
    label = _LABELS.get(name)
    return re.sub(rf"^{label}\s*:\s*", "", text, flags=re.IGNORECASE) if label else text


READS = {"queries": read_topics}  # by kind of row
