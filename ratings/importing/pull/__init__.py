"""Pull rankings from a search engine over HTTP: the first results for each query.

It is off until IDEALIST_PULL_HOSTS lists hosts. Pictures and judges send their requests through it, too.
"""

from .dialects import Dialect
from .fetching import Limits, Refused
from .places import Place, checked_place
from .pulling import Engine, pull

__all__ = ["Engine", "Limits", "Place", "Refused", "Dialect", "checked_place", "pull"]
