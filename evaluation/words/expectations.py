"""Sentences about expected values. None claims more than the interval: missing judgments, and nothing else."""

from collections.abc import Iterable, Mapping, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ..decisive import Expected, Mean
from ..expected.order import APART
from .numbers import exact, likely
from .sentences import counted

MISLEADS = (
    "The plain means mislead meanwhile: they take unjudged documents for worthless, and this order of rating "
    "prefers what looks relevant or decides between systems."
)


def standing(expected: Expected) -> SafeString:
    """A sentence or two: which system has the highest expected mean, and whether it is surely the best."""
    return highest(expected.measure, expected.means, expected.leader, expected.final)


def highest(measure: str, means: Sequence[Mean], leader: str | None, final: bool) -> SafeString:
    """The same of `means`, those with the highest first."""
    known = [row for row in means if row.mean is not None]
    if not known:
        return format_html("Nothing relevant is found yet, so that no mean {} can be expected.", measure)
    best = known[0]
    if final:
        said = "<b>{}</b> has the highest mean {}, {}. It is final: all of the pool is judged."
        return format_html(said, best.system, measure, exact(best.mean))
    start = format_html("<b>{}</b> has the highest expected mean {}, {}", best.system, measure, exact(best.mean))
    if best.low is not None:
        start = format_html("{} ({} to {})", start, exact(best.low), exact(best.high))
    if len(known) == 1 or best.best is None:
        return format_html("{}.", start)
    if leader:
        return format_html("{}. {} is the best with a chance of {}.", start, *_leader(known, leader))
    second = sorted(known, key=lambda row: -(row.best or 0))[:2]
    chances = format_html_join(" and ", "<b>{}</b> with {}", ((row.system, likely(row.best)) for row in second))
    return format_html("{}. Which is the best <em>is not settled</em>: {}.", start, chances)


def _leader(known: Sequence[Mean], leader: str) -> tuple[SafeString | str, str]:
    """How the leader is called after the sentence about the first, and its chance."""
    found = next(row for row in known if row.system == leader)
    return "It" if found is known[0] else format_html("<b>{}</b>", leader), likely(found.best)


def order(expected: Expected) -> str:
    """A sentence about the order of the systems; "" where there is nothing to order."""
    if expected.wrong is None or expected.final:
        return ""
    if expected.settled:
        return f"Settled at 90 %: no two systems {APART:.2f} apart or more are likely shown in the wrong order."
    return f"Not settled: two systems {APART:.2f} apart or more can be shown in the wrong order."


def machines(facts: Mapping) -> str:
    """The sentences that name the machines whose grades had a part; "" where none had."""
    return " ".join(filter(None, (predicting(facts.get("machines", ())), _sorting(facts.get("triage", ())))))


def predicting(named: Iterable[Mapping]) -> str:
    every = [f"{each['judge']}, version {each['version']} ({each['model']})" for each in named]
    if not every:
        return ""
    return (
        f"The grades of a machine help to predict the missing judgments: {'; '.join(every)}. "
        "None of them counts as a judgment, and the judgments that were drawn correct them."
    )


def _sorting(named: Sequence[str]) -> str:
    if not named:
        return ""
    return (
        f"Rounds drew pairs more readily where people are likely to grade otherwise than {'; '.join(named)}. "
        "The chance of each pair is known, so that this favours no system."
    )


def left_out(expected: Expected) -> list[str]:
    """What the expected values rest on besides judgments, and what they do not cover, as sentences."""
    said = [machines(expected.facts())] if expected.machines or expected.triage else []
    if outside := sum(row.outside for row in expected.means):
        said.append(
            f"{_capital(counted(outside, 'document', 'documents'))} above the cutoff "
            f"{'is' if outside == 1 else 'are'} not in the pool, will not be judged, and so gain"
            f"{'s' if outside == 1 else ''} nothing."
        )
    if expected.nothing_found:
        said.append(
            f"{_capital(counted(expected.nothing_found, 'query has', 'queries have'))} nothing relevant found yet."
            " The expected values count them as far as something may still be found."
        )
    if expected.skipped:
        one = expected.skipped == 1
        said.append(
            f"{_capital(counted(expected.skipped, 'drawn pair', 'drawn pairs'))} will not be judged. The model's "
            f"prediction stands for {'it' if one else 'them'}, as if being skipped said nothing about the grade."
        )
    return said


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
