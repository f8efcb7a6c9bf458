"""Imports: their state and results."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from .collection import Collection
from .constraints import known_value

MAKERS = ("archive", "copy")  # the kinds of jobs that make a collection
LEASE = timedelta(seconds=30)  # a worker whose last heartbeat is older counts as dead
COUNTS_OF_CHANGES = ("new", "changed", "documents", "grades", "drawn")  # the counts of a report that are changes


class Leased(models.Model):
    """Work that one worker at a time does. A worker that takes it up makes the one before stop writing."""

    state = models.CharField(max_length=10, default="queued")  # of which each kind has more choices

    # Raised by each worker that takes it up: a worker with an older number stops writing (a fencing token).
    attempt = models.PositiveIntegerField(default=0)
    beat_at = models.DateTimeField(null=True)  # when it was queued or taken up; see also `importing.signs`
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    def mine(self) -> models.QuerySet:
        """A queryset of this row; empty if another worker took it up or somebody cancelled or stopped it."""
        return type(self)._default_manager.filter(pk=self.pk, attempt=self.attempt, state="running")

    def take_up(self) -> bool:
        """Whether this worker has taken it up now. False: another one was faster."""
        now = timezone.now()
        unchanged = type(self)._default_manager.filter(pk=self.pk, attempt=self.attempt, state=self.state)
        running = {"state": "running", "message": "", "beat_at": now, "ended_at": None}
        if not unchanged.update(attempt=F("attempt") + 1, started_at=self.started_at or now, **running):
            return False
        self.refresh_from_db()
        return True


class Job(Leased):
    """One import: its files and options, its worker, its result."""

    class Kind(models.TextChoices):
        QUERIES = "queries", "queries"
        DOCUMENTS = "documents", "documents"
        RESULTS = "results", "runs"
        RATINGS = "ratings", "ratings"
        BEIR = "beir", "data set"  # of which each part becomes an import, too
        ARCHIVE = "archive", "collection"
        PICTURES = "pictures", "pictures"
        COPY = "copy", "copy"
        LOG = "log", "log"
        ENGINE = "engine", "results"  # fetched from a search engine
        NIGHT = "night", "results"  # of a watch, fetched likewise

    class State(models.TextChoices):
        QUEUED = "queued", "waiting"
        RUNNING = "running", "at work"
        CHECKED = "checked", "checked"
        PUBLISHED = "published", "imported"
        REFUSED = "refused", "refused"
        CANCELLED = "cancelled", "cancelled"
        FAILED = "failed", "failed"
        UNDONE = "undone", "undone"

    # Of an archive or a copy: the collection that it makes, None before that.
    collection = models.ForeignKey(Collection, models.CASCADE, null=True, related_name="jobs")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    # Empty if the files do not show it and the user has not chosen it yet.
    kind = models.CharField(max_length=10, choices=Kind.choices)
    options = models.JSONField(default=dict, help_text="The answers on how to read the files.")
    # Where people chose what the columns hold. The choice, in `options`, counts for later files with this header.
    header = models.JSONField(default=list, help_text="The names of the columns, in their order.")
    # [{"name": as sent, "stored": a random name among the uploads, "size": bytes}]
    files = models.JSONField(default=list)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    checking = models.BooleanField(default=False, help_text="Reads and checks, and writes nothing.")
    deaths = models.PositiveSmallIntegerField(default=0, help_text="How many workers died while they did it.")
    message = models.CharField(max_length=200, blank=True)
    report = models.JSONField(default=dict)
    # Queries as they were before this import changed them: [[pk, text, need, tags, weight, fields]].
    former = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            known_value(
                "state",
                ["queued", "running", "checked", "published", "refused", "cancelled", "failed", "undone"],
                "job_state_is_known",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["archive", "copy"]) | Q(collection__isnull=False),
                name="job_has_its_collection",
            ),
        ]

    def __str__(self) -> str:
        names = ", ".join(file["name"] for file in self.files)
        if not self.kind:
            return names
        return f"{self.get_kind_display()} from {names}" if names else self.get_kind_display()

    @property
    def destination(self) -> Collection:
        """The collection into which it imports. Raises ValueError while one that makes a collection has none."""
        if self.collection is None:
            raise ValueError(f"{self} has no collection yet")
        return self.collection

    @property
    def is_over(self) -> bool:
        """Whether it neither waits nor is at work. A checked job is over, too."""
        return self.state not in (self.State.QUEUED, self.State.RUNNING)

    @property
    def stage(self) -> str:
        """The state. Of a job that is done in turns it is that of work between two turns, too."""
        in_turns = self.kind in (self.Kind.ENGINE, self.Kind.NIGHT, self.Kind.PICTURES) and self.started_at
        return self.State.RUNNING if in_turns and self.state == self.State.QUEUED else self.state

    @property
    def needs_kind(self) -> bool:
        """Whether the user must choose the kind of rows in its files."""
        return not self.kind and self.state == self.State.CHECKED

    @property
    def changed(self) -> bool:
        """Whether it changed the record. A job from an archive has no counts, so it may have."""
        counts = self.report.get("counts")
        return counts is None or any(counts.get(name) for name in COUNTS_OF_CHANGES)


def import_of(related_name: str, *, db_index: bool = True) -> models.ForeignKey:
    """The field for the import that made a row, so that it can be undone; None if no import did."""
    return models.ForeignKey(
        Job, models.DO_NOTHING, null=True, db_constraint=False, db_index=db_index, editable=False,
        related_name=related_name,
    )  # fmt: skip
