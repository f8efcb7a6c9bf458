"""Scores as charts: rows in, a Vega-Lite document out. Knows no Django and no database.

spec.py has the colours and axes that all charts share, pictures.py draws SVG, PNG and PDF, and vega.py provides
the script that draws charts in the browser.
"""

from .expected import expected_means, over_rounds, wrong_over_rounds
from .queries import by_query, deltas, heat_map
from .raters import confusion, courses, mixes
from .spec import ACCENT, EDGE, INK, PAPER, SHADES, SOFT, WARN, score_domain, shortened
from .systems import curves, differences, means, running, spread

__all__ = [
    "ACCENT",
    "EDGE",
    "INK",
    "PAPER",
    "SHADES",
    "SOFT",
    "WARN",
    "by_query",
    "confusion",
    "courses",
    "curves",
    "deltas",
    "differences",
    "expected_means",
    "heat_map",
    "means",
    "mixes",
    "over_rounds",
    "running",
    "score_domain",
    "shortened",
    "spread",
    "wrong_over_rounds",
]
