"""Imports: their state and results."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from .collection import Collection

MAKERS = ("archive", "copy")  # the kinds of jobs that make a collection
LEASE = timedelta(seconds=30)  # a worker whose last heartbeat is older counts as dead
CHANGES = ("new", "changed", "documents", "grades", "drawn")  # the counts of a report that are changes


class Job(models.Model):
    """One import: its files and options, its worker, its result."""

    class Kind(models.TextChoices):
        QUERIES = "queries", "queries"
        DOCUMENTS = "documents", "documents"
        RESULTS = "results", "runs"
        RATINGS = "ratings", "ratings"
        ARCHIVE = "archive", "collection"
        PICTURES = "pictures", "pictures"
        COPY = "copy", "copy"
        LOG = "log", "log"

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
    # [{"name": as sent, "stored": a random name among the uploads, "sha256": …, "size": bytes}]
    files = models.JSONField(default=list)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    checking = models.BooleanField(default=False, help_text="Reads and checks, and writes nothing.")
    # Raised by each worker that takes it up: a worker with an older number stops writing.
    attempt = models.PositiveIntegerField(default=0)
    deaths = models.PositiveSmallIntegerField(default=0, help_text="How many workers died while they did it.")
    beat_at = models.DateTimeField(null=True)  # when it was queued or taken up; see also `importing.signs`
    message = models.CharField(max_length=200, blank=True)
    report = models.JSONField(default=dict)
    # Queries as they were before this import changed them: [[pk, text, need, tags, weight, fields]].
    former = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=[
                    "queued", "running", "checked", "published", "refused", "cancelled", "failed", "undone",
                ]),
                name="job_state_is_known",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["archive", "copy"]) | Q(collection__isnull=False),
                name="job_has_its_collection",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        names = ", ".join(file["name"] for file in self.files)
        if not self.kind:
            return names
        return f"{self.get_kind_display()} from {names}" if names else self.get_kind_display()

    @property
    def is_over(self) -> bool:
        return self.state not in (self.State.QUEUED, self.State.RUNNING)

    @property
    def needs_kind(self) -> bool:
        """Whether the user must choose the kind of rows in its files."""
        return not self.kind and self.state == self.State.CHECKED

    @property
    def changed(self) -> bool:
        """Whether it changed the record. A job from an archive has no counts, so it may have."""
        counts = self.report.get("counts")
        return counts is None or any(counts.get(name) for name in CHANGES)

    def mine(self) -> models.QuerySet:
        """The row of the job; none if another worker took it up or somebody cancelled it (a fencing token)."""
        return Job.objects.filter(pk=self.pk, attempt=self.attempt, state=self.State.RUNNING)

    def take_up(self) -> bool:
        """Whether this worker has taken the job up now. False: another one was faster."""
        now = timezone.now()
        unchanged = Job.objects.filter(pk=self.pk, attempt=self.attempt, state=self.state)
        started = {"state": self.State.RUNNING, "beat_at": now, "started_at": now}
        if not unchanged.update(attempt=F("attempt") + 1, message="", **started):
            return False
        self.refresh_from_db()
        return True
