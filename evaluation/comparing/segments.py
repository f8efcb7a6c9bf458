"""Differences of two systems on segments of the queries: by tag and by length."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..page import documents
from ..results.comparison import Compared
from ..significance import (
    ALPHA,
    CANNOT_TELL,
    FEWEST,
    HIGHER,
    LOWER,
    Comparison,
    compare,
    holm,
)

TAG, LENGTH = KINDS = ("tag", "length")
MOST_TAGS = 20  # the tags with the most queries have segments

# The least number of words of each segment. Fixed for all collections, so that none is chosen to fit results.
LENGTHS = (0, 1, 2, 3, 4, 6, 9, 14, 21)

NAMES = ("difference", "low", "high", "wins", "ties", "losses", "p", "p_holm", "verdict")  # of a Comparison


@dataclass(frozen=True, eq=False)
class Segment:
    """A set of queries with something in common. A query with several tags is in several segments."""

    kind: str  # of KINDS
    name: str  # "": queries without a tag
    members: np.ndarray  # bool[queries]

    @property
    def label(self) -> str:
        """The name among segments of its kind: health, no tag, 2 words."""
        return self.name or "no tag"

    @property
    def title(self) -> str:
        """The name by itself: tag health, no tag, 2 words."""
        return f"{self.kind} {self.name}" if self.name and self.kind != LENGTH else self.label

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, eq=False)
class OnSegment:
    """Two systems compared on one segment. `p_holm` and the verdict are corrected for all segments."""

    segment: Segment
    queries: int  # where both systems have a value
    undefined: int  # where one has none
    comparison: Comparison

    @property
    def few(self) -> bool:
        return self.queries < FEWEST

    @property
    def significant(self) -> bool:
        return self.comparison.verdict != CANNOT_TELL


def segments(queries: pd.DataFrame) -> list[Segment]:
    """The segments of these queries (tags, text), in the order of KINDS.

    A kind has no segments where all queries would be in one.
    """
    return [*_by_tag(queries["tags"])[0], *_by_length(queries["text"])]


def tags_left_out(queries: pd.DataFrame) -> int:
    """The number of tags without a segment, beyond the MOST_TAGS with the most queries."""
    return _by_tag(queries["tags"])[1]


def words_in(text: str) -> int:
    """The number of words separated by blanks; a text in a script without blanks is one word."""
    return len(text.split())


def _by_tag(tags: Iterable[Sequence[str]]) -> tuple[list[Segment], int]:
    """The segments by tag, the largest first and queries without a tag last; and how many tags are left out."""
    rows = [frozenset(row) for row in tags]
    sizes = Counter(tag for row in rows for tag in row)
    order = sorted(sizes, key=lambda tag: (-sizes[tag], tag))
    tagged = [Segment(TAG, tag, np.array([tag in row for row in rows])) for tag in order[:MOST_TAGS]]
    if tagged and not all(rows):
        tagged.append(Segment(TAG, "", np.array([not row for row in rows])))
    return [each for each in tagged if not each.members.all()], max(0, len(order) - MOST_TAGS)


def _by_length(texts: Iterable[str]) -> list[Segment]:
    words = np.array([words_in(text) for text in texts], np.int64)
    return _parted(LENGTH, np.searchsorted(LENGTHS, words, side="right") - 1, _band)


def _band(part: int) -> str:
    """The name of a segment by length: 2 words, 4 to 5 words, 21 words or more."""
    first = LENGTHS[part]
    if part + 1 == len(LENGTHS):
        return f"{first} words or more"
    last = LENGTHS[part + 1] - 1
    return f"{first} word{'' if last == 1 else 's'}" if first == last else f"{first} to {last} words"


def _parted(kind: str, part: np.ndarray, name: Callable[[int], str]) -> list[Segment]:
    """A segment for each number in `part`, int64[queries]; none where all are in one."""
    parts = np.unique(part).tolist()
    return [Segment(kind, name(each), part == each) for each in parts] if len(parts) > 1 else []


def compared(result: Compared, every: Sequence[Segment]) -> list[OnSegment]:
    """The first pair of `result` on each segment: paired t tests with Holm's correction for all segments.

    A segment with fewer than FEWEST queries has no p and does not count in the correction.
    """
    both = np.column_stack([result.values(name) for name in result.pairs[0]])
    draws, seed = result.tests.draws, result.tests.seed
    tests = []
    for segment in every:
        members = segment.members[result.common]
        sampled = result.sampled and result.sampled.within(members)
        tests.append(compare(both[members], [(0, 1)], draws, seed, sampled=sampled).pairs[0])
    # Each `compare` has one pair, so its p_holm is not adjusted yet.
    adjusted = holm(np.array([np.nan if each.p_holm is None else each.p_holm for each in tests]))
    return [
        OnSegment(
            segment,
            queries=int((segment.members & result.common).sum()),
            undefined=int((segment.members & ~result.common).sum()),
            comparison=_adjusted(each, p),
        )
        for segment, each, p in zip(every, tests, adjusted.tolist(), strict=True)
    ]


def _adjusted(test: Comparison, p: float) -> Comparison:
    if np.isnan(p):
        return test
    verdict = CANNOT_TELL if p >= ALPHA else HIGHER if test.difference > 0 else LOWER
    return replace(test, p_holm=p, verdict=verdict)


# As files


def rows(result: Compared, every: Sequence[OnSegment]) -> list[dict]:
    baseline, system = result.pairs[0]
    return [
        {
            "measure": str(result.measure),
            "baseline": baseline,
            "system": system,
            "kind": each.segment.kind,
            "segment": each.segment.name,
            "queries": each.queries,
            "undefined": each.undefined,
        }
        | {name: getattr(each.comparison, name) for name in NAMES}
        | {"why": {name: each.comparison.why[name] for name in NAMES if name in each.comparison.why}}
        for each in every
    ]


def table(result: Compared, every: Sequence[OnSegment]) -> documents.Table:
    """The CSV table: a row for each segment."""
    made_by = {
        "alpha": ALPHA,
        "correction": "holm",
        "profile": result.evaluation.asked.profile,
        "options": result.evaluation.fingerprint_of(result.measure),
    }
    header = ["measure", "baseline", "system", "kind", "segment", "queries", "undefined", *NAMES, "why", *made_by]
    return documents.table_of(
        header, (row | made_by | {"why": documents.in_words(row["why"])} for row in rows(result, every))
    )
