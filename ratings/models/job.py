"""Imports: their state and results, and the rule that hides the rows of one that is still running."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from .collection import Collection

MAKERS = ("archive", "copy")  # the kinds of jobs that make a collection
LEASE = timedelta(seconds=30)  # a worker whose last heartbeat is older counts as dead
CHANGES = ("new", "changed", "documents", "grades")  # the counts of a report that are changes


class JobQuerySet(models.QuerySet):
    def staging(self) -> "JobQuerySet":
        """Jobs whose rows are hidden."""
        return self.filter(staging=True)

    def silent(self) -> "JobQuerySet":
        """Running jobs whose worker counts as dead."""
        return self.filter(state=Job.State.RUNNING, beat_at__lt=timezone.now() - LEASE)


class Job(models.Model):
    """One import: its files and options, its worker, its result.

    While a job is `staging`, all rows that it has written are hidden. So an import writes in many transactions,
    and the last one, which ends `staging`, publishes all of them at once.
    """

    class Kind(models.TextChoices):
        QUERIES = "queries", "queries"
        DOCUMENTS = "documents", "documents"
        RESULTS = "results", "runs"
        RATINGS = "ratings", "ratings"
        ARCHIVE = "archive", "collection"
        PICTURES = "pictures", "pictures"
        COPY = "copy", "copy"

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
    # Started by a command in a terminal. If that dies, no worker takes the job up.
    attended = models.BooleanField(default=False)
    staging = models.BooleanField(default=False, help_text="What it wrote is hidden, or is being removed.")
    # Raised by each worker that takes it up: a worker with an older number stops writing.
    attempt = models.PositiveIntegerField(default=0)
    deaths = models.PositiveSmallIntegerField(default=0, help_text="How many workers died while they did it.")
    beat_at = models.DateTimeField(null=True)
    message = models.CharField(max_length=200, blank=True)
    done = models.PositiveBigIntegerField(default=0)
    share = models.FloatField(null=True, help_text="The share that is done, 0 to 1. Empty: unknown.")
    report = models.JSONField(default=dict)
    # Queries as they were before this import changed them: [[pk, text, need, tags, weight, fields]].
    former = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection"], condition=Q(staging=True), name="one_import_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(state__in=[
                    "queued", "running", "checked", "published", "refused", "cancelled", "failed", "undone",
                ]),
                name="job_state_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="published") | Q(staging=False), name="what_is_published_is_seen"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["archive", "copy"], staging=False) | Q(collection__isnull=False),
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

    def mine(self) -> JobQuerySet:
        """The row of the job; none if another worker took it up or somebody cancelled it (a fencing token)."""
        return Job.objects.filter(pk=self.pk, attempt=self.attempt, state=self.State.RUNNING)

    def take_up(self) -> bool:
        """Whether this worker has taken the job up now. False: another one was faster."""
        now = timezone.now()
        unchanged = Job.objects.filter(pk=self.pk, attempt=self.attempt, state=self.state)
        started = {"state": self.State.RUNNING, "beat_at": now, "started_at": now}
        if not unchanged.update(attempt=F("attempt") + 1, message="", done=0, share=None, **started):
            return False
        self.refresh_from_db()
        return True


def hidden_by_job() -> Q:
    """The condition for rows that are hidden because their job is staging."""
    return Q(job__in=Job.objects.staging())


class PublishedManager(models.Manager):
    """Leaves out the rows that an import is still writing or removing."""

    def get_queryset(self) -> models.QuerySet:
        return super().get_queryset().exclude(hidden_by_job())
