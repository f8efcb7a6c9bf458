"""The difference of the values of two lists, split by rank: as a table and as a sentence.

A part is what one rank adds to each of the two values.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ..measures import SPLIT, Difference, Explanation, Measure, Part, difference
from ..page.numbers import decimals
from ..page.words import counted
from ..scores import Asked
from .lists import SHOWN_RANKS

NAMED_RANKS = 3  # ranks named in a sentence; the table has all

LEAST_VISIBLE = 5e-5  # smaller numbers are written 0.0000


def measure_of(asked: Asked) -> Measure:
    """The measure that is split by rank: the asked one, or nDCG where that cannot be split."""
    return asked.measure if asked.measure.name in SPLIT else asked.at("nDCG")


def differences(
    explained: Mapping[str, Explanation], names: Sequence[str], measure: Measure
) -> dict[tuple[str, str], Difference]:
    """The difference of each system from the first, split by rank, by (first, system), where it can be split."""
    first, *others = names
    splits = {(first, name): difference(explained[first], explained[name], measure.name) for name in others}
    return {pair: split for pair, split in splits.items() if split}


def as_table(
    differences: Mapping[tuple[str, str], Difference], explanations: Iterable[Explanation], asked: Asked
) -> dict | None:
    """The context of the table with the part of each rank in each list; None where no difference can be split.

    differences: as from the function `differences`, all from the same first system.
    """
    if not differences:
        return None
    pairs, splits = list(differences), list(differences.values())
    first, _ = pairs[0]
    measure = measure_of(asked)
    # The discount of each rank, which is the same in all lists.
    discounts = {row.rank: row.discount for explanation in explanations for row in explanation.ranking}
    return {
        "measure": measure,
        "label": f"{measure} {asked.fingerprint}",
        "another": asked.measure if measure != asked.measure else None,  # the asked measure, if it cannot be split
        "first": first,
        "others": [second for _, second in pairs],
        "sentences": [sentence(first, second, split) for (_, second), split in differences.items()],
        # Whether a rank weighs the same in all lists, since they have the same ideal list.
        "one_ideal": all(split.one_ideal for split in splits),
        "rows": table_rows(splits, discounts),
        # The values themselves, in the form of the rows.
        "total": [Part(rank=0, first=split.first, second=split.second) for split in splits],
    }


def table_rows(splits: Sequence[Difference], discounts: Mapping[int, float]) -> list[dict]:
    """The rows of the table: the empty list if it has a value, each rank to SHOWN_RANKS, and the sum of the rest.

    splits: from the same first system; discounts: by rank.
    """
    depth = max(len(split.parts) for split in splits)
    # Of single ranks. `bar` cuts the bar of a row with a larger difference, such as the sum of the rest.
    widest = max((abs(part.difference) for split in splits for part in split.parts), default=0.0)
    rows = []
    # With negative gains the worst list, whose nDCG is 0, can be worse than an empty one: that is then above 0.
    empty_lists = [split.of_empty_list for split in splits]
    if any(part.first or part.second for part in empty_lists):
        rows.append(table_row("Empty list", empty_lists, widest))
    for rank in range(1, min(depth, SHOWN_RANKS) + 1):
        rows.append(table_row(str(rank), [part_at(split, rank) for split in splits], widest, discounts[rank]))
    if depth > SHOWN_RANKS:
        rest = [sum_of_parts(split.parts[SHOWN_RANKS:]) for split in splits]
        rows.append(table_row(counted(depth - SHOWN_RANKS, "more rank", "more ranks"), rest, widest))
    return rows


def sum_of_parts(parts: Sequence[Part]) -> Part:
    """The sum of the parts of several ranks; it has no rank of its own."""
    return Part(rank=0, first=fsum(part.first for part in parts), second=fsum(part.second for part in parts))


def table_row(head: str, parts: Sequence[Part], widest: float, discount: float | None = None) -> dict:
    """The context of a row of the table. parts: one for each difference; widest: the largest part of all."""
    return {
        "head": head,
        "rank": parts[0].rank,  # 0: the row is of no single rank
        "discount": discount,
        "first": parts[0].first,
        "others": [(part, bar(part.difference, widest)) for part in parts],
    }


def part_at(split: Difference, rank: int) -> Part:
    """The part of a rank; zeros below the end of both lists."""
    return split.parts[rank - 1] if rank <= len(split.parts) else Part(rank, first=0.0, second=0.0)


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
    """A sentence such as "Against A, B loses 0.2126 at rank 2; it wins back 0.0500 at rank 4."

    B is the list with the lower value of the two, and A the one with the higher value.
    """
    # Differences are `second` minus `first`. Times `sign` they are `lower` minus `higher`: below 0 `lower` loses.
    lower, higher, sign = (first, second, -1) if split.difference > 0 else (second, first, 1)
    steps = [(part.rank, sign * part.difference) for part in split.parts]
    losses = steps_in_words([(rank, step) for rank, step in steps if step < 0])
    wins = steps_in_words([(rank, step) for rank, step in steps if step > 0])
    # Of the ranks alone: the values can still start apart, see `head_start`.
    if not (losses or wins):
        return format_html("<bdi>{}</bdi> and <bdi>{}</bdi> gain the same at every rank.", lower, higher)
    text = format_html("Against <bdi>{}</bdi>, <bdi>{}</bdi> loses {}", higher, lower, losses or "at no rank")
    if wins:
        text = format_html("{}; it wins back {}", text, wins)
    # How far `lower` is above `higher` before the first rank: 0.1 for "its value starts 0.1000 higher". A list
    # starts with the value of an empty one, which depends on its ideal list.
    head_start = sign * split.of_empty_list.difference
    if abs(head_start) >= LEAST_VISIBLE:
        size = f"{decimals(abs(head_start))} {'higher' if head_start > 0 else 'lower'}"
        text = format_html("{}; because the ideal lists differ, its value starts {}", text, size)
    return format_html("{}{}.", text, "" if abs(split.difference) >= LEAST_VISIBLE else ": in all they are equal")


def steps_in_words(steps: Sequence[tuple[int, float]]) -> str:
    """The steps as "0.2126 at rank 2, 0.1011 at rank 3 and 0.0500 at four other ranks", the largest first.

    The text is "" where the steps are too small to be visible. steps: (rank, what it adds to the difference), all
    of one sign.
    """
    largest_first = sorted(steps, key=lambda step: -abs(step[1]))
    named_steps = [(rank, step) for rank, step in largest_first if abs(step) >= LEAST_VISIBLE]
    if len(named_steps) > NAMED_RANKS + 1:  # one more rank is as short as "1 other rank"
        named_steps = named_steps[:NAMED_RANKS]
    texts = [f"{decimals(abs(step))} at rank {rank:,}" for rank, step in named_steps]
    rest = [step for _, step in largest_first[len(named_steps) :]]
    sum_of_rest = abs(fsum(rest))
    if sum_of_rest >= LEAST_VISIBLE:
        texts.append(f"{decimals(sum_of_rest)} at {counted(len(rest), 'other rank', 'other ranks')}")
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
