"""Differences of two systems on segments of the queries: by tag and by length."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pandas as pd

from ..page import documents
from ..results.comparison import Compared
from ..scores import plain_and_traffic
from ..significance import ALPHA, CANNOT_TELL, FEWEST, HIGHER, LOWER, Comparison, compare, holm

TAG, LENGTH = "tag", "length"  # the kinds
MOST_TAGS = 20  # the tags with the most queries have segments

# The least number of words of each segment by length. Fixed for all collections, so that none is chosen to fit
# results.
LEAST_WORDS = (0, 1, 2, 3, 4, 6, 9, 14, 21)

FIELDS = ("difference", "low", "high", "wins", "ties", "losses", "p", "p_holm", "verdict")  # of a Comparison


@dataclass(frozen=True, eq=False)
class Segment:
    """A set of queries with something in common. A query with several tags is in several segments."""

    kind: str  # TAG or LENGTH
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
    of_log: dict[str, float | None]  # where the queries were drawn from a log: see `scores.plain_and_traffic`

    @property
    def few(self) -> bool:
        return self.queries < FEWEST

    @property
    def significant(self) -> bool:
        return self.comparison.verdict != CANNOT_TELL


def segments(queries: pd.DataFrame) -> list[Segment]:
    """The segments of these queries (tags, text), those by tag first; no segment has all queries."""
    return [*_by_tag(queries["tags"])[0], *_by_length(queries["text"])]


def tags_left_out(queries: pd.DataFrame) -> int:
    """The number of tags without a segment, beyond the MOST_TAGS with the most queries."""
    return _by_tag(queries["tags"])[1]


def words_in(text: str) -> int:
    """The number of words separated by blanks; a text in a script without blanks is one word."""
    return len(text.split())


def _by_tag(tags: Iterable[Sequence[str]]) -> tuple[list[Segment], int]:
    """The segments by tag, the largest first and queries without a tag last; and how many tags are left out."""
    tags_of_queries = [frozenset(row) for row in tags]
    sizes = Counter(chain.from_iterable(tags_of_queries))
    order = sorted(sizes, key=lambda tag: (-sizes[tag], tag))
    tagged = []
    for tag in order[:MOST_TAGS]:
        tagged.append(Segment(TAG, tag, np.array([tag in of_query for of_query in tags_of_queries])))
    if tagged and not all(tags_of_queries):  # some query has no tag
        tagged.append(Segment(TAG, "", np.array([not of_query for of_query in tags_of_queries])))
    return [segment for segment in tagged if not segment.members.all()], max(0, len(order) - MOST_TAGS)


def _by_length(texts: Iterable[str]) -> list[Segment]:
    """A segment for each number in LEAST_WORDS from which on there are queries; none where all are in one."""
    words = np.array([words_in(text) for text in texts], np.int64)
    band_of_query = np.searchsorted(LEAST_WORDS, words, side="right") - 1
    bands = np.unique(band_of_query).tolist()
    return [Segment(LENGTH, _band_name(band), band_of_query == band) for band in bands] if len(bands) > 1 else []


def _band_name(band: int) -> str:
    """The name of a segment by length: 2 words, 4 to 5 words, 21 words or more."""
    first = LEAST_WORDS[band]
    if band + 1 == len(LEAST_WORDS):
        return f"{first} words or more"
    last = LEAST_WORDS[band + 1] - 1
    return f"{first} word{'' if last == 1 else 's'}" if first == last else f"{first} to {last} words"


def compared(result: Compared, segments: Sequence[Segment]) -> list[OnSegment]:
    """The pair of `result` on each segment: paired t tests with Holm's correction for all segments.

    A segment with fewer than FEWEST queries has no p and does not count in the correction. `result.common`,
    bool[queries], is true for the common queries: those with a value for both systems. result: of one pair.
    """
    values = np.column_stack([result.values(name) for name in result.pairs[0]])  # [common queries, 2]
    difference = result.difference(*result.pairs[0])  # float[queries]
    draws, seed = result.tests.draws, result.tests.seed  # of the randomisation test
    on_segments = []  # with tests that are not corrected yet
    for segment in segments:
        has_values = result.common[segment.members]  # bool[queries of the segment]: for both systems
        sample = common_sample = None  # None unless the queries were drawn from a log
        if result.evaluation.sampled:
            sample = result.evaluation.sampled.within(segment.members)
            # The queries with values stand for the others of their stratum in this segment, too.
            common_sample = sample.answered(has_values)
        common_members = segment.members[result.common]  # bool[common queries]: whether in the segment
        # (0, 1): the one pair of columns, baseline and system.
        test = compare(values[common_members], [(0, 1)], draws, seed, sampled=common_sample).pairs[0]
        # What stands beside a mean over all searches of a log: {} where `sample` is None.
        of_log = plain_and_traffic(difference[segment.members], sample)
        on_segments.append(OnSegment(segment, int(has_values.sum()), int((~has_values).sum()), test, of_log))
    # Each `compare` has one pair, so its p_holm is not corrected yet. None, here nan, where nothing was tested.
    p_values = [np.nan if each.comparison.p_holm is None else each.comparison.p_holm for each in on_segments]
    corrected = holm(np.array(p_values)).tolist()
    pairs = zip(on_segments, corrected, strict=True)
    return [replace(each, comparison=_with_p_holm(each.comparison, p)) for each, p in pairs]


def _with_p_holm(test: Comparison, p: float) -> Comparison:
    """The test with this p as its `p_holm`, and the verdict by it; unchanged for nan, where nothing was tested."""
    if np.isnan(p):
        return test
    verdict = CANNOT_TELL if p >= ALPHA else HIGHER if test.difference > 0 else LOWER
    return replace(test, p_holm=p, verdict=verdict)


# As files


def rows(result: Compared, on_segments: Sequence[OnSegment]) -> list[dict]:
    """A row for each segment, with the numbers of its comparison and the reasons for those that are missing.

    result, on_segments: the one pair on all queries, and on each segment. `queries`, `undefined`: on how many
    queries both systems have a value, and on how many one has none. `why`: the reason for each of FIELDS that is
    missing, by name. Where the queries were drawn from a log, a row also has `plain` and `traffic`, as from
    `scores.plain_and_traffic`.
    """
    baseline, system = result.pairs[0]
    return [
        {
            "measure": str(result.measure),
            "baseline": baseline,
            "system": system,
            "kind": on_segment.segment.kind,
            "segment": on_segment.segment.name,
            "queries": on_segment.queries,
            "undefined": on_segment.undefined,
            **on_segment.of_log,
            **{name: getattr(on_segment.comparison, name) for name in FIELDS},
            "why": {name: text for name, text in on_segment.comparison.why.items() if name in FIELDS},
        }
        for on_segment in on_segments
    ]


def table(result: Compared, on_segments: Sequence[OnSegment]) -> documents.Table:
    """The CSV table: a row for each segment."""
    made_by = {
        "alpha": ALPHA,
        "correction": "holm",
        "profile": result.evaluation.asked.profile,
        "options": result.evaluation.fingerprint_of(result.measure),
    }
    header = ["measure", "baseline", "system", "kind", "segment", "queries", "undefined"]
    # Where the queries were drawn from a log: the mean difference that is not weighted by searches, and the share
    # of the searches of the segment whose queries have a value for both systems.
    header += ["plain", "traffic"] if result.sampled else []
    header += [*FIELDS, "why", *made_by]
    with_words = (row | {"why": documents.in_words(row["why"])} for row in rows(result, on_segments))
    return documents.table_of(header, (row | made_by for row in with_words))
