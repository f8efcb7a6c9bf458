"""What may stand in the parentheses of a measure: how a parameter is checked and printed."""

from .decimals import finite, plain

# How ir_measures names the two usual forms of DCG: the grade or 2^grade - 1, divided by log2(rank + 1).
DCG_FORMS = {"log2": "linear", "exp-log2": "exponential"}

# Defaults of parameters, for the measures that take them.
DEFAULTS = {"p": 0.8}

# Parameters in ir_measures, options here, because they change every measure alike.
OPTIONS_INSTEAD = {
    "gains": "the option gain=map:0=0,1=1,2=3 gives each grade its gain",
    "judged_only": "the option unjudged=condensed leaves unjudged documents out",
}


def checked(name: str, value: object) -> float | str:
    """`value` as the parameter `name` is kept; ValueError where it cannot be that."""
    if name == "dcg":
        if value not in DCG_FORMS:
            raise ValueError(f"dcg must be one of {', '.join(map(repr, DCG_FORMS))}, not {value!r}.")
        return value
    number = finite(value, name)
    if name == "gmax" and number <= 0:
        raise ValueError(f"gmax, the highest grade of the scale, must be above 0, not {plain(number)}.")
    if name == "p" and not 0 <= number < 1:
        raise ValueError(f"p, the chance that a reader goes on, must be from 0 to below 1, not {plain(number)}.")
    return number


def spelled(params: tuple[tuple[str, float | str], ...]) -> str:
    """Parameters as they are printed: rel=2, or dcg='exp-log2'."""
    return ",".join(
        f"{name}={value!r}" if isinstance(value, str) else f"{name}={plain(value)}" for name, value in params
    )
