"""The only interface to the data of `ratings`: rows of the database as arrays. Reads only, knows no measure."""

from .arrays import Opinions, Record
from .keys import Keys, document_keys
from .machines import InUse, Machine, grades_of, machines
from .rankings import results
from .reading import load, opinions, part, pool, scale, terms, unknown_system
from .versions import Version, changed_queries, version

__all__ = [
    "InUse",
    "Keys",
    "Machine",
    "Opinions",
    "Record",
    "Version",
    "changed_queries",
    "document_keys",
    "grades_of",
    "load",
    "machines",
    "opinions",
    "part",
    "pool",
    "results",
    "scale",
    "terms",
    "unknown_system",
    "version",
]
