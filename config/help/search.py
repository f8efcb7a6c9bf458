"""The search over the documents."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from .documents import HelpDocument, Section

TERMS = 12  # the search is public, and each word is looked for in every sentence


@dataclass(frozen=True)
class Hit:
    document: HelpDocument
    section: Section
    sentence: SafeString
    words: int  # how many of the words occur
    rank: int  # 2: all in the title, 1: all in one sentence, 0: anywhere in the section


def search(text: str, documents: Iterable[HelpDocument]) -> list[Hit]:
    """The sections that have most words of `text`, best first, each with the sentence that has most of them."""
    terms = [beginning(word) for word in text.split()[:TERMS]]
    hits = [hit_in(each, section, terms) for each in documents for section in each.sections]
    most = max((hit.words for hit in hits), default=0)
    return sorted((hit for hit in hits if hit.words == most > 0), key=lambda hit: -hit.rank)


def beginning(word: str) -> re.Pattern:
    """The pattern of words that begin with this one; a plural finds the singular."""
    stem = word[:-1] if len(word) > 3 and word[-1] in "sS" else word
    return re.compile(rf"(?<!\w){re.escape(stem)}\w*", re.IGNORECASE)


def hit_in(document: HelpDocument, section: Section, terms: list[re.Pattern]) -> Hit:
    best = max(section.sentences, key=lambda sentence: count(terms, sentence), default="")
    words = count(terms, " ".join((section.title, *section.sentences)))
    rank = 2 if count(terms, section.title) == words else int(count(terms, best) == words)
    return Hit(document, section, marked(best, terms), words, rank)


def count(terms: list[re.Pattern], sentence: str) -> int:
    return sum(bool(term.search(sentence)) for term in terms)


def marked(sentence: str, terms: list[re.Pattern]) -> SafeString:
    """The sentence with the matches in <mark>."""
    if not terms:
        return format_html("{}", sentence)
    parts = re.split("(" + "|".join(term.pattern for term in terms) + ")", sentence, flags=re.IGNORECASE)
    pairs = zip(parts[::2], [*parts[1::2], ""], strict=True)
    pieces = ((text, format_html("<mark>{}</mark>", hit) if hit else "") for text, hit in pairs)
    return format_html_join("", "{}{}", pieces)
