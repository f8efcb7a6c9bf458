"""The search in the documents of the help."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from .documents import HelpDocument, Section

MAX_TERMS = 12  # words of a search, since the search is public and looks for each word in every sentence
SHORTEST_WORD = 2  # letters of a word: nearly every sentence has words that begin with a given letter


@dataclass(frozen=True)
class Hit:
    """A section that contains words of the search, and its sentence with most of them."""

    document: HelpDocument
    section: Section
    sentence: SafeString
    words: int  # how many words of the search occur in the section
    rank: int  # 2: all of these in the title, 1: all in one sentence, 0: in several places


def search(text: str, documents: Iterable[HelpDocument]) -> list[Hit]:
    """The sections that contain the most words of `text`, best first; none if no section contains any."""
    words = dict.fromkeys(word for word in text.lower().split() if len(word) >= SHORTEST_WORD)
    terms = [prefix_pattern(word) for word in list(words)[:MAX_TERMS]]
    hits = [hit_of(document, section, terms) for document in documents for section in document.sections]
    most = max((hit.words for hit in hits), default=0)
    return sorted((hit for hit in hits if hit.words == most > 0), key=lambda hit: -hit.rank)


def prefix_pattern(word: str) -> re.Pattern:
    """A pattern of words that begin with this one. A plural also finds the singular."""
    stem = word[:-1] if len(word) > 3 and word[-1] in "sS" else word
    return re.compile(rf"(?<!\w){re.escape(stem)}\w*", re.IGNORECASE)


def hit_of(document: HelpDocument, section: Section, terms: list[re.Pattern]) -> Hit:
    best = max(section.sentences, key=lambda sentence: count(terms, sentence), default="")
    words = count(terms, " ".join((section.title, *section.sentences)))
    rank = 2 if count(terms, section.title) == words else int(count(terms, best) == words)
    return Hit(document, section, highlighted(best, terms), words, rank)


def count(terms: list[re.Pattern], sentence: str) -> int:
    """How many of the terms occur in the sentence."""
    return sum(bool(term.search(sentence)) for term in terms)


def highlighted(sentence: str, terms: list[re.Pattern]) -> SafeString:
    """The sentence as HTML, with the matches in <mark>."""
    if not terms:
        return format_html("{}", sentence)
    any_term = "|".join(term.pattern for term in terms)
    parts = re.split(f"({any_term})", sentence, flags=re.IGNORECASE)  # by turns: text between matches, and a match
    pieces = [format_html("<mark>{}</mark>" if place % 2 else "{}", part) for place, part in enumerate(parts)]
    return format_html_join("", "{}", ((piece,) for piece in pieces))
