"""How scores are written on a page: few decimals, a true minus, "–" where there is no value.

A <data> element has the number as the files have it, to the last digit.
"""

from collections.abc import Iterable
from math import isnan

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

MINUS = "−"


@register.filter
def decimals(value: float | None, places: int = 4) -> str:
    """0.5154; "–" for None and nan."""
    if value is None or isnan(value):
        return "–"
    text = f"{value:.{places}f}"
    # What rounds to zero has no sign.
    return text.lstrip("-") if float(text) == 0 else text.replace("-", MINUS)


def number(value: float, places: int = 4) -> str:
    """Without empty zeros: 3, 0.5, 2.6667, −1."""
    text = decimals(value, places)
    return text.rstrip("0").rstrip(".") if "." in text else text


@register.filter
def exact(value: float | None, text: str = "") -> str:
    """A number as `decimals` writes it, or as `text`, with every digit for who points at it."""
    if value is None or isnan(value):
        return "–"
    return format_html('<data value="{0}" title="{0}">{1}</data>', repr(float(value)), text or decimals(value))


@register.filter
def signed(value: float, places: int = 4) -> str:
    """A number that is added to others: +1.8928, −0.5000, 0.0000."""
    text = decimals(value, places)
    return exact(value, text if text.startswith(MINUS) or text == "–" or float(text) == 0 else f"+{text}")


@register.filter
def chance(value: float | None) -> str:
    """A p value: 0.0412, and <0.0001 rather than nought."""
    if value is None or isnan(value):
        return "–"
    return exact(value, "<0.0001" if value < 0.0001 else "")


@register.filter
def share(value: float | None) -> str:
    """95.4 %, never rounded to a full 100 % or 0 %."""
    if value is None or isnan(value):
        return "–"
    if 0.9995 <= value < 1:
        return exact(value, "99.9 %")
    return exact(value, f"{100 * value:.1f} %" if 0 < value < 1 else f"{100 * value:.0f} %")


@register.filter
def count(value: int) -> str:
    """1,837."""
    return f"{value:,}"


@register.simple_tag
def span(low: float | None, high: float | None, why: str = "not known for this measure and these options") -> str:
    """From low to high; "final" where they are one."""
    if low is None or isnan(low):
        return score(None, why)
    if low == high:
        return format_html("final, {}", exact(low))
    return format_html("{} to {}", exact(low), exact(high))


@register.simple_tag
def score(value: float | None, why: str = "no value") -> str:
    """A score with four decimals that carries all; where there is none, a dash that says why."""
    if value is not None and not isnan(value):
        return exact(value)
    return format_html('<span title="undefined: {0}">–<span class="vh"> undefined: {0}</span></span>', why)


LOW = '<span aria-hidden="true">▼ </span><span class="vh">below the neutral point </span>'


@register.simple_tag
def shaded(cells: Iterable[tuple[float | None, bool, str]], why: str, exact: bool) -> SafeString:
    """A row of scores on their shades: their values, whether below the neutral point, classes.

    Only with `exact` does each carry all its digits: without them a page of thousands is a fifth as large. Nothing
    here comes from outside, so that thousands need not be escaped.
    """
    return SafeString(
        "".join(
            f'<td class="{shade}">{LOW if below else ""}'
            f"{score(value, why) if exact or value is None else decimals(value)}</td>"
            for value, below, shade in cells
        )
    )
