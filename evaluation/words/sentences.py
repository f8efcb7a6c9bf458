"""Sentences about results. They claim no more than the numbers show: a mean with an interval is no test."""

from collections.abc import Mapping, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ..analyses.standings import Standing
from ..measures import Measure
from ..significance import CANNOT_TELL, FEWEST, HIGHER
from .numbers import decimals, share

WINNERS = 4  # systems named in a sentence; the table has all
UNEVEN = 0.1  # least difference of judged shares with a warning

WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def counted(number: int, one: str, many: str) -> str:
    """The number with its noun, as "three systems" or "16 queries": up to twelve it is a word."""
    return f"{WORDS[number] if number < len(WORDS) else f'{number:,}'} {one if number == 1 else many}"


def heading(name: str, systems: int, queries: int) -> str:
    """The heading, as "Three systems on 16 queries"; without systems or queries, the name of the collection."""
    if not systems or not queries:
        return name
    text = f"{counted(systems, 'system', 'systems')} on {counted(queries, 'query', 'queries')}"
    return text[0].upper() + text[1:]


def named(names: Sequence[str], most: int = 3) -> SafeString:
    """The names in bold, as "b, c and d"; above `most` + 1 of them, as "b, c, d and 4 more"."""
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


def leading(
    standings: Sequence[Standing], measure: Measure, paired: Sequence[Mapping], untested: int = 0
) -> SafeString:
    """The sentence on the system with the highest mean, and on the others that differ significantly from it.

    paired: tests of this system with others, as rows of `comparison`. untested: the number of systems without such
    a test. Intervals decide nothing here: two that overlap can belong to systems that differ significantly.
    """
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
    return format_html("{}{}", start, tested(paired, untested))


def tested(paired: Sequence[Mapping], untested: int = 0) -> SafeString:
    """The end of the sentence on the best system: from which others it differs, and how many are not tested."""
    queries = paired[0]["queries"]
    if queries < FEWEST:
        in_common = counted(queries, "query", "queries")
        return format_html(
            ". Whether that is more than chance <em>cannot be told</em>: {} in common, and a test takes {}.",
            in_common,
            FEWEST,
        )
    near = [row["system"] for row in paired if row["verdict"] == CANNOT_TELL]
    beyond = [row["system"] for row in paired if row["verdict"] == HIGHER]
    below = [row["system"] for row in paired if row["system"] not in (*near, *beyond)]
    parts = []
    if below:
        parts.append(format_html("significantly better than {} on the same queries", named(below)))
    if beyond:
        parts.append(format_html("yet significantly worse than {} on the queries that all have", named(beyond)))
    end = format_html("{}.", format_html_join("", ", {}", ((part,) for part in parts)))
    if near:
        end = format_html("{} Whether it is better than {} <em>cannot be told</em>.", end, named(near))
    if untested:
        more = "system is" if untested == 1 else "systems are"
        end = format_html("{} {} more {} not tested.", end, f"{untested:,}", more)
    return end


def uneven(judged: Mapping[str, float | None], label: str, zero: bool) -> tuple[SafeString, str]:
    """The warning that systems are judged unevenly, and the least judged system; both empty where they are not.

    judged: judged shares by system; label: the name of the share; zero: unjudged documents count as gain 0.
    """
    known = {name: value for name, value in judged.items() if value is not None}
    most, least = (pick(known, key=known.get, default="") for pick in (max, min))
    if not known or round(known[most] - known[least], 9) < UNEVEN:
        return SafeString(), ""
    effect = "rests on fewer judgments. How much that matters is unknown."
    if zero:
        effect = "may be better than it looks: unjudged documents count as gain 0."
    return (
        format_html(
            "{} is {} for <b>{}</b> and {} for <b>{}</b>. The latter {}",
            label,
            share(known[most]),
            most,
            share(known[least]),
            least,
            effect,
        ),
        least,
    )


def differing(standings: Sequence[Standing], won: dict[str, int], queries: int, below: int) -> SafeString:
    """The sentences on how many queries each system alone is best, and on values below the neutral point.

    won: by system, the number of queries on which it alone is best; queries: the number of queries that count for
    two systems or more; below: the number of values below the neutral point.
    """
    winners = [(standing.system.name, won[standing.system.name]) for standing in standings]
    winners = [(name, wins) for name, wins in winners if wins]
    parts = []
    if len(won) > 1 and winners:
        listed = [format_html("<b>{}</b> on {}", name, wins) for name, wins in winners[:WINNERS]]
        if len(winners) > WINNERS:
            listed.append(f"others on {sum(wins for _, wins in winners[WINNERS:])}")
        named_wins = format_html_join(", ", "{}", ((part,) for part in listed))
        noun = "query" if queries == 1 else "queries"
        parts.append(format_html("Alone at the top: {}, of {} {}.", named_wins, f"{queries:,}", noun))
    if below:
        cells = "value lies" if below == 1 else "values lie"
        parts.append(format_html("{} {} below the neutral point: worse than an empty list.", f"{below:,}", cells))
    return format_html_join(" ", "{}", ((part,) for part in parts))
