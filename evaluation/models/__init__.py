"""What is stored of evaluations: the frozen ones, and the nights of watches. All else is computed."""

from .frozen import NAME_LENGTH, SHORT_HASH, FrozenEvaluation, FrozenLink, FrozenPart, new_key
from .watch import BUDGET, MARGIN, Night, NightRanking, Verdict, Watch
