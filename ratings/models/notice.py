"""Notices of what happened in a collection, who gets them, and how each one arrived."""

from secrets import token_hex

from django.conf import settings
from django.db import models
from django.db.models import Q

from .collection import Collection
from .constraints import known_value


class Notice(models.Model):
    """One thing that happened. The same thing is noted once, whoever looks for it and how often."""

    class Kind(models.TextChoices):
        WORSE = "watch.worse", "an alarm of a watch"
        DECIDE = "watch.judgments", "unjudged documents decide a night"
        GAP = "watch.gap", "a night without an answer"
        IMPORTED = "import.done", "an import is done"
        REFUSED = "import.failed", "an import failed or was refused"
        FINISHED = "rating.finished", "all wanted ratings are given"
        ROUND = "round.drawn", "a round was drawn"
        GOLD = "rater.gold", "a rater misses known grades"
        JUDGE = "judge.drifted", "a judge answers otherwise than before"
        TEST = "test", "a test"

    collection = models.ForeignKey(Collection, models.CASCADE, db_index=False, related_name="notices")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    key = models.CharField(max_length=100, help_text="Names what happened, so that it is noted once.")
    text = models.CharField(max_length=500)
    path = models.CharField(max_length=300, help_text="Of the page that shows it.")
    at = models.DateTimeField()

    class Meta:
        ordering = ["-at", "-pk"]
        constraints = [models.UniqueConstraint(fields=["collection", "key"], name="noted_once")]
        indexes = [models.Index(fields=["collection", "-at"], name="notices_by_time")]


def new_salt() -> str:
    return token_hex(16)


class Receiver(models.Model):
    """Who gets notices: a person by mail, or a program at a web address (a webhook)."""

    collection = models.ForeignKey(Collection, models.CASCADE, db_index=False, related_name="receivers")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    address = models.CharField(max_length=2_000, blank=True)
    # The secret of a webhook is made of this and the server's key, so that no copy of the database has it.
    salt = models.CharField(max_length=32, default=new_salt, editable=False)
    kinds = models.JSONField(default=list, help_text="Of the notices that it gets.")
    gone = models.BooleanField(default=False, help_text="It answered that it is gone (410).")
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "user"], name="one_receiver_per_person"),
            models.CheckConstraint(
                condition=Q(user__isnull=True) ^ Q(address=""), name="receiver_is_person_or_address"
            ),
        ]

    def __str__(self) -> str:
        return self.user.get_username() if self.user else self.address


class Delivery(models.Model):
    """A notice on its way to a receiver, and what was answered last."""

    class State(models.TextChoices):
        WAITING = "waiting", "to be sent"
        DELIVERED = "delivered", "delivered"
        GIVEN_UP = "given_up", "given up"

    receiver = models.ForeignKey(Receiver, models.CASCADE, db_index=False, related_name="deliveries")
    notice = models.ForeignKey(Notice, models.CASCADE, related_name="deliveries")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    tries = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(null=True)
    answer = models.CharField(max_length=300, blank=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["receiver", "notice"], name="one_delivery_per_receiver"),
            known_value("state", ["waiting", "delivered", "given_up"], "state_of_delivery_is_known"),
        ]
        indexes = [models.Index(fields=["next_at"], name="delivery_by_next", condition=Q(state="waiting"))]
