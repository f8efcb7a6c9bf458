"""Pairs whose grade is known: made and given up by an admin."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from . import queue
from .models import Anchor, Grade, Pair


@transaction.atomic
def set_anchor(
    pair: Pair, *, use: str, grade: Grade, explanation: str = "", now: datetime | None = None
) -> Anchor:
    """Make the pair an anchor, or change the one that it is.

    A warm-up is out of the pool: whoever learned the answer must not rate it. A gold pair stays in it like any
    other. Raises ValueError for a grade of another collection, an unknown use, or a warm-up without explanation.
    """
    now = now or timezone.now()
    if grade.collection_id != pair.query.collection_id:
        raise ValueError("The grade and the pair must belong to one collection.")
    if use not in Anchor.Use.values:
        raise ValueError(f"An anchor is for {' or '.join(Anchor.Use.values)}, not for {use!r}.")
    if use == Anchor.Use.WARM_UP and not explanation.strip():
        raise ValueError("A warm-up needs an explanation: it is shown after the answer.")
    # Of two admins at once the second finds what the first has made, and changes it.
    Pair.objects.select_for_update(no_key=True).get(pk=pair.pk)
    anchor = Anchor.objects.filter(pair=pair).first()
    if anchor and anchor.use != use:
        remove_anchor(pair)
        anchor = None
    anchor = anchor or Anchor(pair=pair, use=use, created_at=now)
    anchor.grade, anchor.explanation = grade, explanation.strip()
    anchor.save()
    if use == Anchor.Use.WARM_UP:
        queue.retire([pair.pk], now=anchor.created_at)
    return anchor


@transaction.atomic
def remove_anchor(pair: Pair) -> None:
    """The pair is an anchor no longer. One that was retired for a warm-up goes back to the pool, as far as wanted.

    Answers to it are kept. Nothing happens where it is no anchor.
    """
    anchor = Anchor.objects.filter(pair=pair).first()
    if anchor is None:
        return
    anchor.delete()
    # Retired by the same act: somebody who retired it before meant it for good.
    if anchor.use == Anchor.Use.WARM_UP and Pair.objects.filter(pk=pair.pk, retired_at=anchor.created_at).exists():
        queue.unretire([pair.pk])
