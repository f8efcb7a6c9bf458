"""Numbers on pages: few decimals, a minus sign, and "–" where there is no value.

A <data> element has all digits of the number, as files have them.
"""

from collections.abc import Iterable

from django import template
from django.utils.safestring import SafeString

from ..page import numbers
from ..page.numbers import LOW, decimals, scored
from ..results import sentences

register = template.Library()

for name in ("decimals", "exact", "signed", "chance", "likely", "share", "count"):
    register.filter(name, getattr(numbers, name))
for name in ("span", "bounds", "resampled", "score", "scored"):
    register.simple_tag(getattr(numbers, name))
register.filter("named", sentences.named)
register.simple_tag(sentences.counted)


@register.filter
def number(value: float, places: int = 4) -> str:
    """The number without trailing zeros, as 3, 0.5, 2.6667 or −1."""
    text = decimals(value, places)
    return text.rstrip("0").rstrip(".") if "." in text else text


@register.simple_tag
def shaded(cells: Iterable[tuple[float | None, bool, str, str]], exact: bool) -> SafeString:
    """The cells of a row of scores on shades.

    cells: (value, whether it is below the neutral point, CSS class, why it counts in no mean). exact: with all
    digits in the tooltip; without them, a page of thousands of cells is a fifth as large. Nothing is escaped: no
    part is a user's text.
    """
    return SafeString(
        "".join(
            f'<td class="{shade}">{LOW if below else ""}'
            f"{scored(value, why) if exact or why else decimals(value)}</td>"
            for value, below, shade, why in cells
        )
    )
