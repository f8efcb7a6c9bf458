"""The chip of a grade: its number on a tone, so that colour alone shows no grade."""

from collections.abc import Iterable
from decimal import Decimal
from math import ceil, isnan

from django import template

from ...models import Grade, short_value

register = template.Library()


def tone(value: float, scale: Iterable[float]) -> str:
    """The CSS name of a value's tone: n2 (worst), n1, z (zero), p1 … p4 (best), u (unjudged).

    A value between two steps has the tone of the nearer one.
    """
    if value is None or isnan(value):
        return "u"
    # Without a scale the value is the only step.
    steps = sorted(float(step) for step in scale) or [float(value)]
    nearest = min(steps, key=lambda step: abs(step - float(value)))
    if nearest == 0:
        return "z"
    if nearest < 0:
        negative = [step for step in steps if step < 0]
        # n2 from half of the lowest step down. A single negative step is n1.
        return "n2" if len(negative) > 1 and nearest <= min(negative) / 2 else "n1"
    positive = [step for step in steps if step > 0]
    place = positive.index(nearest) + 1  # from the lowest; four tones are spread over all places
    return f"p{ceil(4 * place / len(positive))}"


def written(value: float | Decimal) -> str:
    """The value for reading: at most two decimals, a minus sign, no trailing zeros."""
    return short_value(Decimal(f"{float(value):.2f}"))


@register.inclusion_tag("_grade.html")
def chip(value: "Grade | float | Decimal | None", scale: Iterable = (), label: str = "") -> dict:
    """A chip for a grade or a judgment; None and nan are unjudged. `label` is for chips without a name."""
    if isinstance(value, Grade):
        value = value.value
    steps = [step.value if isinstance(step, Grade) else step for step in scale]
    look = tone(value if value is None else float(value), steps)
    return {"step": look, "text": "?" if look == "u" else written(value), "label": label}
