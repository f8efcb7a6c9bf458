"""Ask search engines over HTTP: the first results for each query become the rankings of a system.

It is off until IDEALIST_PULL_HOSTS lists hosts, or a superuser allows one on a page. Pictures and judges send
their requests through it, too.
"""

from .asking import Connection
from .dialects import Dialect
from .fetching import Limits, Refused
from .places import Place, checked_place

__all__ = ["Connection", "Dialect", "Limits", "Place", "Refused", "checked_place"]
