"""Filters for shares and times, rounded to their significant digits."""

from math import ceil

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

register = template.Library()


@register.filter("left")
def left_words(outlook: object) -> str:
    """How many tasks a rater's outlook leaves."""
    words = gettext("more than %(number)s left") if outlook.more else gettext("%(number)s left")
    return words % {"number": outlook.left}


@register.filter
def percent(value: float | None) -> str:
    """A share as 87 %, never rounded to 0 % or 100 % unless it is that; "–" for None."""
    if value is None:
        return "–"
    if 0 < value < 0.005:
        return "under 1 %"
    if 0.995 <= value < 1:
        return "over 99 %"
    return f"{100 * value:.0f} %"


@register.filter
def seconds(value: float) -> str:
    """A time in seconds as 9.1 s, 45 s or 3.5 min. The bounds are those at which its digits would round up."""
    if value < 9.95:
        # Translators: seconds
        return gettext("%(n)s s") % {"n": number_format(round(value, 1), 1)}
    if value < 119.5:
        return gettext("%(n)s s") % {"n": f"{value:.0f}"}
    # Translators: minutes
    return gettext("%(n)s min") % {"n": number_format(round(value / 60, 1), 1)}


@register.filter
def hours(value: float) -> str:
    """A time in hours with two significant digits, as 40 minutes, 3.5 hours or 1,200 hours."""
    if value < 0.95:
        minutes = max(1, round(60 * value))
        return ngettext("%(n)s minute", "%(n)s minutes", minutes) % {"n": minutes}
    rounded = max(1.0, round(float(f"{value:.2g}"), 1))
    number = number_format(rounded, 0 if rounded.is_integer() else 1, force_grouping=True)
    return ngettext("%(n)s hour", "%(n)s hours", ceil(rounded)) % {"n": number}
