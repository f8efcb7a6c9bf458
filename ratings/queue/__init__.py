"""The queue: the only writer of assignments, ratings, checks and their events.

Each act of a rater runs in one transaction that begins by locking the rater's row, so that two tabs of one person
take turns; on SQLite every transaction is a writer from its start. What several raters could do to one pair is
settled by conditional updates and unique indexes, never by reading first and writing later. There is no sweeper: a
lease that ran out is free by itself.

What a rater does: `claim`, `save`, `skip`, `stop`, `undo`; what they see: `held`, `task`, `last_acts`, `outlook`.
What an admin does: `want`, `retire`, `unretire`, `release`, `give`, and imports of ratings with `differing`,
`stage`, `record_staged` and `take_back_import`.
"""

from .claiming import MOST_HELD, claim, stop
from .giving import give
from .importing import ImportedRating, differing, record_staged, stage, take_back_import
from .leases import LEASE, release
from .outlook import COUNTED, Outlook, outlook
from .saving import Conflict, Saved, save, skip
from .tasks import Task, held, task
from .undoing import SAID, UNDO_DEPTH, last_acts, undo
from .wanting import pairs_for, retire, unretire, want

__all__ = [
    "COUNTED",
    "LEASE",
    "MOST_HELD",
    "SAID",
    "UNDO_DEPTH",
    "Conflict",
    "ImportedRating",
    "Outlook",
    "Saved",
    "Task",
    "claim",
    "differing",
    "give",
    "held",
    "last_acts",
    "outlook",
    "pairs_for",
    "record_staged",
    "release",
    "retire",
    "save",
    "skip",
    "stage",
    "stop",
    "take_back_import",
    "task",
    "undo",
    "unretire",
    "want",
]
