"""Charts of scores as Vega-Lite documents, from rows. No Django and no database.

`spec` has the colours and axes of all charts, `pictures` draws SVG, PNG and PDF, and `vega` provides the script
that draws charts in the browser.
"""

from .expected import expected_means, over_rounds, wrong_over_rounds
from .queries import by_query, deltas, heat_map, uncounted
from .raters import biases, confusion
from .systems import curves, differences, means, running
