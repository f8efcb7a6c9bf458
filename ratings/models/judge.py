"""Judges, which are language models that grade, and their answers.

Nothing here is a `Rating`, a `Pair` or a `Rater`, so code that reads people's ratings never sees a machine grade.
`ratings.judges` writes these tables.
"""

from decimal import Decimal

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from .append_only import AppendOnly
from .collection import Collection, short_value
from .constraints import known_value
from .content import Document, Query
from .job import Leased
from .rating import Rating

MONEY = {"max_digits": 14, "decimal_places": 6}
MOST_MONEY = Decimal("99999999.999999")  # that such a column holds


class Judge(models.Model):
    """A judge. Its versions hold its prompts and its models."""

    collection = models.ForeignKey(Collection, models.CASCADE, db_index=False, related_name="judges")
    name = models.CharField(max_length=150)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "name"],
                name="one_judge_per_name",
                violation_error_message="The collection has a judge of this name already.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def latest(self) -> "JudgeVersion | None":
        return self.versions.order_by("-number").first()


class JudgeVersion(AppendOnly):
    """Everything that determines a judge's answers. Written once: any change makes a new version."""

    judge = models.ForeignKey(Judge, models.CASCADE, db_index=False, related_name="versions")
    number = models.PositiveIntegerField(help_text="From 1 for each judge.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    template = models.CharField(max_length=20, help_text="The name of the template of the prompt.")
    prompt = models.TextField(help_text="The whole text, with places for what differs between pairs.")
    # The parts that it sees: {"document": [part, …], "query": [part, …]}, of presentation.parts.Part.
    parts = models.JSONField(default=dict)
    scale = models.JSONField(help_text="The values of the scale that it was told, as texts, lowest first.")
    scale_version = models.PositiveIntegerField(default=1)
    guidelines_version = models.PositiveIntegerField(default=0, help_text="0: there were none.")
    presentation_version = models.PositiveIntegerField(default=0, help_text="0: there was none.")
    prompt_sha256 = models.CharField(max_length=64)
    guidelines_sha256 = models.CharField(max_length=64)
    presentation_sha256 = models.CharField(max_length=64)
    endpoint = models.CharField(max_length=500, blank=True, help_text="Empty: the grades were made elsewhere.")
    model = models.CharField(max_length=200, help_text="The model that is asked for.")
    sampling = models.JSONField(default=dict, help_text="Parameters that are sent with every call.")
    schema = models.JSONField(default=dict, help_text="The JSON schema of an answer.")
    structured = models.BooleanField(default=True, help_text="The schema is sent, for servers that hold to it.")
    parser = models.PositiveSmallIntegerField(help_text="The version of the parser of answers. 0: unknown.")
    seed = models.BigIntegerField(null=True, help_text="Sent with every call. Empty: unknown.")
    # Of a million tokens, in the currency of the account at the endpoint.
    price_in = models.DecimalField(**MONEY, default=Decimal(0))
    price_out = models.DecimalField(**MONEY, default=Decimal(0))
    fingerprint = models.CharField(
        max_length=64, help_text="SHA-256 of all of this but number, moment and account."
    )

    class Meta:
        verbose_name_plural = "versions of judges"
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["judge", "number"], name="one_judge_version_per_number"),
            models.UniqueConstraint(fields=["judge", "fingerprint"], name="one_judge_version_per_content"),
            models.CheckConstraint(
                condition=Q(number__gte=1, price_in__gte=0, price_out__gte=0), name="judge_version_counts"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.judge}, version {self.number}"


class JudgeUse(models.Model):
    """One use that an admin allows for the grades of a version. Without a row they are used for nothing."""

    class Use(models.TextChoices):
        EXPECTED = "expected", "to predict missing judgments in expected values"
        ALONE = "alone", "for columns of their own, machine only"
        TRIAGE = "triage", "to draw first what people are likely to grade otherwise"

    judge = models.ForeignKey(Judge, models.CASCADE, db_index=False, related_name="uses")
    version = models.ForeignKey(JudgeVersion, models.CASCADE, related_name="uses")
    use = models.CharField(max_length=10, choices=Use.choices)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["judge", "use"]
        constraints = [
            models.UniqueConstraint(fields=["judge", "use"], name="one_version_of_a_judge_per_use"),
            known_value("use", ["expected", "alone", "triage"], "judge_use_is_known"),
        ]


