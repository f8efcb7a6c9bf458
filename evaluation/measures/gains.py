"""The gain of a grade."""

import numpy as np

from .decimals import decimal_text
from .options import Options
from .refusal import WrongOption

LARGEST_GAIN = 1e100  # the sum of squares of larger gains could overflow


def gain(grade: np.ndarray, options: Options) -> np.ndarray:
    """The gain of each grade, float64 of the same shape; 0.0 where the grade is nan (unjudged).

    A grade that a gain map does not list, or whose gain is beyond LARGEST_GAIN, is a WrongOption.
    """
    graded = ~np.isnan(grade)
    gains = np.zeros(grade.shape)
    with np.errstate(over="ignore"):  # an overflow is inf, which is refused below
        if graded.all():  # the usual case, without the copies of a selection
            gains = _gain(grade, options)
        else:
            gains[graded] = _gain(grade[graded], options)
    beyond = np.abs(gains) > LARGEST_GAIN
    if beyond.any():
        problem = f"the {options.gain} gain of grade {decimal_text(grade[beyond][0])} is too large."
        raise WrongOption("gain", problem)
    return np.maximum(gains, 0) if options.negatives == "clip" else gains


def _gain(grade: np.ndarray, options: Options) -> np.ndarray:
    if options.gain == "exponential":
        return np.exp2(grade) - 1
    if options.gain == "exponential_signed":
        return np.sign(grade) * (np.exp2(np.abs(grade)) - 1)
    if options.gain == "map":
        return _mapped(grade, options)
    return grade


def _mapped(grade: np.ndarray, options: Options) -> np.ndarray:
    listed, gains = np.array(options.gain_map).T
    place = np.minimum(np.searchsorted(listed, grade), len(listed) - 1)
    unlisted = np.flatnonzero(listed[place] != grade)
    if unlisted.size:
        raise WrongOption(
            "gain",
            f"gain=map does not list the grade {decimal_text(grade[unlisted[0]])}; list it or, if it is a mean, "
            "combine ratings by median or majority, which keep to the scale.",
        )
    return gains[place]


def cautions(options: Options, grades: np.ndarray) -> list[str]:
    """Warnings for the reader, a sentence each, about surprising effects of these options on these grades."""
    if options.gain == "exponential" and (grades < 0).any():
        return ["Exponential gain never falls below -1: a very bad document costs hardly more than a bad one."]
    return []
