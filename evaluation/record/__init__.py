"""The only interface to the data of `ratings`: rows of the database as arrays. Reads only, knows no measure."""

from .arrays import Opinions, Record
from .keys import Keys, document_keys
from .rankings import results
from .reading import load, opinions, part, pool, scale, terms, unknown_system
from .versions import Version, changed_queries, version

__all__ = [
    "Keys",
    "Opinions",
    "Record",
    "Version",
    "changed_queries",
    "document_keys",
    "load",
    "opinions",
    "part",
    "pool",
    "results",
    "scale",
    "terms",
    "unknown_system",
    "version",
]
