"""Measures of ranked lists against graded judgments. NumPy only: no database, no request, no Django."""

from .arrays import Judgments, Rankings
from .explain import Explanation, Row, explain
from .gains import cautions
from .kernel import Scores, evaluate, mean, weighted_mean
from .notation import Measure, parse_measure
from .options import Options
from .pack import pack
from .profiles import PROFILES
from .reasons import REASONS
from .registry import MEASURES

__all__ = [
    "MEASURES",
    "PROFILES",
    "REASONS",
    "Explanation",
    "Judgments",
    "Measure",
    "Options",
    "Rankings",
    "Row",
    "Scores",
    "cautions",
    "evaluate",
    "explain",
    "mean",
    "pack",
    "parse_measure",
    "weighted_mean",
]
