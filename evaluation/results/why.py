"""Why one list of a query has a lower value than another, in words: which documents stand where."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import isnan

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from ratings.models import Document

from ..measures import Explanation
from ..page.numbers import number
from ..page.words import joined
from .lists import Ranks
from .parts import LEAST_VISIBLE

MOST_REASONS = 3  # reasons in the sentence
RANKS_IN_WORDS = ("first", "second", "third")  # ranks at which an unjudged document is a reason
TITLE_LETTERS = 60  # of a title


@dataclass(frozen=True)
class SystemList:
    """The list of one system on the query."""

    system: str
    explanation: Explanation  # down to the cutoff
    whole_ranks: Ranks  # also of documents below the cutoff, which `explanation` does not have


def sentence(one: SystemList, another: SystemList, documents: Mapping[int, Document]) -> str:
    """What the list with the lower nDCG lacks against the other; "" where it is empty or none is lower."""
    lower, higher = sorted((one, another), key=lambda side: side.explanation.ndcg)
    if not lower.explanation.ranking or not lower.explanation.ndcg < higher.explanation.ndcg:
        return ""
    told = list(islice(reasons(lower, higher, documents), MOST_REASONS))
    return format_html("In <bdi>{}</bdi>, {}.", lower.system, joined("; ", told)) if told else ""


def reasons(lower: SystemList, higher: SystemList, documents: Mapping[int, Document]) -> Iterator[SafeString]:
    """Why `lower` has a lower value than `higher`, as phrases.

    The first says that an unjudged document is at the top of `lower`, if there is one. The others say, for each
    document that adds less DCG in `lower` than in `higher`, what is wrong with its place, the largest loss first.
    documents: those that the page shows, by pk; others have no phrase.
    """
    # Only the highest unjudged document. A list can be shorter than RANKS_IN_WORDS.
    for word, row in zip(RANKS_IN_WORDS, lower.explanation.ranking, strict=False):
        if isnan(row.grade):
            yield format_html("the {} result is unjudged", word)
            break
    # The rows of both lists down to the cutoff, by pk of the document.
    lower_rows = {row.document: row for row in lower.explanation.ranking}
    higher_rows = {row.document: row for row in higher.explanation.ranking}
    # The loss of a document: the DCG that it adds in `higher` less what it adds in `lower`.
    loss = {pk: row.contribution for pk, row in higher_rows.items()}
    for pk, row in lower_rows.items():
        loss[pk] = loss.get(pk, 0.0) - row.contribution
    for pk in sorted(loss, key=loss.__getitem__, reverse=True):
        if loss[pk] < LEAST_VISIBLE or pk not in documents:
            continue
        title = Truncator(str(documents[pk])).chars(TITLE_LETTERS)
        # A document that `higher` lacks is a loss only if it adds less than 0 to `lower`. So the first branch has
        # it, and the other two find theirs in `higher_rows`. One at the same rank in both lists has no phrase: it
        # can be a loss under ties=average, where a document has the mean gain of those tied with it.
        if pk in lower_rows and lower_rows[pk].contribution < 0:
            row = lower_rows[pk]
            yield format_html("“<bdi>{}</bdi>” ({}) does harm at rank {}", title, number(row.grade, 2), row.rank)
        elif pk not in lower.whole_ranks:
            yield format_html("“<bdi>{}</bdi>” ({}) is missing", title, number(higher_rows[pk].grade, 2))
        elif lower.whole_ranks[pk] != higher_rows[pk].rank:
            row, rank = higher_rows[pk], lower.whole_ranks[pk]
            yield format_html(
                "“<bdi>{}</bdi>” ({}) is at rank {}, not {}", title, number(row.grade, 2), f"{rank:,}", row.rank
            )
