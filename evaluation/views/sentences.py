"""Numbers as sentences. Each says no more than its numbers hold: a mean with an interval is not a test."""

from collections.abc import Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ..templatetags.numbers import decimals
from .answer import Standing

# So many systems are named in a sentence; the table has them all.
WINNERS = 4

WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def counted(number: int, one: str, many: str) -> str:
    """Three systems, 16 queries: a small number is a word."""
    return f"{WORDS[number] if number < len(WORDS) else f'{number:,}'} {one if number == 1 else many}"


def heading(name: str, systems: int, queries: int) -> str:
    """Three systems on 16 queries; the collection's name while there is nothing to count."""
    if not systems or not queries:
        return name
    text = f"{counted(systems, 'system', 'systems')} on {counted(queries, 'query', 'queries')}"
    return text[0].upper() + text[1:]


def named(names: Sequence[str], most: int = 3) -> SafeString:
    """b, c and d; a long list is cut: b, c, d and 4 more."""
    shown, rest = list(names[:most]), len(names) - most
    if len(names) == most + 1:
        shown, rest = list(names), 0
    bold = [format_html("<b>{}</b>", name) for name in shown]
    last = [str(rest) + " more"] if rest > 0 else []
    parts = bold + last
    if len(parts) < 2:
        return format_html_join("", "{}", ((part,) for part in parts))
    head = format_html_join(", ", "{}", ((part,) for part in parts[:-1]))
    return format_html("{} and {}", head, parts[-1])


def leading(standings: Sequence[Standing], measure: str) -> SafeString:
    """Which system has the highest mean, and whether the intervals tell it from the next."""
    known = [standing for standing in standings if standing.mean is not None]
    if not known:
        return format_html("No system has a value of {} yet.", measure)
    best, others = known[0], known[1:]
    value = decimals(best.mean)
    start = format_html("<b>{}</b> has the highest mean {}, {}", best.system.name, measure, value)
    if not others:
        return format_html("<b>{}</b> has a mean {} of {}.", best.system.name, measure, value)
    equal = [standing for standing in others if standing.mean == best.mean]
    if equal:
        names = named([standing.system.name for standing in (best, *equal)])
        return format_html("{} share the highest mean {}, {}.", names, measure, value)
    if best.low is None or any(standing.high is None for standing in others):
        return format_html("{}. One query gives no interval, so that nothing can be told from it alone.", start)
    near = [standing.system.name for standing in others if standing.high >= best.low]
    if not near:
        return format_html(
            "{}. Its 95 % interval lies above {}.",
            start,
            "that of the other" if len(others) == 1 else "those of all others",
        )
    which = "which of the two" if len(near) == 1 else "which of them"
    its = "that" if len(near) == 1 else "those"
    return format_html(
        "{}. Its 95 % interval overlaps {} of {}: {} is better <em>cannot be told</em> from the means alone.",
        start,
        its,
        named(near),
        which,
    )


def differing(standings: Sequence[Standing], won: dict[str, int], queries: int, below: int) -> SafeString:
    """On how many queries each system alone is best, and how many values lie below an empty list."""
    winners = [(standing.system.name, won[standing.system.name]) for standing in standings]
    winners = [(name, wins) for name, wins in winners if wins]
    parts = []
    if len(won) > 1 and winners:
        listed = [format_html("<b>{}</b> on {}", name, wins) for name, wins in winners[:WINNERS]]
        if len(winners) > WINNERS:
            listed.append(f"others on {sum(wins for _, wins in winners[WINNERS:])}")
        named_wins = format_html_join(", ", "{}", ((part,) for part in listed))
        parts.append(format_html("Alone at the top: {}, of {} queries.", named_wins, f"{queries:,}"))
    if below:
        cells = "value lies" if below == 1 else "values lie"
        parts.append(format_html("{} {} below the neutral point: worse than an empty list.", f"{below:,}", cells))
    return format_html_join(" ", "{}", ((part,) for part in parts))
