"""Shares and paces, with their intervals, and the pace of one rater."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import fmean, quantiles

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left
from django.utils.html import strip_tags

from ..models import Collection, Document, Rater, RatingEvent
from ..models.rating import Shown
from ..presentation.content import source_of
from ..presentation.parts import Piece, Presented, pieces_of
from ..presentation.proposal import WEB_PAGE

Kind = RatingEvent.Kind
TIMED_KINDS = (Kind.GRADE, Kind.IMPORT)
ACTS_FOR_PACE = 200  # latest acts of a rater that make the pace
FEWEST_ANSWERS = 20  # with fewer there are no hints and no interval of a pace
# Seconds: to see a choice and press its key takes about half a second without reading anything. (Hick, On the rate
# of gain of information, 1952.) Where all rush, a comparison with the others shows nothing.
SECONDS_TOO_FAST_TO_READ = 0.6
# 20 words a second, of 6 characters with their blank. People read 5 words a second on a page, and 19.5 where each
# appears in the same place. (Rubin and Turano, Reading without saccadic eye movements, 1992.)
CHARACTERS_READ_A_SECOND = 120
# Who sees in title and first lines that a document misses the query need not read on: 40 words.
MOST_CHARACTERS_TO_READ = 240
Z = 1.959964  # the 97.5 % quantile of the normal distribution


@dataclass(frozen=True)
class Share:
    """A share `hits / n`, with its interval."""

    hits: int = 0
    n: int = 0

    @property
    def value(self) -> float | None:
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 95 % interval, which stays within 0 and 1."""
        if not self.n:
            return None
        middle = (self.hits + Z**2 / 2) / (self.n + Z**2)
        half = Z * sqrt(self.hits * (self.n - self.hits) / self.n + Z**2 / 4) / (self.n + Z**2)
        return max(0.0, middle - half), min(1.0, middle + half)

    def below(self, other: "Share") -> bool:
        """Whether the whole interval lies below the share of `other`; False below FEWEST_ANSWERS answers."""
        return self.n >= FEWEST_ANSWERS and bool(other.n) and self.interval[1] < other.value

    def __add__(self, other: "Share") -> "Share":
        return Share(self.hits + other.hits, self.n + other.n)


@dataclass(frozen=True)
class Pace:
    """The quartiles and the mean of the times of n grades, in seconds.

    A few long times make the mean greater than the median. Sums of times are computed from the mean.
    """

    n: int
    low: float  # the quartiles: 25 % of the times are below `low`, 50 % below `middle`, 75 % below `high`
    middle: float
    high: float
    mean: float
    error: float | None  # standard error of the mean; None for one grade

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Pace | None":
        """The pace of grades that took so many seconds each; None for no grade."""
        if not seconds:
            return None
        n, mean = len(seconds), fmean(seconds)
        if n == 1:
            return cls(n, low=mean, middle=mean, high=mean, mean=mean, error=None)
        error = sqrt(sum((each - mean) ** 2 for each in seconds) / (n - 1) / n)
        return cls(n, *quantiles(seconds, n=4, method="inclusive"), mean, error)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean; None for few grades."""
        if self.n < FEWEST_ANSWERS:
            return None
        return max(0.0, self.mean - Z * self.error), self.mean + Z * self.error

    def unread(self, too_fast: int) -> bool:
        """Whether most grades came too fast for somebody who reads; False for few grades.

        too_fast: how many did, of `too_fast_to_read`.
        """
        return self.n >= FEWEST_ANSWERS and 2 * too_fast > self.n

    def hours(self, ratings: int) -> float:
        """The time of so many ratings together."""
        return ratings * self.mean / 3600


def pace_of(rater: Rater) -> Pace | None:
    """The pace of this rater, as they see it. One query.

    Repeats count: otherwise a rater who sends an extreme time would find out whether that grade was a repeat.
    """
    rows = latest_grades(Rater.objects.filter(pk=rater.pk), ACTS_FOR_PACE, [*TIMED_KINDS, Kind.REPEAT])
    return Pace.of(list(rows.values_list("events__seconds", flat=True)))


def too_fast_to_read(collection: Collection, raters: QuerySet, acts: int) -> Counter[int]:
    """Rater id → how many of their `latest_grades` came faster than anybody reads what was shown. Two queries.

    `acts`: how many of the latest acts of each rater are looked at. A grade of a document that was shown alone
    is too fast if it took less than `seconds_to_read` needs for the length of its text. For any other grade, in
    a list or by a program or a file, the time is not that of reading one text: it counts as that of no text, so
    that only grades below SECONDS_TOO_FAST_TO_READ, the least time to press a key, are too fast.
    """
    # Version → which fields of a document raters saw, and how. Version 0, without a presentation: as a web page.
    presentations = {row.version: Presented.read(row.content) for row in collection.presentations.all()}
    longest = seconds_to_read(MOST_CHARACTERS_TO_READ)
    document = "events__pair__document__"
    start_of_body = Left(document + "body", MOST_CHARACTERS_TO_READ)  # nobody needs to read more
    columns = ["pk", "events__seconds", "events__shown", "events__presentation_version"]
    columns += [document + name for name in ("key", "title", "url", "fields")]
    # A grade that took longer than the longest document needs was not too fast.
    rows = latest_grades(raters, acts, below=longest).values_list(*columns, start_of_body)
    too_fast: Counter[int] = Counter()
    for rater_id, seconds, shown, version, key, title, url, fields, body in rows.iterator():
        source = source_of(Document(key=key, title=title, url=url, fields=fields, body=body))
        presented = presentations.get(version, WEB_PAGE)
        length = characters(pieces_of(presented.document, source)) if shown == Shown.ALONE else 0
        too_fast[rater_id] += seconds < seconds_to_read(length)  # True counts as 1
    return too_fast


def seconds_to_read(characters: int) -> float:
    """The least time in which anybody can see so many characters and grade: SECONDS_TOO_FAST_TO_READ for none."""
    return max(SECONDS_TOO_FAST_TO_READ, min(characters, MOST_CHARACTERS_TO_READ) / CHARACTERS_READ_A_SECOND)


def characters(pieces: Sequence[Piece]) -> int:
    """How many characters of text the pieces show, without labels, addresses, tables and pictures."""
    return sum(len(piece.text) + len(strip_tags(piece.html)) for piece in pieces if piece.kind != "link")


def latest_grades(
    raters: QuerySet, acts: int, kinds: Sequence[str] = TIMED_KINDS, *, below: float = inf
) -> QuerySet:
    """A queryset of (rater id, value, seconds) of the timed grades among the latest `acts` events of each rater.

    `kinds`: of the events. By default without repeats, which are faster than first grades, and without warm-ups,
    which are slower. `below`: only grades that took fewer seconds. The query begins with the raters, so that both
    databases read only a few rows of an index for each.
    """
    newest_first = RatingEvent.objects.filter(rater=OuterRef("pk")).order_by("-pk").values("pk")
    # The id of the oldest of these events; 0, which is before all, for a rater who has fewer events.
    oldest_id = Coalesce(Subquery(newest_first[acts - 1 : acts]), 0)
    graded = Q(events__kind__in=kinds, events__value__isnull=False)
    rows = raters.order_by().annotate(oldest_id=oldest_id)
    # All in one filter: in several, each condition could be met by another event. An event without a time meets
    # no condition on `seconds`, so even `below` = inf leaves it out.
    rows = rows.filter(graded, events__pk__gte=F("oldest_id"), events__seconds__lt=below)
    return rows.values_list("pk", "events__value", "events__seconds")
