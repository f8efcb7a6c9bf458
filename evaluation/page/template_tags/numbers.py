"""Numbers on pages: few decimals, a minus sign, and "–" where there is no value.

A <data> element has all digits of the number, as files have them.
"""

from collections.abc import Iterable

from django import template
from django.utils.safestring import SafeString

from .. import numbers, words
from ..numbers import LOW_MARK, decimals, scored

register = template.Library()

MARKDOWN = set("\\`*_[]<>#|")  # its special characters

for name in ("decimals", "number", "exact", "signed", "chance", "likely", "share", "count", "queries_behind"):
    register.filter(name, getattr(numbers, name))
for name in ("span", "bounds", "resampled", "score", "scored"):
    register.simple_tag(getattr(numbers, name))
register.filter("named", words.named)
register.filter("about_interval", words.about_interval)
register.simple_tag(words.counted)


@register.simple_tag
def shaded(cells: Iterable[tuple[float | None, bool, str, str]], exact: bool) -> SafeString:
    """The cells of a row of scores on shades.

    cells: (value, whether it is below the score of an empty list, CSS class, why it counts in no mean or "").
    exact: with all digits in the tooltip; without them, a page of thousands of cells is a fifth as large. A cell
    with a reason has them in any case. Nothing is escaped: no part is a user's text.
    """
    return SafeString(
        "".join(
            f'<td class="{shade}">{LOW_MARK if below else ""}'
            f"{scored(value, why) if exact or why else decimals(value)}</td>"
            for value, below, shade, why in cells
        )
    )


@register.filter
def markdown(text: str) -> str:
    """The text with the special characters of Markdown escaped."""
    return "".join(f"\\{character}" if character in MARKDOWN else character for character in text)