class JudgeRunQuerySet(models.QuerySet):
    def in_use(self) -> "JudgeRunQuerySet":
        """Runs whose collection is neither deleted nor put away."""
        return self.filter(
            version__judge__collection__slug__isnull=False, version__judge__collection__put_away_at=None
        )


class JudgeRun(Leased):
    """A run of a judge: the choice of pairs, its limits and its progress."""

    class State(models.TextChoices):
        QUEUED = "queued", "waiting"
        RUNNING = "running", "at work"
        PAUSED = "paused", "paused"
        CAPPED = "capped", "stopped at its cap"
        DONE = "done", "done"
        CANCELLED = "cancelled", "cancelled"
        FAILED = "failed", "failed"

    class Choice(models.TextChoices):
        SAMPLE = "sample", "the judge's own sample"
        POOL = "pool", "the pool"
        HOLES = "holes", "holes"
        RATED = "rated", "pairs that people rated"
        RANDOM = "random", "a random part of the pool"
        AGAIN = "again", "pairs that it graded, once more"
        IMPORTED = "imported", "imported"
        PROBES = "probes", "probes"

    version = models.ForeignKey(JudgeVersion, models.CASCADE, related_name="runs")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    choice = models.CharField(max_length=10, choices=Choice.choices)
    options = models.JSONField(default=dict, help_text="Of the choice: depth, size, seed.")
    concurrency = models.PositiveSmallIntegerField(default=4, help_text="Calls at the same time.")
    per_minute = models.PositiveIntegerField(default=0, help_text="Calls a minute at most. 0: no limit.")
    most_calls = models.PositiveIntegerField(help_text="Calls at most, tries included.")
    most_cost = models.DecimalField(**MONEY, null=True, help_text="Cost at most. Empty: no limit.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    message = models.CharField(max_length=300, blank=True)
    pairs = models.PositiveIntegerField(default=0, help_text="Pairs to be graded.")
    graded = models.PositiveIntegerField(default=0)
    ungraded = models.PositiveIntegerField(default=0)
    # Raised before the calls are made, so that even a killed run never exceeds its cap.
    calls = models.PositiveIntegerField(default=0)
    tokens_in = models.PositiveBigIntegerField(default=0)
    tokens_out = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(**MONEY, default=Decimal(0))
    created_at = models.DateTimeField(default=timezone.now)

    objects = JudgeRunQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            known_value(
                "state",
                ["queued", "running", "paused", "capped", "done", "cancelled", "failed"],
                "judge_run_state_is_known",
            ),
            known_value(
                "choice",
                ["sample", "pool", "holes", "rated", "random", "again", "imported", "probes"],
                "judge_run_choice_is_known",
            ),
            models.CheckConstraint(
                condition=Q(calls__lte=F("most_calls"), concurrency__gte=1), name="judge_run_within_its_cap"
            ),
        ]

    @property
    def answers(self) -> models.QuerySet:
        """The rows of the run: machine grades, or probes."""
        return self.probes if self.choice == self.Choice.PROBES else self.grades

    @property
    def is_over(self) -> bool:
        return self.state in (self.State.DONE, self.State.CANCELLED)

    @property
    def waiting(self) -> int:
        return max(self.pairs - self.graded - self.ungraded, 0)


