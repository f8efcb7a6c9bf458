"""Sentences about expected values. None claims more than the interval: missing judgments, and nothing else."""

from django.utils.html import format_html
from django.utils.safestring import SafeString

from ..decisive import Expected
from ..expected.order import APART
from .numbers import exact, likely
from .sentences import counted

MISLEADS = (
    "The plain means mislead meanwhile: they take unjudged documents for worthless, and this order of rating "
    "prefers what looks relevant or decides between systems."
)


def standing(told: Expected) -> SafeString:
    """A sentence or two: which system has the highest expected mean, and whether it is surely the best."""
    known = [row for row in told.means if row.mean is not None]
    if not known:
        return format_html("Nothing relevant is found yet, so that no mean {} can be expected.", told.measure)
    best = known[0]
    if told.final:
        final = "<b>{}</b> has the highest mean {}, {}. It is final: all of the pool is judged."
        return format_html(final, best.system, told.measure, exact(best.mean))
    start = format_html(
        "<b>{}</b> has the highest expected mean {}, {}", best.system, told.measure, exact(best.mean)
    )
    if best.low is not None:
        start = format_html("{} ({} to {})", start, exact(best.low), exact(best.high))
    if len(known) == 1 or best.best is None:
        return format_html("{}.", start)
    if told.leader:
        return format_html("{}. It is the best with a chance of {}.", start, likely(best.best))
    second = sorted(known, key=lambda row: -(row.best or 0))[:2]
    chances = " and ".join(["{}"] * len(second))
    said = format_html(
        chances, *(format_html("<b>{}</b> with {}", row.system, likely(row.best)) for row in second)
    )
    return format_html("{}. Which is the best <em>is not settled</em>: {}.", start, said)


def order(told: Expected) -> str:
    """A sentence about the order of the systems; "" where there is nothing to order."""
    if told.wrong is None or told.final:
        return ""
    if told.settled:
        return f"Settled: no two systems {APART:.2f} apart or more are likely shown in the wrong order."
    return f"Not settled: two systems {APART:.2f} apart or more can be shown in the wrong order."


def left_out(told: Expected) -> list[str]:
    """What the expected values do not cover, as sentences; none where they cover all."""
    said = []
    if outside := sum(row.outside for row in told.means):
        said.append(
            f"{_capital(counted(outside, 'document', 'documents'))} above the cutoff "
            f"{'is' if outside == 1 else 'are'} not in the pool, will not be judged, and so gain"
            f"{'s' if outside == 1 else ''} nothing."
        )
    if told.nothing_found:
        said.append(
            f"{_capital(counted(told.nothing_found, 'query has', 'queries have'))} nothing relevant found yet. "
            "The expected values count them as far as something may still be found."
        )
    if told.skipped:
        one = told.skipped == 1
        said.append(
            f"{_capital(counted(told.skipped, 'drawn pair', 'drawn pairs'))} will not be judged. The model's "
            f"prediction stands for {'it' if one else 'them'}, as if being skipped said nothing about the grade."
        )
    return said


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
