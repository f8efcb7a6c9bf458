"""Long work: imports, what became of each, and what hides the rows of one that is not over."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from .collection import Collection

LEASE = timedelta(seconds=30)  # who has not been heard of for so long is dead
CHANGES = ("new", "changed", "documents", "grades")  # counts of a report that tell of a change


class JobQuerySet(models.QuerySet):
    def staging(self) -> "JobQuerySet":
        """What they wrote is hidden."""
        return self.filter(staging=True)

    def silent(self) -> "JobQuerySet":
        """Running, they say, but nobody has heard of them since the lease."""
        return self.filter(state=Job.State.RUNNING, beat_at__lt=timezone.now() - LEASE)


class Job(models.Model):
    """One import: what was asked for, who works on it, what came of it.

    A row that carries the job is hidden from all readers while the job is `staging`. So an import writes in small
    transactions, and the one short one that ends `staging` publishes all of it.
    """

    class Kind(models.TextChoices):
        QUERIES = "queries", "queries"
        DOCUMENTS = "documents", "documents"
        RESULTS = "results", "runs"
        RATINGS = "ratings", "ratings"
        ARCHIVE = "archive", "collection"

    class State(models.TextChoices):
        QUEUED = "queued", "waiting"
        RUNNING = "running", "at work"
        CHECKED = "checked", "checked"
        PUBLISHED = "published", "imported"
        REFUSED = "refused", "refused"
        CANCELLED = "cancelled", "cancelled"
        FAILED = "failed", "failed"
        UNDONE = "undone", "undone"

    # Of an archive: the one that it makes, none before and where nothing came of it.
    collection = models.ForeignKey(Collection, models.CASCADE, null=True, related_name="jobs")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    options = models.JSONField(default=dict, help_text="What was said about reading the files.")
    # [{"name": as sent, "stored": a random name among the uploads, "sha256": …, "size": bytes}]
    files = models.JSONField(default=list)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    checking = models.BooleanField(default=False, help_text="Reads and checks, and writes nothing.")
    # By a command that somebody waits for: when it dies, nobody takes it up again.
    attended = models.BooleanField(default=False)
    staging = models.BooleanField(default=False, help_text="What it wrote is hidden, or is being removed.")
    # Goes up with each worker that takes it up: who works under an older number writes no more.
    attempt = models.PositiveIntegerField(default=0)
    deaths = models.PositiveSmallIntegerField(default=0, help_text="How many workers died over it.")
    beat_at = models.DateTimeField(null=True)
    message = models.CharField(max_length=200, blank=True)
    done = models.PositiveBigIntegerField(default=0)
    share = models.FloatField(null=True, help_text="How much is done, 0 to 1. Empty where nobody knows.")
    report = models.JSONField(default=dict)
    # Queries as they were before this import changed them: [[pk, text, need, tags, weight]].
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
                condition=Q(kind="archive", staging=False) | Q(collection__isnull=False),
                name="job_has_its_collection",
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        names = ", ".join(file["name"] for file in self.files)
        return f"{self.get_kind_display()} from {names}" if names else self.get_kind_display()

    @property
    def is_over(self) -> bool:
        return self.state not in (self.State.QUEUED, self.State.RUNNING)

    @property
    def changed(self) -> bool:
        """Whether the record became another by it. Of one that came with an archive nobody knows: it may have."""
        counts = self.report.get("counts")
        return counts is None or any(counts.get(name) for name in CHANGES)

    def mine(self) -> JobQuerySet:
        """The row, as long as nobody else took the job up and nobody cancelled it: the fence."""
        return Job.objects.filter(pk=self.pk, attempt=self.attempt, state=self.State.RUNNING)

    def take_up(self) -> bool:
        """Make it mine, if nobody else did meanwhile."""
        now = timezone.now()
        seen = Job.objects.filter(pk=self.pk, attempt=self.attempt, state=self.state)
        fresh = {"message": "", "done": 0, "share": None}
        facts = {"state": self.State.RUNNING, "beat_at": now, "started_at": now}
        if not seen.update(attempt=F("attempt") + 1, **facts, **fresh):
            return False
        self.refresh_from_db()
        return True


def hidden_by_job() -> Q:
    """Of rows that carry a job: those that nobody may see yet, or any more."""
    return Q(job__in=Job.objects.staging())


class PublishedManager(models.Manager):
    """Leaves out what an import is still writing or removing."""

    def get_queryset(self) -> models.QuerySet:
        return super().get_queryset().exclude(hidden_by_job())
