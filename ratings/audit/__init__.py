"""The audit: who changed what, from where and when. An event is written in the transaction of its act.

    audit.note(Act.SCALE, collection, about="version 3")

Pages, calls of the API, commands and workers use the same functions, and each of these notes what it does. Who
does it is known by `who`, without a request.
"""

from .acts import ABOUT_PEOPLE, Act
from .noting import as_row, note
from .who import acting_for

__all__ = ["ABOUT_PEOPLE", "Act", "acting_for", "as_row", "note"]
