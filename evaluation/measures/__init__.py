"""Measures of ranked lists against graded judgments. NumPy only: no database, no request, no Django."""

from .arrays import Judgments, Rankings
from .bounds import Bounds, bounds, bounds_of_mean, unjudged
from .calc import Calculated, calc
from .difference import SPLIT, Difference, Part, difference
from .explain import Explanation, Row, explain
from .gains import cautions
from .kernel import Scores, effective, evaluate, mean
from .notation import Measure, parse_measure, with_gmax
from .options import Options
from .profiles import PROFILES
from .reasons import COUNTED, NOT_JUDGED, REASONS
from .registry import MEASURES, OF_SOME
