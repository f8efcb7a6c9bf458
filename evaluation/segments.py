"""By how much two systems differ on queries that are alike: of one tag, one length, one weight."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from . import report
from .comparison import Compared
from .significance import ALPHA, CANNOT_TELL, FEWEST, HIGHER, LOWER, Comparison, compare, holm

TAG, LENGTH, WEIGHT = KINDS = ("tag", "length", "weight")
MOST_TAGS = 20  # those with the most queries

# Words with which a segment begins: for every collection the same, so that no line is drawn to fit its numbers.
LENGTHS = (0, 1, 2, 3, 4, 6, 9, 14, 21)
QUARTERS = (0.25, 0.5, 0.75)

NAMES = ("difference", "low", "high", "wins", "ties", "losses", "p", "p_holm", "verdict")  # of a Comparison


@dataclass(frozen=True, eq=False)
class Segment:
    """Queries that are alike. A query of several tags is in several segments."""

    kind: str  # of KINDS
    name: str  # "": those without a tag
    members: np.ndarray  # bool[queries]

    @property
    def label(self) -> str:
        """Among others of its kind: health, no tag, 2 words, 3 to 8."""
        return self.name or "no tag"

    @property
    def title(self) -> str:
        """By itself: tag health, no tag, 2 words, weight 3 to 8."""
        return f"{self.kind} {self.name}" if self.name and self.kind != LENGTH else self.label

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, eq=False)
class OnSegment:
    """What two systems differ by on the queries of a segment. `p_holm` and the verdict allow for all segments."""

    segment: Segment
    queries: int  # on which both have a value
    undefined: int  # on which they have not
    said: Comparison

    @property
    def few(self) -> bool:
        return self.queries < FEWEST

    @property
    def told(self) -> bool:
        return self.said.verdict != CANNOT_TELL


def segments(queries: pd.DataFrame) -> list[Segment]:
    """Of queries with tags, text and weight, in the order of KINDS; none of a kind in which all are alike."""
    return [*_by_tag(queries["tags"])[0], *_by_length(queries["text"]), *_by_weight(queries["weight"])]


def tags_left_out(queries: pd.DataFrame) -> int:
    """How many tags are no segment, because others have more queries."""
    return _by_tag(queries["tags"])[1]


def words_in(text: str) -> int:
    """What blanks part: a text in a script without blanks is one word."""
    return len(text.split())


def _by_tag(tags: Iterable[Sequence[str]]) -> tuple[list[Segment], int]:
    """The tag with the most queries first, those without one last; and how many tags there are besides."""
    rows = [frozenset(row) for row in tags]
    sizes = Counter(tag for row in rows for tag in row)
    order = sorted(sizes, key=lambda tag: (-sizes[tag], tag))
    found = [Segment(TAG, tag, np.array([tag in row for row in rows])) for tag in order[:MOST_TAGS]]
    if found and not all(rows):
        found.append(Segment(TAG, "", np.array([not row for row in rows])))
    return [each for each in found if not each.members.all()], max(0, len(order) - MOST_TAGS)


def _by_length(texts: Iterable[str]) -> list[Segment]:
    words = np.array([words_in(text) for text in texts], np.int64)
    return _parted(LENGTH, np.searchsorted(LENGTHS, words, side="right") - 1, _band)


def _band(part: int) -> str:
    """2 words, 4 to 5 words, 21 words or more."""
    first = LENGTHS[part]
    if part + 1 == len(LENGTHS):
        return f"{first} words or more"
    last = LENGTHS[part + 1] - 1
    return f"{first} word{'' if last == 1 else 's'}" if first == last else f"{first} to {last} words"


def _by_weight(weights: pd.Series) -> list[Segment]:
    """Quarters of the queries, the lightest first; where many weigh the same, fewer and larger parts."""
    weight = weights.to_numpy(np.float64)
    if not weight.size:
        return []
    part = np.searchsorted(np.unique(np.quantile(weight, QUARTERS)), weight)

    def name(each: int) -> str:
        least, most = weight[part == each].min(), weight[part == each].max()
        return f"{least:g}" if least == most else f"{least:g} to {most:g}"

    return _parted(WEIGHT, part, name)


def _parted(kind: str, part: np.ndarray, name: Callable[[int], str]) -> list[Segment]:
    """A segment for each number in int64[queries]; none where all are in one."""
    parts = np.unique(part).tolist()
    return [Segment(kind, name(each), part == each) for each in parts] if len(parts) > 1 else []


def compared(found: Compared, every: Sequence[Segment]) -> list[OnSegment]:
    """The pair of systems of `found` on each segment: paired t tests with Holm's correction for all of them.

    A segment with fewer than FEWEST queries has no p, and is none of those that are corrected for.
    """
    both = np.column_stack([found.values(name) for name in found.pairs[0]])
    draws, seed = found.found.draws, found.found.seed
    said = [compare(both[each.members[found.common]], [(0, 1)], draws, seed).pairs[0] for each in every]
    # One comparison each, so that theirs is not adjusted yet.
    adjusted = holm(np.array([np.nan if each.p_holm is None else each.p_holm for each in said]))
    return [
        OnSegment(
            segment,
            queries=int((segment.members & found.common).sum()),
            undefined=int((segment.members & ~found.common).sum()),
            said=_adjusted(each, p),
        )
        for segment, each, p in zip(every, said, adjusted.tolist(), strict=True)
    ]


def _adjusted(said: Comparison, p: float) -> Comparison:
    if np.isnan(p):
        return said
    verdict = CANNOT_TELL if p >= ALPHA else HIGHER if said.difference > 0 else LOWER
    return replace(said, p_holm=p, verdict=verdict)


# As files


def rows(found: Compared, every: Sequence[OnSegment]) -> list[dict]:
    baseline, system = found.pairs[0]
    return [
        {
            "measure": str(found.measure),
            "baseline": baseline,
            "system": system,
            "kind": each.segment.kind,
            "segment": each.segment.name,
            "queries": each.queries,
            "undefined": each.undefined,
        }
        | {name: getattr(each.said, name) for name in NAMES}
        | {"why": {name: each.said.why[name] for name in NAMES if name in each.said.why}}
        for each in every
    ]


def table(found: Compared, every: Sequence[OnSegment], profile: str) -> report.Table:
    """A row for each segment."""
    made_by = {
        "alpha": ALPHA,
        "correction": "holm",
        "profile": profile,
        "options": found.evaluation.fingerprint_of(found.measure),
    }
    header = ["measure", "baseline", "system", "kind", "segment", "queries", "undefined", *NAMES, "why", *made_by]
    table = []
    for row in rows(found, every):
        why = ", ".join(f"{name}: {reason}" for name, reason in row.pop("why").items())
        table.append([*row.values(), why, *made_by.values()])
    return header, table
