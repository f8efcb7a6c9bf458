"""Frozen evaluations."""

from secrets import token_urlsafe

from django.conf import settings
from django.db import models

from ratings.models import Collection
from ratings.models.append_only import AppendOnly

NAME_LENGTH = 120
SHORT_HASH = 12  # characters of a hash, those that stand in addresses and on pages


class FrozenEvaluation(AppendOnly):
    """An evaluation at one moment: its inputs, its numbers, and the hash of the inputs.

    It does not change with its collection. It is removed with its collection, and only when that is removed as a
    whole (PROTECT): see ratings.collection.deleting. A bundle outlives both.
    """

    collection = models.ForeignKey(Collection, models.PROTECT, related_name="frozen_evaluations")
    name = models.CharField(max_length=NAME_LENGTH)
    note = models.TextField(blank=True)
    # SHA-256 of the inputs: see frozen.content.
    hash = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    # The canonical settings.json, which is part of the hash.
    settings = models.TextField()
    # JSON of the canonical files: name, lines, bytes, sha256.
    files = models.TextField()
    # JSON of frozen.freezing.About.
    about = models.TextField()
    # JSON of the means, a row for each system and measure.
    summary = models.TextField()

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "hash"], name="one_frozen_evaluation_per_content"),
            models.UniqueConstraint(fields=["collection", "name"], name="one_frozen_evaluation_per_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.short})"

    @property
    def short(self) -> str:
        """The beginning of the hash, which identifies the evaluation in addresses."""
        return self.hash[:SHORT_HASH]


def new_key() -> str:
    """The random part of an address: 32 letters, 192 bits."""
    return token_urlsafe(24)


class FrozenLink(models.Model):
    """The address at which people without an account read a frozen evaluation. Deleting the row revokes it."""

    frozen = models.OneToOneField(FrozenEvaluation, models.PROTECT, related_name="link")
    key = models.CharField(max_length=32, unique=True, default=new_key, editable=False)
    created_at = models.DateTimeField()


class FrozenPart(AppendOnly):
    """A compressed part of a frozen evaluation: lines of a canonical file, or bytes of an array."""

    frozen = models.ForeignKey(FrozenEvaluation, models.PROTECT, related_name="parts")
    name = models.CharField(max_length=250, help_text="The canonical file or the array that it is a part of.")
    place = models.PositiveIntegerField(help_text="The number of this piece, from 0.")
    content = models.BinaryField()

    class Meta:
        ordering = ["name", "place"]
        constraints = [
            models.UniqueConstraint(fields=["frozen", "name", "place"], name="one_frozen_part_per_place")
        ]
