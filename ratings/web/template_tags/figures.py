"""Filters for shares and times, rounded to their significant digits."""

from django import template

from ...words import counted

register = template.Library()


@register.filter("left")
def left_words(outlook: object, noun: str = "") -> str:
    """The number of tasks that a rater's outlook leaves, followed by `noun`, if any."""
    return f"{'more than ' if outlook.more else ''}{counted(outlook.left, noun) if noun else outlook.left}"


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
    """A time as 9.1 s, 45 s or 3.5 min."""
    if value < 9.95:
        return f"{value:.1f} s"
    return f"{value:.0f} s" if value < 119.5 else f"{value / 60:.1f} min"


@register.filter
def hours(value: float) -> str:
    """A time with two significant digits, as 40 minutes, 3.5 hours or 1,200 hours."""
    if value < 0.95:
        minutes = max(1, round(60 * value))
        return f"{minutes} minute{'' if minutes == 1 else 's'}"
    rounded = f"{float(f'{value:.2g}'):,.1f}".removesuffix(".0")
    return f"{rounded} hour{'' if rounded == '1' else 's'}"
