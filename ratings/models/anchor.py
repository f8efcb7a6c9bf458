"""Anchors, which are pairs with a known grade, and checks, whose answers are compared and are no ratings."""

from uuid import uuid4

from django.db import models
from django.db.models import OuterRef, Q, Subquery

from .collection import Grade, Rater
from .constraints import known_value
from .rating import Pair, RatingEvent


class AnchorQuerySet(models.QuerySet):
    def of(self, collection) -> "AnchorQuerySet":
        """The anchors of a collection. By a subquery, as SQLite would begin a join with all pairs."""
        of_pair = Pair.objects.filter(pk=OuterRef("pair")).values("query__collection")
        return self.alias(of_collection=Subquery(of_pair)).filter(of_collection=collection)


class Anchor(models.Model):
    """A pair with a known grade: a warm-up, whose explanation is shown, or gold, which is mixed into the work."""

    class Use(models.TextChoices):
        WARM_UP = "warm_up", "warm-up"
        GOLD = "gold", "gold"

    pair = models.OneToOneField(Pair, models.CASCADE, related_name="anchor")
    use = models.CharField(max_length=7, choices=Use.choices)
    grade = models.ForeignKey(Grade, models.RESTRICT, related_name="anchors")
    explanation = models.TextField(blank=True, help_text="Why this grade: shown after the answer in a warm-up.")
    created_at = models.DateTimeField()

    objects = AnchorQuerySet.as_manager()

    class Meta:
        constraints = [
            known_value("use", ["warm_up", "gold"], "use_of_anchor_is_known"),
            models.CheckConstraint(
                condition=Q(use="gold") | ~Q(explanation=""), name="a_warm_up_has_an_explanation"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pair}: {self.grade}, {self.get_use_display()}"


class Check(models.Model):
    """A warm-up or a repeat of one rater. The answer is in `event`, and is no rating.

    Its token is its own, so that a repeat looks like any other pair. `ratings.desk.queue` writes this table.
    """

    class Kind(models.TextChoices):
        WARM_UP = "warm_up", "warm-up"
        REPEAT = "repeat", "repeat"

    rater = models.ForeignKey(Rater, models.RESTRICT, related_name="checks")
    pair = models.ForeignKey(Pair, models.CASCADE, related_name="checks")
    kind = models.CharField(max_length=7, choices=Kind.choices)
    token = models.UUIDField(default=uuid4, unique=True, editable=False)
    created_at = models.DateTimeField()
    # The place among the rater's tasks while they hold it, as Assignment.turn.
    turn = models.IntegerField(null=True, editable=False)
    # Of a repeat: before which of the rater's wanted pairs it came (queue.mixing).
    place = models.PositiveIntegerField(default=0, editable=False)
    event = models.OneToOneField(RatingEvent, models.RESTRICT, null=True, related_name="+")

    last_comment: str | None  # set by `desk.queue.tasks.checks_of`

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rater", "pair", "kind"], name="one_check_of_a_kind"),
            known_value("kind", ["warm_up", "repeat"], "kind_of_check_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.pair}, {self.get_kind_display()}"
