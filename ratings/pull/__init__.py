"""Rankings straight from a search engine: the top of its answer to each query, over HTTP.

Off until IDEALIST_PULL_HOSTS names the hosts. The only code of Idealist that sends a request to anywhere.
"""

from .fetching import Limits, Refused
from .places import Place, checked_place
from .pulling import pull
from .shapes import PRESETS, Shape

__all__ = ["PRESETS", "Limits", "Place", "Refused", "Shape", "checked_place", "pull"]
