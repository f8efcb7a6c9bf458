"""How scores are written on a page: few decimals, a true minus, "–" where there is no value.

A <data> element has the number as the files have it, to the last digit.
"""

from collections.abc import Iterable

from django import template
from django.utils.safestring import SafeString

from ..words.numbers import LOW, chance, count, decimals, exact, likely, resampled, score, share, signed, span

register = template.Library()

for each in (decimals, exact, signed, chance, likely, share, count):
    register.filter(each)
for each in (span, resampled, score):
    register.simple_tag(each)


def number(value: float, places: int = 4) -> str:
    """Without empty zeros: 3, 0.5, 2.6667, −1."""
    text = decimals(value, places)
    return text.rstrip("0").rstrip(".") if "." in text else text


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
