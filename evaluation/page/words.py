"""Counts and names within sentences, and the words for a higher value."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ..measures import Measure

WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def counted(number: int, one: str, many: str) -> str:
    """The number with its noun, as "three systems" or "16 queries": up to twelve it is a word."""
    return f"{WORDS[number] if number < len(WORDS) else f'{number:,}'} {one if number == 1 else many}"


def named(names: Sequence[str], most: int = 3) -> SafeString:
    """The names in bold, as "b, c and d"; above `most` + 1 of them, as "b, c, d and 4 more"."""
    shown, rest = list(names[:most]), len(names) - most
    if len(names) == most + 1:  # rather the last name than "1 more"
        shown, rest = list(names), 0
    parts = [format_html("<b>{}</b>", name) for name in shown] + ([f"{rest} more"] if rest > 0 else [])
    if len(parts) < 2:
        return joined("", parts)
    return format_html("{} and {}", joined(", ", parts[:-1]), parts[-1])


def joined(between: str, parts: Iterable[str]) -> SafeString:
    """The parts as HTML with `between` between them; those that are no HTML are escaped."""
    return format_html_join(between, "{}", ((part,) for part in parts))


def about_interval(sampled: object | None) -> str:
    """What the 95 % interval of a mean is about. sampled: as in `Evaluation`; None without a draw."""
    return "for the draw of the queries" if sampled else "over queries"


@dataclass(frozen=True)
class Degree:
    """What a system with a higher value is called, and one with a lower value."""

    more: str
    most: str
    less: str
    least: str


BETTER = Degree("better", "best", "worse", "worst")
HIGH = Degree("higher", "highest", "lower", "lowest")


def degree(measure: Measure) -> Degree:
    """The words for the measure: a higher value is better only in some."""
    return BETTER if measure.more_is_better else HIGH


def ends_of_queries(measure: Measure) -> tuple[str, str]:
    """What queries with the highest values are called, and those with the lowest."""
    return ("easiest", "hardest") if measure.more_is_better else ("highest", "lowest")
