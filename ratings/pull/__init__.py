"""Rankings from a search engine: the first results of its answer to each query, over HTTP.

It is off until IDEALIST_PULL_HOSTS lists hosts. No other code of Idealist sends HTTP requests.
"""

from .dialects import PRESETS, Dialect
from .fetching import Limits, Refused
from .places import Place, checked_place
from .pulling import Engine, pull

__all__ = ["PRESETS", "Engine", "Limits", "Place", "Refused", "Dialect", "checked_place", "pull"]
