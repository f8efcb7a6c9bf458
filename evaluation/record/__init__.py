"""The only interface to the data of `ratings`: reads rows of the database as arrays. Knows no measure."""

from .arrays import Opinions, Record
from .keys import Keys, document_keys
from .machines import InUse, Machine, judgments_of, machines
from .rankings import rankings_of_run, results
from .reading import (
    baselines,
    load,
    opinion_rows,
    opinions_in,
    part,
    pool,
    queries_of,
    ratings_in,
    scale,
    terms,
    with_draw,
)
from .versions import Version, changed_queries, version
