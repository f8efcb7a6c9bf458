"""The audit: who changed what, from where and when. An event is written in the transaction of its act.

    audit.note(Act.SCALE, collection, about="version 3")

Pages, calls of the API, commands and workers use the same functions, which note their acts themselves. The
module `who` knows the actor, so that no function needs the request.
"""

from .acts import ABOUT_PEOPLE, Act
from .noting import as_row, note
from .who import acting_for

__all__ = ["ABOUT_PEOPLE", "Act", "acting_for", "as_row", "note"]
