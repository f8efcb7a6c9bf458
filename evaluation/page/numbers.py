"""Numbers as text: few decimals, a minus sign, and "–" where there is no value."""

from collections.abc import Iterable
from math import isnan

from django.utils.html import format_html

from ..scores import Standing

MINUS = "−"
LOW_MARK = '<span aria-hidden="true">▼ </span><span class="vh">below the score of an empty list </span>'


def decimals(value: float | None, places: int = 4) -> str:
    """The number as 0.5154; "–" for None and nan."""
    if value is None or isnan(value):
        return "–"
    text = f"{value:.{places}f}"
    # A number that rounds to 0 has no sign.
    return text.lstrip("-") if float(text) == 0 else text.replace("-", MINUS)


def number(value: float, places: int = 4) -> str:
    """The number without trailing zeros, as 3, 0.5, 2.6667 or −1."""
    text = decimals(value, places)
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact(value: float | None, text: str = "") -> str:
    """The number with four decimals, or as `text`, in a <data> element with all digits in its tooltip."""
    if value is None or isnan(value):
        return "–"
    return format_html('<data value="{0}" title="{0}">{1}</data>', repr(float(value)), text or decimals(value))


def signed(value: float, places: int = 4) -> str:
    """The number with its sign, as +1.8928, −0.5000 or 0.0000, with all digits in the tooltip."""
    text = decimals(value, places)
    return exact(value, text if text.startswith(MINUS) or text == "–" or float(text) == 0 else f"+{text}")


def chance(value: float | None) -> str:
    """The p value as 0.0412, or <0.0001 below that, with all digits in the tooltip."""
    if value is None or isnan(value):
        return "–"
    return exact(value, "<0.0001" if value < 0.0001 else "")


def likely(value: float | None) -> str:
    """The probability as 62 %, with all digits in the tooltip. It is 0 % or 100 % only if it is exactly that."""
    if value is None or isnan(value):
        return "–"
    edge = "<1 %" if 0 < value < 0.01 else ">99 %" if 0.99 < value < 1 else ""
    return exact(value, edge or f"{100 * value:.0f} %")


def percent(value: float) -> str:
    """The share as 95.4 %. It is 100 % only where it is exactly that."""
    if 0.9995 <= value < 1:
        return "99.9 %"
    return f"{100 * value:.1f} %" if 0 < value < 1 else f"{100 * value:.0f} %"


def share(value: float | None) -> str:
    """The share as `percent` has it, with all digits in the tooltip."""
    return "–" if value is None or isnan(value) else exact(value, percent(value))


def count(value: int) -> str:
    """The count with thousands separators, as 1,837."""
    return f"{value:,}"


def counts(numbers: Iterable[int]) -> str:
    """The counts as "12", or as "10 to 12" where they differ; "0" without one."""
    least, most = min(numbers := list(numbers), default=0), max(numbers, default=0)
    return count(least) if least == most else f"{count(least)} to {count(most)}"


def queries_behind(standings: Iterable[Standing]) -> str:
    """How many queries count in these means, as `counts` has it."""
    return counts(standing.queries for standing in standings)


def span(low: float | None, high: float | None, why: str = "not known for this measure and these options") -> str:
    """The interval as "low to high", or "final, low" where both are equal; without one, a dash with the reason."""
    if low is None or isnan(low):
        return score(None, why)
    if low == high:
        return format_html("final, {}", exact(low))
    return format_html("{} to {}", exact(low), exact(high))


def bounds(value: float | None, low: float | None, high: float | None) -> str:
    """The bounds as `span` has them. Those of a `value` that is undefined are not final, since it may stay so."""
    if value is None and low is not None and low == high:
        return format_html("{} if defined", exact(low))
    return span(low, high)


def resampled(low: float | None, high: float | None, why: str, same: str = "all resamples give the same") -> str:
    """The interval for chance as `span` has it. Where both ends are equal there is none, since nothing is final.

    why: the reason where there is no interval; same: the reason where both ends are equal.
    """
    if low is not None and low == high:
        return span(None, None, same)
    return span(low, high, why)


def scored(value: float | None, why: str) -> str:
    """The score as `score` has it. `why` it counts in no mean follows where it does not; "" where it counts."""
    if not why or value is None or isnan(value):
        return score(value, why or "no value")
    text = '<data value="{0}" title="{0}, counts in no mean: {2}">{1}</data>'
    number = format_html(text, repr(float(value)), decimals(value), why)
    return format_html('{}<span class="vh"> counts in no mean: {}</span>', number, why)


def score(value: float | None, why: str = "no value") -> str:
    """The score with four decimals and all digits in the tooltip; without a value, a dash with the reason."""
    if value is not None and not isnan(value):
        return exact(value)
    return format_html('<span title="undefined: {0}">–<span class="vh"> undefined: {0}</span></span>', why)
