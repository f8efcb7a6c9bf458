"""How scores are written on a page: a fixed number of decimals, a true minus, and "–" where there is no value."""

from math import isnan

from django import template
from django.utils.html import format_html

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


@register.filter
def signed(value: float, places: int = 4) -> str:
    """A number that is added to others: +1.8928, −0.5000, 0.0000."""
    text = decimals(value, places)
    return text if text.startswith(MINUS) or text == "–" or float(text) == 0 else f"+{text}"


@register.filter
def share(value: float | None) -> str:
    """95.4 %, never rounded to a full 100 % or 0 %."""
    if value is None or isnan(value):
        return "–"
    if 0.9995 <= value < 1:
        return "99.9 %"
    return f"{100 * value:.1f} %" if 0 < value < 1 else f"{100 * value:.0f} %"


@register.filter
def count(value: int) -> str:
    """1,837."""
    return f"{value:,}"


@register.simple_tag
def score(value: float | None, why: str = "no value") -> str:
    """A score with four decimals; where there is none, a dash that says why."""
    if value is not None and not isnan(value):
        return decimals(value)
    return format_html('<span title="undefined: {0}">–<span class="vh"> undefined: {0}</span></span>', why)
