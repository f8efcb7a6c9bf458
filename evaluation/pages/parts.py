"""The difference of two lists' values by rank, as a table and in a sentence."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ..measures import SPLIT, Difference, Explanation, Measure, Part, difference
from ..words.numbers import decimals
from ..words.sentences import counted
from .asked import Asked
from .lists import SHOWN

NAMED = 3  # ranks named in a sentence; the table has them all

SEEN = 5e-5  # smaller numbers are written 0.0000


def measure_of(asked: Asked) -> Measure:
    """The measure that is split by rank: the asked one, or nDCG where that cannot be split."""
    return asked.measure if asked.measure.name in SPLIT else asked.at("nDCG")


def differences(
    explained: Mapping[str, Explanation], names: Sequence[str], measure: Measure
) -> dict[tuple[str, str], Difference]:
    """The difference of each system from the first, by both names, where it can be split."""
    first, *others = names
    found = {(first, name): difference(explained[first], explained[name], measure.name) for name in others}
    return {both: split for both, split in found.items() if split}


def drawn(
    found: Mapping[tuple[str, str], Difference], explanations: Iterable[Explanation], asked: Asked
) -> dict | None:
    """The parts as a table with bars: the part of each rank in the first list, and in each of the others."""
    if not found:
        return None
    splits, measure = list(found.values()), measure_of(asked)
    discounts = {row.rank: row.discount for each in explanations for row in each.ranking}
    depth = max(len(split.parts) for split in splits)
    widest = max((abs(part.difference) for split in splits for part in split.parts), default=0.0)
    rows = [
        row(str(rank), [at(split, rank) for split in splits], widest, discounts[rank])
        for rank in range(1, min(depth, SHOWN) + 1)
    ]
    empty = [split.empty for split in splits]
    if any(part.first or part.second for part in empty):
        rows.insert(0, row("Empty list", empty, widest))
    if depth > SHOWN:
        below = [summed(split.parts[SHOWN:]) for split in splits]
        rows.append(row(counted(depth - SHOWN, "more rank", "more ranks"), below, widest))
    return {
        "measure": measure,
        "label": f"{measure} {asked.fingerprint}",
        "another": asked.measure if measure != asked.measure else None,
        "first": next(iter(found))[0],
        "others": [second for _, second in found],
        "sentences": [sentence(*both, split) for both, split in found.items()],
        "one_ideal": all(split.one_ideal for split in splits),
        "rows": rows,
        "total": [Part(0, split.first, split.second) for split in splits],
    }


def row(head: str, parts: Sequence[Part], widest: float, discount: float | None = None) -> dict:
    return {
        "head": head,
        "rank": parts[0].rank,
        "discount": discount,
        "first": parts[0].first,
        "others": [(part, bar(part.difference, widest)) for part in parts],
    }


def at(split: Difference, rank: int) -> Part:
    """The part of a rank; zeros below the end of both lists."""
    return split.parts[rank - 1] if rank <= len(split.parts) else Part(rank, 0.0, 0.0)


def summed(parts: Sequence[Part]) -> Part:
    return Part(0, fsum(part.first for part in parts), fsum(part.second for part in parts))


def bar(value: float, widest: float) -> dict:
    """A bar from the middle of its box, to the left for a loss, in percent; the widest fills its half."""
    # The sum of many ranks, or the part of the empty list, can exceed that of any single rank.
    width = min(50 * abs(value) / widest, 50) if widest else 0.0
    look = "up" if value > 0 else "down"
    return {"x": f"{50 - width if value < 0 else 50:.2f}%", "width": f"{width:.2f}%", "look": look}


# In words


def sentence(first: str, second: str, split: Difference) -> SafeString:
    """At which ranks the lower list loses to the higher, and at which it gains."""
    lower, higher, sign = (first, second, -1) if split.difference > 0 else (second, first, 1)
    steps = [(part.rank, sign * part.difference) for part in split.parts]
    losses, wins = (places([(rank, step) for rank, step in steps if step * way > 0]) for way in (-1, 1))
    if not (losses or wins):
        return format_html("{} and {} gain the same at every rank.", lower, higher)
    said = format_html("Against {}, {} loses {}", higher, lower, losses or "at no rank")
    if wins:
        said = format_html("{}; it wins back {}", said, wins)
    apart = sign * split.empty.difference
    if abs(apart) >= SEEN:
        way = "higher" if apart > 0 else "lower"
        said = format_html("{}; by its own ideal list it starts {} {}", said, decimals(abs(apart)), way)
    return format_html("{}{}.", said, "" if abs(split.difference) >= SEEN else ": in all they are equal")


def places(steps: Sequence[tuple[int, float]]) -> str:
    """The gains as "0.2126 at rank 2, 0.1011 at rank 3 and 0.0500 at four other ranks", the largest first."""
    big = sorted(steps, key=lambda each: (-abs(each[1]), each[0]))
    named = [each for each in big if abs(each[1]) >= SEEN]
    if len(named) > NAMED + 1:
        named = named[:NAMED]
    said = [f"{decimals(abs(step))} at rank {rank:,}" for rank, step in named]
    rest = [step for _, step in big[len(named) :]]
    left = abs(fsum(rest))
    if left >= SEEN:
        said.append(f"{decimals(left)} at {counted(len(rest), 'other rank', 'other ranks')}")
    return " and ".join(filter(None, [", ".join(said[:-1]), *said[-1:]]))
