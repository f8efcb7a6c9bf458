"""Leave out a rater, such as one who cheats: none of their ratings counts. The act can be taken back.

Every reader of ratings asks `Rating.objects.counted()`, so no number, file or call has them meanwhile.
"""

from django.db import transaction

from ..desk import queue
from ..models import Rater
from ..people.audit import Act, note
from ..people.many import OfMany


@transaction.atomic
def leave_out(rater: Rater) -> int:
    """How many wanted ratings are open again, as no rating of the rater counts any more."""
    opened = queue.leave_out(rater)
    note(Act.LEFT_OUT, rater.collection, about=rater, opened=opened)
    rater.collection.touch()
    return opened


@transaction.atomic
def count_again(rater: Rater) -> int:
    """How many wanted ratings are filled again by the grades of the rater, which count again."""
    filled = queue.count_again(rater)
    note(Act.COUNTED_AGAIN, rater.collection, about=rater, filled=filled)
    rater.collection.touch()
    return filled


def acts_on_many() -> dict[str, OfMany]:
    """The acts `leave_out` and `count_again` for several raters at once, by their names in addresses.

    `label`: of the button. `says`: what the act does, for the page that asks. `done`: the end of the message
    afterwards, which begins with "3 raters". `fits`: whether the act changes anything for a rater. `harms`: the
    button warns. `refused_if_away`: the act is refused in a collection that is put away, in which nobody rates at
    the moment.
    """
    return {
        "leave-out": OfMany(
            label="Leave out their ratings",
            says="None of their ratings counts in any number, file or call, and they get nothing to rate. What"
            " they rated is wanted again. The page of each shows what leaving out that one does to the numbers.",
            done="are left out: none of their ratings counts.",
            do=leave_out,
            fits=lambda rater: rater.left_out_at is None,
            harms=True,
            refused_if_away=True,
        ),
        "count-again": OfMany(
            label="Count their ratings again",
            says="Their ratings count as before.",
            done="count again.",
            do=count_again,
            fits=lambda rater: rater.left_out_at is not None,
            refused_if_away=True,
        ),
    }
