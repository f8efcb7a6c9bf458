"""Sentences about expected values. They claim no more than their intervals cover: missing judgments alone."""

from collections.abc import Iterable, Mapping, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ..expected.order import APART
from ..page.numbers import exact, likely
from ..page.words import counted
from . import Expected, Mean

MISLEADS = (
    "The plain means mislead until all pairs are judged: they count unjudged documents as gain 0, and this order "
    "of rating prefers documents that look relevant or that decide between systems."
)


def standing(expected: Expected) -> SafeString:
    """The sentences on the system with the highest expected mean, and on its chance to be the best."""
    return highest(expected.measure, expected.means, expected.leader, expected.final)


def highest(measure: str, means: Sequence[Mean], leader: str | None, final: bool) -> SafeString:
    """The sentences of `standing` for these means, highest first.

    final: whether all documents above the cutoff are judged.
    """
    known = [row for row in means if row.mean is not None]
    if not known:
        return format_html("Nothing relevant is found yet, so that no mean {} can be expected.", measure)
    best = known[0]
    if final:
        text = "<b>{}</b> has the highest mean {}, {}. It is final: all of the pool is judged."
        return format_html(text, best.system, measure, exact(best.mean))
    start = format_html("<b>{}</b> has the highest expected mean {}, {}", best.system, measure, exact(best.mean))
    if best.low is not None:
        start = format_html("{} ({} to {})", start, exact(best.low), exact(best.high))
    if len(known) == 1 or best.best is None:
        return format_html("{}.", start)
    if leader:
        it = "It" if leader == best.system else format_html("<b>{}</b>", leader)
        chance = likely(next(row.best for row in known if row.system == leader))
        return format_html("{}. {} is the best with a chance of {}.", start, it, chance)
    second = sorted(known, key=lambda row: -(row.best or 0))[:2]
    chances = format_html_join(" and ", "<b>{}</b> with {}", ((row.system, likely(row.best)) for row in second))
    return format_html("{}. Which is the best <em>is not settled</em>: {}.", start, chances)


def order(expected: Expected) -> str:
    """The sentence on whether the order of the systems is settled; "" without intervals, and for final means."""
    if expected.wrong is None or expected.final:
        return ""
    if expected.settled:
        return f"Settled at 90 %: no two systems {APART:.2f} apart or more are likely shown in the wrong order."
    return f"Not settled: two systems {APART:.2f} apart or more can be shown in the wrong order."


def machines(facts: Mapping) -> str:
    """The sentences that name the machines in the model and in triage; "" where there are none.

    facts: those of `Expected.facts`.
    """
    sentences = [predicting(facts.get("machines", ()))]
    if names := facts.get("triage"):
        sentences.append(
            f"Rounds drew pairs more readily where people are likely to grade otherwise than {'; '.join(names)}. "
            "The chance of each pair is known, so that this favours no system."
        )
    return " ".join(filter(None, sentences))


def predicting(machines: Iterable[Mapping]) -> str:
    """The sentences on machines whose grades are features of the model; "" where there are none."""
    names = [f"{each['judge']}, version {each['version']} ({each['model']})" for each in machines]
    if not names:
        return ""
    return (
        f"The grades of a machine help to predict the missing judgments: {'; '.join(names)}. "
        "None of them counts as a judgment, and the judgments that were drawn correct them."
    )


def caveats(expected: Expected) -> list[str]:
    """Sentences on what the expected values assume, and on what they do not cover."""
    sentences = [machines(expected.facts())] if expected.machines or expected.triage else []
    if outside := sum(row.outside for row in expected.means):
        sentences.append(
            f"{_capital(counted(outside, 'document', 'documents'))} above the cutoff "
            f"{'is' if outside == 1 else 'are'} not in the pool, will not be judged, and so gain"
            f"{'s' if outside == 1 else ''} nothing."
        )
    if expected.nothing_found:
        sentences.append(
            f"{_capital(counted(expected.nothing_found, 'query has', 'queries have'))} nothing relevant found yet."
            " The expected values include such a query in the draws in which a relevant document is found."
        )
    if expected.skipped:
        one = expected.skipped == 1
        sentences.append(
            f"{_capital(counted(expected.skipped, 'drawn pair', 'drawn pairs'))} will not be judged. The model's "
            f"prediction is used for {'it' if one else 'them'}, on the assumption that skipping does not depend "
            "on the grade."
        )
    return sentences


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
