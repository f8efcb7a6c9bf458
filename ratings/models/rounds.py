"""Rounds: pairs that were drawn to be rated next, and the chances with which they were drawn.

`desk.queue.rounds` writes these tables. Only the stored aim depends on a measure, so that every later number is
computed from the same log.
"""

import math

from django.db import models
from django.db.models import Q

from .append_only import AppendOnly
from .collection import Collection
from .rating import Pair


class Round(AppendOnly):
    """One round. Append-only."""

    collection = models.ForeignKey(Collection, models.CASCADE, db_index=False, related_name="rounds")
    number = models.PositiveIntegerField(help_text="From 1 in each collection.")
    method = models.CharField(max_length=20, help_text="The version of the method.")
    seed = models.BigIntegerField()
    # What the round was drawn for: {"measure", "profile", "options", "rule", "adjudications", "systems", "gains"}.
    aim = models.JSONField()
    # The key of the first unit that was not drawn. None: all were drawn.
    threshold = models.FloatField(null=True)
    precision = models.FloatField(help_text="What the round weighs, known before any answer.")
    # The standing of the systems when it was drawn: {"mean", "low", "high", "best", "wrong"}, by the systems of
    # the aim; {"machines"}, if machine grades helped to predict; {"triage"}, if they made some pairs more likely.
    seen = models.JSONField()
    frame = models.PositiveIntegerField(help_text="How many pairs could be drawn.")
    judged = models.PositiveIntegerField(help_text="How many pairs were judged before.")
    version = models.PositiveBigIntegerField(help_text="The version of the collection that was read.")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "number"], name="one_round_per_number"),
            models.CheckConstraint(condition=Q(number__gte=1), name="rounds_count_from_1"),
            models.CheckConstraint(condition=Q(precision__gte=0), name="precision_not_negative"),
        ]

    def __str__(self) -> str:
        return f"round {self.number}"


def _random(*, isnull: bool) -> dict[str, bool]:
    """The lookup for the fields that only a pair drawn at random has. Comparisons alone would let NULL pass."""
    return {f"{name}__isnull": isnull for name in ("unit", "key", "rate", "within")}


class Drawn(AppendOnly):
    """One pair of a round. Append-only.

    A unit is drawn together: it is the pairs of one query. The chance of a random pair is that of its unit,
    1 − exp(−rate × threshold), times its chance `within` the unit. A greedy pair was chosen with certainty.
    """

    class Kind(models.TextChoices):
        GREEDY = "greedy", "greedy"
        RANDOM = "random", "at random"

    round = models.ForeignKey(Round, models.CASCADE, db_index=False, related_name="drawn")
    # A pair is drawn once: one that returns to the pool is in its round already. A drawn pair cannot be deleted.
    pair = models.OneToOneField(Pair, models.RESTRICT, related_name="drawn")
    place = models.PositiveIntegerField(help_text="In the round, from 1: greedy ones first, then by key.")
    kind = models.CharField(max_length=6, choices=Kind.choices)
    unit = models.PositiveIntegerField(null=True, help_text="From 1, in the order of keys.")
    key = models.FloatField(null=True)
    rate = models.FloatField(null=True)
    within = models.FloatField(null=True)
    born = models.PositiveIntegerField(help_text="How many rounds there were before the pair came to the pool.")
    # The predicted chance, at the time, of each gain of `aim["gains"]` or a higher one, without the lowest.
    chances = models.JSONField()

    class Meta:
        verbose_name_plural = "drawn pairs"
        ordering = ["round", "place"]
        constraints = [
            models.UniqueConstraint(fields=["round", "place"], name="one_pair_per_place"),
            models.CheckConstraint(
                condition=Q(kind="greedy", **_random(isnull=True))
                | Q(kind="random", unit__gte=1, key__gte=0, rate__gt=0, within__gt=0, within__lte=1)
                & Q(**_random(isnull=False)),
                name="what_is_random_has_its_chance",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pair}, {self.get_kind_display()}"

    @property
    def chance(self) -> float:
        """The chance that the pair had in its round. If all units were drawn, the chance of each unit is 1."""
        if self.kind == self.Kind.GREEDY:
            return 1.0
        limit = self.round.threshold
        return self.within if limit is None else -math.expm1(-self.rate * limit) * self.within
