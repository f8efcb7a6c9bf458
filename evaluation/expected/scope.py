"""The scope of expected values: nDCG with a cutoff, on a few levels of gain. NumPy only."""

from collections.abc import Sequence

import numpy as np

from ..measures import Measure, Options, effective
from ..measures.decimals import decimal_text
from ..measures.gains import gain

MOST_LEVELS = 8  # the method is untested with more
# Options with only one supported value, and the reason.
FIXED = {
    "ideal": ("judged", "the ideal is that of all judged documents"),
    "unjudged": ("zero", "a model takes the place of missing judgments"),
    "undefined": ("skip", "queries with nothing to find count in no mean"),
    "missing": ("empty", "every system has the same queries"),
}


def is_defined(measure: Measure, options: Options) -> bool:
    """Whether expected values are defined for this measure and options."""
    try:
        refuse(measure, options)
    except ValueError:
        return False
    return True


def refuse(measure: Measure, options: Options) -> None:
    """Raises ValueError with the reason where expected values are not defined for this measure and options."""
    options = effective(measure, options)  # a measure can state some options itself
    if measure.name != "nDCG" or measure.cutoff is None:
        raise ValueError(f"there is no expected value of {measure}: give nDCG with a cutoff, such as nDCG@10.")
    for name, (value, why) in FIXED.items():
        if getattr(options, name) != value:
            raise ValueError(f"expected values need {name}={value}, not {options.as_dict()[name]}: {why}.")
    if options.ties == "average":
        raise ValueError("expected values cannot have ties=average: each document has one rank.")
    if options.negatives not in ("minmax", "clip"):
        raise ValueError(
            f"expected values need negatives=minmax or clip, not {options.negatives}: "
            "the best and the worst list are computed from numbers of documents alone."
        )


def levels_of(measure: Measure, options: Options, grades: Sequence[float], judged: np.ndarray) -> np.ndarray:
    """The levels of gain in the model, distinct and ascending, float64[levels].

    grades: those of the scale; judged: the grades of all judgments, which may lie between those of the scale, such
    as a mean of several ratings. Where scale and judgments together have more than MOST_LEVELS gains, only the
    gains of the scale are levels. If even these are more, MOST_LEVELS of them are kept: both ends, 0 if it is one,
    and others evenly spread. ValueError for fewer than two levels.
    """
    options = effective(measure, options)
    scale = np.asarray(grades, np.float64)
    levels = np.unique(gain(np.unique(np.concatenate([scale, judged])), options))
    if len(levels) > MOST_LEVELS:
        levels = _spread(np.unique(gain(scale, options)))
    if len(levels) < 2:
        only = f"all have the gain {decimal_text(levels[0])}" if len(levels) else "there is none"
        raise ValueError(f"expected values need grades with at least two different gains; {only}.")
    return levels


def _spread(levels: np.ndarray) -> np.ndarray:
    """At most MOST_LEVELS of these levels: both ends, 0 if it is among them, and others evenly spread."""
    if len(levels) <= MOST_LEVELS:
        return levels
    places = np.linspace(0, len(levels) - 1, MOST_LEVELS).round().astype(int)
    zero = np.abs(levels).argmin()  # the place of 0, if it is a level
    if levels[zero] == 0 and zero not in places:
        nearest = np.abs(places[1:-1] - zero).argmin() + 1  # the nearest place between the ends
        places[nearest] = zero
    return levels[np.unique(places)]
