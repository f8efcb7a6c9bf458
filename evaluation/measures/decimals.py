"""Numbers of options and measures: checked when read, printed as decimals."""

import math
import re

from .refusal import WrongOption

# What Python reads besides, such as +5 and 1_000, has another spelling of its own.
PLAIN = re.compile(r"-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)


def finite(value: object, name: str, what: str = "") -> float:
    """`value` as a float. WrongOption `name` if it is not a finite number, as text in plain digits."""
    try:
        spelled = not isinstance(value, str) or bool(PLAIN.fullmatch(value.strip()))
        number = float(value) if spelled and not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise WrongOption(name, f"{what or name} must be a finite number, not {value!r}.")
    return number


def decimal_text(number: float) -> str:
    """The shortest text that reads back as the same number: 2, 0.5, 2.718281828459045."""
    return repr(float(number)).removesuffix(".0")
