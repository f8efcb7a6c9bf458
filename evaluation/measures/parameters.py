"""Parameters of measures, those in parentheses: checked, and printed."""

from .decimals import decimal_text, finite

# How ir_measures names the two usual forms of DCG: the grade or 2^grade - 1, divided by log2(rank + 1).
DCG_FORMS = {"log2": "linear", "exp-log2": "exponential"}

# Defaults of parameters, for the measures that take them.
DEFAULTS = {"p": 0.8}


def checked(name: str, value: object) -> float | str:
    """The value of the parameter `name` as a number, or text for dcg. ValueError where it is not allowed."""
    if name == "dcg":
        if value not in DCG_FORMS:
            raise ValueError(f"dcg must be one of {', '.join(map(repr, DCG_FORMS))}, not {value!r}.")
        return value
    number = finite(value, name)
    if name == "gmax" and number <= 0:
        raise ValueError(f"gmax, the highest grade of the scale, must be above 0, not {decimal_text(number)}.")
    if name == "p" and not 0 <= number < 1:
        raise ValueError(
            f"p, the chance that a reader goes on, must be from 0 to below 1, not {decimal_text(number)}."
        )
    return number


def params_text(params: tuple[tuple[str, float | str], ...]) -> str:
    """Parameters as they are printed: rel=2, or dcg='exp-log2'."""
    return ",".join(
        f"{name}={value!r}" if isinstance(value, str) else f"{name}={decimal_text(value)}"
        for name, value in params
    )