class Answer(models.Model):
    """One question to a version and its answer: a grade, or the problem that kept it from one."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        GRADED = "graded", "graded"
        UNGRADED = "ungraded", "no grade"

    class Problem(models.TextChoices):
        NOT_JSON = "not_json", "the answer is not the JSON that was asked for"
        OFF_SCALE = "off_scale", "the grade is not on the scale"
        REFUSAL = "refusal", "the model refused"
        CUT = "cut", "the answer was cut off"
        EMPTY = "empty", "the answer is empty"
        NO_ANSWER = "no_answer", "the server's answer is none of its convention"
        BUSY = "busy", "the server was too busy"
        ERROR = "error", "the server reported an error"
        TIMEOUT = "timeout", "there was no answer in time"
        NETWORK = "network", "the connection failed"
        UNKNOWN = "unknown", "made elsewhere, without a reason"

    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    value = models.DecimalField(max_digits=15, decimal_places=9, null=True, help_text="On the collection's scale.")
    problem = models.CharField(max_length=10, choices=Problem.choices, blank=True)
    detail = models.CharField(max_length=300, blank=True, help_text="What the server or the parser said.")
    answer = models.TextField(blank=True, help_text="The raw answer, as the model gave it.")
    model = models.CharField(max_length=200, blank=True, help_text="The model that the answer names.")
    # Empty: the server did not say, or the grade was made elsewhere.
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(**MONEY, null=True)
    seconds = models.FloatField(null=True, help_text="Of the last try.")
    tries = models.PositiveSmallIntegerField(default=0)
    at = models.DateTimeField(null=True, help_text="When it was answered.")

    class Meta:
        abstract = True

    @property
    def short(self) -> str:
        """The grade for pages; "" without one."""
        return "" if self.value is None else short_value(self.value)


def grade_or_problem(prefix: str) -> models.CheckConstraint:
    """The constraint that an answer has a grade or a problem, and neither while it waits."""
    return models.CheckConstraint(
        condition=Q(state="graded", value__isnull=False, problem="")
        | Q(state="ungraded", value__isnull=True) & ~Q(problem="")
        | Q(state="waiting", value__isnull=True, problem=""),
        name=f"{prefix}_or_its_problem",
    )


class MachineGrade(Answer):
    """One pair that a version is asked about, and its answer.

    The unique key guarantees that an answered pair is never asked again.
    """

    run = models.ForeignKey(JudgeRun, models.CASCADE, db_index=False, related_name="grades")
    version = models.ForeignKey(JudgeVersion, models.CASCADE, db_index=False, related_name="grades")
    query = models.ForeignKey(Query, models.CASCADE, related_name="+")
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    repeat = models.PositiveSmallIntegerField(default=1, help_text="From 1: the same pair asked once more.")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["version", "query", "document", "repeat"], name="a_judge_is_asked_once"
            ),
            grade_or_problem("a_machine_grade"),
            models.CheckConstraint(condition=Q(repeat__gte=1), name="repeats_count_from_1"),
        ]
        indexes = [models.Index(fields=["run", "state", "id"], name="machine_grade_by_run")]


class Probe(Answer):
    """A document made to deceive a judge, for one query, and the version's answer.

    It is neither a `Document` nor a `Pair`. `ratings.judges.probes` makes its text.
    """

    class Kind(models.TextChoices):
        STUFFED = "stuffed", "stuffed with the query"
        INJECTION = "injection", "an instruction to give the best grade"
        EMPTY = "empty", "empty"
        LANGUAGE = "language", "in another language"

    run = models.ForeignKey(JudgeRun, models.CASCADE, db_index=False, related_name="probes")
    version = models.ForeignKey(JudgeVersion, models.CASCADE, db_index=False, related_name="probes")
    query = models.ForeignKey(Query, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind.choices)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "query", "kind"], name="a_probe_is_asked_once"),
            grade_or_problem("a_probe"),
            known_value("kind", ["stuffed", "injection", "empty", "language"], "probe_kind_is_known"),
        ]
        indexes = [models.Index(fields=["run", "state", "id"], name="probe_by_run")]


class JudgeSample(models.Model):
    """The sample that people rate blindly before a judge is used: drawn at random, or pairs already rated."""

    judge = models.ForeignKey(Judge, models.CASCADE, related_name="samples")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    drawn = models.BooleanField(
        default=True, help_text="False: the pairs that people had rated, which nobody drew."
    )
    seed = models.BigIntegerField(null=True)
    options = models.JSONField(default=dict, help_text="How it was drawn.")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(condition=Q(drawn=False) | Q(seed__isnull=False), name="a_draw_has_its_seed"),
        ]

    def unrated(self) -> int:
        """How many pairs of the sample have no rating at all, not even "cannot judge"."""
        # By the pair, which has indexes: a rating's own query and document are copies without one.
        rated = Rating.objects.counted().filter(pair__query=OuterRef("query"), pair__document=OuterRef("document"))
        return self.pairs.filter(~Exists(rated)).count()


class SampledPair(models.Model):
    """One pair of a sample, with the chance with which it was drawn."""

    sample = models.ForeignKey(JudgeSample, models.CASCADE, db_index=False, related_name="pairs")
    query = models.ForeignKey(Query, models.CASCADE, related_name="+")
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    stratum = models.CharField(max_length=100, blank=True)
    probability = models.FloatField(null=True, help_text="Empty: it was not drawn.")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "query", "document"], name="a_pair_is_sampled_once"),
            models.CheckConstraint(
                condition=Q(probability__isnull=True) | Q(probability__gt=0, probability__lte=1),
                name="a_chance_is_above_0_and_at_most_1",
            ),
        ]
