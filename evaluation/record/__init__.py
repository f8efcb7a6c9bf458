"""The only interface to the data of `ratings`: rows of the database as arrays. Reads only, knows no measure."""

from .arrays import Opinions, Record, Terms
from .keys import Keys, document_keys
from .rankings import results
from .reading import load, opinions, part, pool, scale, terms, unknown_system
from .versions import Version, changed_queries, version
