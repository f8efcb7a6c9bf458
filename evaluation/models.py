"""What is stored of evaluations: those that somebody froze to cite them. All else is computed when asked."""

from django.conf import settings
from django.db import models

from ratings.models import Collection

NAME_LENGTH = 120
SHORT = 12  # characters of a hash that stand in addresses and on pages
SAID = "Frozen evaluations are made once and never changed."


class OnceQuerySet(models.QuerySet):
    """Rows that are written once."""

    def update(self, **kwargs):
        raise TypeError(SAID)

    def delete(self):
        raise TypeError(SAID)


class Once(models.Model):
    """A row that is written once. An account that is deleted is taken off, which the database does itself."""

    objects = OnceQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args, **kwargs):
        if self.pk is not None:
            raise TypeError(SAID)
        super().save(*args, **kwargs)

    def delete(self, *args, **kwargs):
        raise TypeError(SAID)


class FrozenEvaluation(Once):
    """An evaluation as it was: what it was computed from, the numbers, and one hash for all of the former.

    It stays as it is whatever becomes of its collection, the name of which it keeps. The collection cannot be
    deleted from under it: who may read a frozen evaluation is who may read the collection, and without one a
    result that somebody cited could be read by nobody.
    """

    collection = models.ForeignKey(Collection, models.PROTECT, related_name="frozen_evaluations")
    name = models.CharField(max_length=NAME_LENGTH)
    note = models.TextField(blank=True)
    # Of what the numbers were computed from: see frozen.content.
    hash = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    # What was asked, which is part of the hash: the canonical settings.json.
    settings = models.TextField()
    # JSON of the canonical files: name, lines, bytes, sha256.
    files = models.TextField()
    # JSON of what it is called and what held beside: frozen.freezing.About.
    about = models.TextField()
    # JSON of the means as they were shown, a row for each system and measure.
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
        """The beginning of the hash, by which addresses and people name it."""
        return self.hash[:SHORT]


class FrozenPart(Once):
    """A piece of the content of a frozen evaluation, packed: lines of a canonical file, or numbers by query."""

    frozen = models.ForeignKey(FrozenEvaluation, models.PROTECT, related_name="parts")
    name = models.CharField(max_length=250, help_text="The canonical file, or what the numbers are.")
    place = models.PositiveIntegerField(help_text="Which piece of it.")
    content = models.BinaryField()

    class Meta:
        ordering = ["name", "place"]
        constraints = [
            models.UniqueConstraint(fields=["frozen", "name", "place"], name="one_frozen_part_per_place")
        ]

    def __str__(self) -> str:
        return f"{self.name}, piece {self.place}"
