"""Make a pair an anchor, which is a pair whose grade is known, and remove anchors.

By a warm-up raters learn: they see its grade after their own. Gold tests them, and looks like any other pair.
"""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from ..desk import queue
from ..models import Anchor, Grade, Pair
from ..people import audit


@transaction.atomic
def set_anchor(
    pair: Pair, *, use: str, grade: Grade, explanation: str = "", now: datetime | None = None
) -> Anchor:
    """Make the pair an anchor with this grade, or change its anchor, and return the anchor.

    The pair of a warm-up is retired, because raters learn its grade. A gold pair stays in the pool.
    """
    # Locked, so that the second of two concurrent calls finds the anchor of the first and changes it.
    Pair.objects.select_for_update(no_key=True).get(pk=pair.pk)
    anchor = Anchor.objects.filter(pair=pair).first()
    if anchor and anchor.use != use:  # an anchor of another use is another anchor
        remove_anchor(pair)
        anchor = None
    anchor = anchor or Anchor(pair=pair, use=use, created_at=now or timezone.now())
    anchor.grade = grade
    anchor.explanation = explanation.strip()
    anchor.save()
    if use == Anchor.Use.WARM_UP:
        queue.retire([pair.pk], now=anchor.created_at)  # the same time tells `remove_anchor` why
    audit.note(audit.Act.ANCHOR, pair.query.collection, about=pair, use=use, grade=str(grade.value))
    return anchor


@transaction.atomic
def remove_anchor(pair: Pair) -> None:
    """Delete the pair's anchor, if it has one. Answers to it stay.

    A pair that was retired because it became a warm-up comes back to the pool.
    """
    anchor = Anchor.objects.filter(pair=pair).first()
    if anchor is None:
        return
    anchor.delete()
    # The times are equal if `set_anchor` retired the pair. A pair that was retired earlier stays retired.
    retired_for_anchor = Pair.objects.filter(pk=pair.pk, retired_at=anchor.created_at)
    if anchor.use == Anchor.Use.WARM_UP and retired_for_anchor.exists():
        queue.unretire([pair.pk])
    audit.note(audit.Act.ANCHOR_REMOVED, pair.query.collection, about=pair, use=anchor.use)
