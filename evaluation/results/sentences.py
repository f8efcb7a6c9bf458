"""Sentences about results. They claim no more than the numbers show: a mean with an interval is no test."""

from collections.abc import Mapping, Sequence
from math import isclose

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ..measures import MEASURES, Measure, Options
from ..page.numbers import decimals, share
from ..page.words import BETTER, Degree, counted, degree, joined, named
from ..significance import CANNOT_TELL, FEWEST, HIGHER
from .standings import Standing

WINNERS = 4  # systems named in a sentence; the table has all
ROUNDING = 1e-12  # means with smaller differences are equal
UNEVEN = 0.1  # least difference of judged shares with a warning


def heading(name: str, systems: int, queries: int) -> str:
    """The heading, as "Three systems on 16 queries"; without systems or queries, the name of the collection."""
    if not systems or not queries:
        return name
    text = f"{counted(systems, 'system', 'systems')} on {counted(queries, 'query', 'queries')}"
    return text[0].upper() + text[1:]


def leading(
    standings: Sequence[Standing], measure: Measure, paired: Sequence[Mapping], untested: int = 0
) -> SafeString:
    """The sentence on the system with the highest mean, and on the others that differ significantly from it.

    paired: tests of this system with others, as rows of `comparison`. untested: the number of systems without such
    a test. Intervals decide nothing here: two that overlap can belong to systems that differ significantly.
    """
    known = {standing.system.name: standing.mean for standing in standings if standing.mean is not None}
    if not known:
        return format_html("No system has a value of {} yet.", measure)
    start = highest(known, measure)
    if len(known) == 1 or len(at_top(known)) > 1:
        return format_html("{}.", start)
    return format_html("{}{}", start, tested(paired, degree(measure), untested))


def highest(means: Mapping[str, float], measure: Measure | str, where: str = "") -> SafeString:
    """The sentence on the highest of the means by system, without its full stop. where: as in "in the latest"."""
    names, value = at_top(means), decimals(max(means.values()))
    where = f" {where}" if where else ""
    if len(means) == 1:
        return format_html("<b>{}</b> has a mean {} of {}{}", names[0], measure, value, where)
    verb = "has" if len(names) == 1 else "share"
    return format_html("{} {} the highest mean {}{}, {}", named(names), verb, measure, where, value)


def at_top(means: Mapping[str, float]) -> list[str]:
    """The systems with the highest mean: more than one where means are equal up to rounding."""
    most = max(means.values())
    return [name for name, mean in means.items() if isclose(mean, most, rel_tol=ROUNDING, abs_tol=ROUNDING)]


def tested(paired: Sequence[Mapping], words: Degree, untested: int = 0) -> SafeString:
    """The end of the sentence on the best system: from which others it differs, and how many are not tested."""
    queries = paired[0]["queries"]
    if queries < FEWEST:
        text = ". Whether that is more than chance <em>cannot be told</em>: {} in common, and a test takes {}."
        return format_html(text, counted(queries, "query", "queries"), FEWEST)
    near = [row["system"] for row in paired if row["verdict"] == CANNOT_TELL]
    beyond = [row["system"] for row in paired if row["verdict"] == HIGHER]
    below = [row["system"] for row in paired if row["system"] not in (*near, *beyond)]
    parts = []
    if below:
        parts.append(format_html("significantly {} than {} on the same queries", words.more, named(below)))
    if beyond:
        on = "yet significantly {} than {} on the queries that all have"
        parts.append(format_html(on, words.less, named(beyond)))
    end = format_html("{}.", joined("", [format_html(", {}", part) for part in parts]))
    if near:
        cannot = "{} Whether it is {} than {} <em>cannot be told</em>."
        end = format_html(cannot, end, words.more, named(near))
    if untested:
        more = "system is" if untested == 1 else "systems are"
        end = format_html("{} {} more {} not tested.", end, f"{untested:,}", more)
    return end


def uneven(
    judged: Mapping[str, float | None], label: str, measure: Measure, options: Options, lowest: float
) -> tuple[SafeString, str]:
    """The warning that systems are judged unevenly, and the least judged system; both empty where they are not.

    They are empty, too, for a measure that does not read the judgments of what a system returned. judged: judged
    shares by system; label: the name of the share; lowest: the lowest grade of the scale.
    """
    definition = MEASURES[measure.name]
    if not definition.of_judgments:
        return SafeString(), ""
    known = {name: value for name, value in judged.items() if value is not None}
    most, least = (pick(known, key=known.get, default="") for pick in (max, min))
    if not known or round(known[most] - known[least], 9) < UNEVEN:
        return SafeString(), ""
    effect = "rests on fewer judgments. How much that matters is unknown."
    if options.unjudged == "zero" and not definition.skips_unjudged:
        loses = "gain" in definition.reads and lowest < 0 and options.negatives != "clip"
        worse = " or worse" if loses else ""
        effect = f"may be better{worse} than it looks: unjudged documents count as gain 0."
    both = (share(known[most]), most, share(known[least]), least)
    text = "{} is {} for <b>{}</b> and {} for <b>{}</b>. The latter {}"
    return format_html(text, label, *both, effect), least


def differing(
    standings: Sequence[Standing], measure: Measure, won: dict[str, int], queries: int, below: int
) -> SafeString:
    """The sentences on how many queries each system alone is highest, and on values below the neutral point.

    won: by system, the number of queries on which it alone is highest; queries: the number of queries that count
    for two systems or more; below: the number of values below the neutral point.
    """
    words = degree(measure)
    winners = [(standing.system.name, won[standing.system.name]) for standing in standings]
    winners = [(name, wins) for name, wins in winners if wins]
    parts = []
    if len(won) > 1 and winners:
        listed = [format_html("<b>{}</b> on {}", name, wins) for name, wins in winners[:WINNERS]]
        if len(winners) > WINNERS:
            listed.append(f"others on {sum(wins for _, wins in winners[WINNERS:])}")
        noun = "query" if queries == 1 else "queries"
        alone = "at the top" if words is BETTER else f"the {words.most}"
        parts.append(format_html("Alone {}: {}, of {} {}.", alone, joined(", ", listed), f"{queries:,}", noun))
    if below:
        cells = "value lies" if below == 1 else "values lie"
        parts.append(format_html("{} {} below the neutral point: worse than an empty list.", f"{below:,}", cells))
    return joined(" ", parts)
