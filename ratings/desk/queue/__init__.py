"""The queue: which pair a rater rates next, and the only code that writes assignments, ratings and checks.

How `claim` chooses what a rater gets, all in one transaction:

1. Lock the rater's row, and read what the choice depends on (`choosing.claimants`).
2. As long as the rater has warm-ups to do, they get only those (`mixing.hold_warm_ups`).
3. Find candidates (`choosing.choose`): free assignments of pairs that the rater has neither rated nor put off. The
   order of the collection (`order`) forms groups of them: the current query, then another one; or the smallest
   depth, then the next; or all. Within a group they are sorted by a random number that each assignment has.
4. Limit their number: to what was asked for, by the rater's limit and, near the end of the pool, by a fair share
   (`choosing.quota_for`). If candidates run out, pairs follow that the rater put off.
5. Put gold pairs and repeats before some of the candidates (`mixing.mix_in`).
6. Lease the candidates by one conditional UPDATE (`claiming`). If another rater was faster, repeat from step 3
   without those assignments.

Concurrency: each act of a rater runs in one transaction that begins with a lock on the rater's row, so that two
tabs of one person take turns. On SQLite every transaction is a writer from its start. Races between raters for one
pair are decided by conditional updates and unique indexes, never by a read followed by a write. No process cleans
up: an expired lease counts as free.

Terms: `me` is a rater as the lock read them. A grade that fills no assignment, because others had filled the pair
or it was imported, is surplus. An extra assignment is beyond the number wanted, for one rater: of gold, or a
lease that `want_fewer` left. A task's turn is its position among the tasks that its rater holds. A check is a
warm-up or a repeat; its answer is no rating.

For raters: `claim`, `save`, `skip`, `stop`, `undo`; to read: `held`, `task`, `last_acts`, `outlook`.
For admins: `want`, `want_fewer`, `retire`, `unretire`, `ask_again`, `take_back_asking`, `leave_out`,
`count_again`, `stop`; for imports of ratings `differing`, `stage`, `record_staged` and `take_back_import`; for
rounds `store_round`, `waiting_in_rounds` and `raters_at_work`.
"""

from .acts import KeyUsed
from .asking_again import ask_again, askable, asked_again, take_back_asking
from .claiming import MOST_HELD, claim, stop
from .importing import HISTORY_ONLY, ImportedRating, differing, record_staged, stage, take_back_import
from .leases import LEASE
from .leaving_out import count_again, leave_out
from .order import comes_by_query
from .outlook import MOST_COUNTED_PAIRS, Outlook, outlook
from .rounds import raters_at_work, store_round, waiting_in_rounds
from .saving import Conflict, Saved, Submission, save, skip, used
from .tasks import Task, answers_of, held, task
from .undoing import ACTS_TO_UNDO, RATING_KINDS, last_acts, undo
from .wanting import pairs_for, retire, unretire, want, want_fewer
