"""The difference of the values of two lists, split by rank: as a table and as a sentence."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ..measures import (
    SPLIT,
    Difference,
    Explanation,
    Measure,
    Part,
    difference,
)
from ..page.numbers import decimals
from ..page.words import counted
from ..scores import Asked
from .lists import SHOWN

NAMED = 3  # ranks named in a sentence; the table has all

VISIBLE = 5e-5  # smaller numbers are written 0.0000


def measure_of(asked: Asked) -> Measure:
    """The measure that is split by rank: the asked one, or nDCG where that cannot be split."""
    return asked.measure if asked.measure.name in SPLIT else asked.at("nDCG")


def differences(
    explained: Mapping[str, Explanation], names: Sequence[str], measure: Measure
) -> dict[tuple[str, str], Difference]:
    """The difference of each system from the first, split by rank, by (first, system), where it can be split."""
    first, *others = names
    splits = {(first, name): difference(explained[first], explained[name], measure.name) for name in others}
    return {both: split for both, split in splits.items() if split}


def as_table(
    differences: Mapping[tuple[str, str], Difference], explanations: Iterable[Explanation], asked: Asked
) -> dict | None:
    """The context of the table with the part of each rank in each list; None where no difference can be split."""
    if not differences:
        return None
    splits, measure = list(differences.values()), measure_of(asked)
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
        rest = [split.parts[SHOWN:] for split in splits]
        below = [Part(0, fsum(part.first for part in each), fsum(part.second for part in each)) for each in rest]
        rows.append(row(counted(depth - SHOWN, "more rank", "more ranks"), below, widest))
    return {
        "measure": measure,
        "label": f"{measure} {asked.fingerprint}",
        "another": asked.measure if measure != asked.measure else None,
        "first": next(iter(differences))[0],
        "others": [second for _, second in differences],
        "sentences": [sentence(*both, split) for both, split in differences.items()],
        "one_ideal": all(split.one_ideal for split in splits),
        "rows": rows,
        "total": [Part(0, split.first, split.second) for split in splits],
    }


def row(head: str, parts: Sequence[Part], widest: float, discount: float | None = None) -> dict:
    """The context of a row of the table. parts: one for each difference; widest: the largest part of all."""
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


def bar(value: float, widest: float) -> dict:
    """The context of a bar, in percent of its box, from the middle to the right or, for a loss, to the left.

    The part `widest` fills half of the box.
    """
    # Bounded, since the sum of many ranks, or the part of the empty list, can exceed that of any single rank.
    width = min(50 * abs(value) / widest, 50) if widest else 0.0
    look = "up" if value > 0 else "down"
    return {"x": f"{50 - width if value < 0 else 50:.2f}%", "width": f"{width:.2f}%", "look": look}


# In words


def sentence(first: str, second: str, split: Difference) -> SafeString:
    """The sentence on the ranks at which the list with the lower value loses to the other, and wins back."""
    lower, higher, sign = (first, second, -1) if split.difference > 0 else (second, first, 1)
    steps = [(part.rank, sign * part.difference) for part in split.parts]
    losses, wins = (places([(rank, step) for rank, step in steps if step * way > 0]) for way in (-1, 1))
    if not (losses or wins):
        return format_html("<bdi>{}</bdi> and <bdi>{}</bdi> gain the same at every rank.", lower, higher)
    text = format_html("Against <bdi>{}</bdi>, <bdi>{}</bdi> loses {}", higher, lower, losses or "at no rank")
    if wins:
        text = format_html("{}; it wins back {}", text, wins)
    apart = sign * split.empty.difference
    if abs(apart) >= VISIBLE:
        way = "higher" if apart > 0 else "lower"
        starts = "{}; because the ideal lists differ, its value starts {} {}"
        text = format_html(starts, text, decimals(abs(apart)), way)
    return format_html("{}{}.", text, "" if abs(split.difference) >= VISIBLE else ": in all they are equal")


def places(steps: Sequence[tuple[int, float]]) -> str:
    """The steps as "0.2126 at rank 2, 0.1011 at rank 3 and 0.0500 at four other ranks", the largest first.

    steps: (rank, difference).
    """
    by_size = sorted(steps, key=lambda each: (-abs(each[1]), each[0]))
    named = [each for each in by_size if abs(each[1]) >= VISIBLE]
    if len(named) > NAMED + 1:
        named = named[:NAMED]
    texts = [f"{decimals(abs(step))} at rank {rank:,}" for rank, step in named]
    rest = [step for _, step in by_size[len(named) :]]
    total = abs(fsum(rest))
    if total >= VISIBLE:
        texts.append(f"{decimals(total)} at {counted(len(rest), 'other rank', 'other ranks')}")
    return " and ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))
