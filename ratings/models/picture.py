"""Pictures that documents name."""

from hashlib import sha256
from uuid import uuid4

from django.db import models
from django.urls import reverse

from .collection import Collection
from .constraints import known_value

LONGEST_PROBLEM = 300  # characters
LONGEST_SOURCE = 2_000  # characters of a source that are kept


class Picture(models.Model):
    """One picture of a collection's documents: its source, and its files or its problem.

    Its files are named by the SHA-256 of their content, so equal pictures share them.
    """

    class State(models.TextChoices):
        WANTED = "wanted", "not here yet"
        READY = "ready", "ready"
        REFUSED = "refused", "missing"

    class Size(models.TextChoices):
        SMALL = "small"
        LARGE = "large"

    collection = models.ForeignKey(Collection, models.CASCADE, db_index=False, related_name="pictures")
    # SHA-256 of the whole source as the document has it: an address, the name of a file, or a data: URL.
    digest = models.CharField(max_length=64)
    source = models.TextField(help_text="Of data: its beginning.")
    named_by = models.TextField(blank=True, help_text="The key of the first document or query that names it.")
    # What raters see in addresses: random, so that it tells neither document nor order of import.
    token = models.UUIDField(default=uuid4, unique=True, editable=False)
    state = models.CharField(max_length=7, choices=State.choices, default=State.WANTED)
    problem = models.CharField(max_length=LONGEST_PROBLEM, blank=True)
    small = models.CharField(max_length=64, blank=True)  # SHA-256 of each file
    large = models.CharField(max_length=64, blank=True)
    width = models.PositiveIntegerField(default=0, help_text="Of the small one, in pixels.")
    height = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["collection", "digest"], name="one_picture_per_source"),
            known_value("state", ["wanted", "ready", "refused"], "picture_state_is_known"),
            models.CheckConstraint(
                condition=~models.Q(state="ready") | ~models.Q(small="") & ~models.Q(large=""),
                name="a_ready_picture_has_files",
            ),
        ]
        indexes = [models.Index(fields=["collection", "state", "id"], name="picture_by_state")]

    def address(self, size: str) -> str:
        return reverse("picture", args=[self.token, size])


def digest_of(source: str) -> str:
    return sha256(source.encode(errors="surrogatepass")).hexdigest()
