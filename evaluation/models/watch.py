"""Watches: what a search returns night after night, its scores as they were then, and what was told of them.

A path is a run of nights that are tested together, and a flip is one set of random signs for the differences of
the queries: see evaluation.significance.nightly.
"""

from datetime import datetime
from secrets import randbits

from django.conf import settings
from django.db import models
from django.db.models import Q

from ratings.models import Baseline, Collection, Engine, Job, Query, System
from ratings.models.constraints import known_value
from ratings.models.fields import PackedArrayField

MARGIN, BUDGET = 0.02, 0.05  # the defaults


def new_seed() -> int:
    """The seed of a watch, which decides the random signs of its flips."""
    return randbits(31)


class Watch(models.Model):
    """A search that is looked at again and again with the same queries, and compared with its baselines."""

    collection = models.ForeignKey(Collection, models.CASCADE, db_index=False, related_name="watches")
    name = models.CharField(max_length=100)
    # None: a call names a system that was imported.
    engine = models.ForeignKey(Engine, models.SET_NULL, null=True, blank=True, related_name="+")
    depth = models.PositiveSmallIntegerField(default=20)
    at = models.TimeField(null=True, blank=True)
    days = models.JSONField(default=list, help_text="Of the week, 0 for Monday.")
    zone = models.CharField(max_length=50, default="UTC")
    tag = models.CharField(max_length=100, blank=True, help_text="Of the queries that it asks for; empty: all.")
    asked = models.JSONField(default=dict, help_text="Measure and options as texts, as addresses have them.")
    margin = models.FloatField(default=MARGIN)
    budget = models.FloatField(default=BUDGET, help_text="The chance of a false alarm in a year.")
    seed = models.BigIntegerField(default=new_seed, editable=False)
    keep_days = models.PositiveSmallIntegerField(default=400)
    next_at = models.DateTimeField(null=True, editable=False)
    paused = models.BooleanField(default=False)
    holiday_until = models.DateField(null=True, blank=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["collection", "name"], name="one_watch_per_name")]
        indexes = [models.Index(fields=["next_at"], name="watch_by_next", condition=Q(next_at__isnull=False))]

    def __str__(self) -> str:
        return self.name

    def last_verdicts(self, before: datetime | None = None) -> dict[str, "Verdict"]:
        """The last verdict against each kind of baseline: of all nights, or of those before this moment."""
        verdicts = Verdict.objects.filter(night__watch=self).select_related("night").order_by("-night__due_at")
        if before:
            verdicts = verdicts.filter(night__due_at__lt=before)
        last_of_kind = {kind: verdicts.filter(baseline=kind).first() for kind in Baseline.Kind.values}
        return {kind: verdict for kind, verdict in last_of_kind.items() if verdict}

    def open_alarms(self) -> list["Verdict"]:
        """The alarms that stand and that nobody answered: the last verdicts of their paths."""
        last = self.last_verdicts().values()
        return [verdict for verdict in last if verdict.kind == Verdict.Kind.WORSE and not verdict.is_answered]


class NightRanking(models.Model):
    """What the search returned for a query in one night or in many: the same ranking is stored once."""

    watch = models.ForeignKey(Watch, models.CASCADE, db_index=False, related_name="rankings")
    query = models.ForeignKey(Query, models.CASCADE, related_name="+")
    digest = models.CharField(max_length=32, help_text="Of the documents, in their order.")
    documents = PackedArrayField("uint32", help_text="Document ids, best first.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["watch", "query", "digest"], name="one_night_ranking")]


class Night(models.Model):
    """One look at a search. Its scores stay as they were computed; only `gap` has a reason instead."""

    class State(models.TextChoices):
        ASKING = "asking", "at work"
        FETCHED = "fetched", "to be scored"
        AGAIN = "again", "asks again before it tells"
        TOLD = "told", "done"
        GAP = "gap", "a gap"

    watch = models.ForeignKey(Watch, models.CASCADE, db_index=False, related_name="nights")
    due_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.ASKING)
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="+")
    system = models.CharField(max_length=200, blank=True, help_text="That a call named.")
    problem = models.CharField(max_length=300, blank=True)
    failed = models.JSONField(default=dict, help_text="Queries that are gaps: key → problem.")
    noise = models.JSONField(default=dict, help_text="How far second answers of the night differ.")
    # Parallel arrays, an entry for each query.
    queries = PackedArrayField("int64", null=True)
    rankings = PackedArrayField("int64", null=True, help_text="Ids of NightRanking; 0 for a gap.")
    again = PackedArrayField("int64", null=True, help_text="Those that were asked for before it told.")
    values = PackedArrayField("float64", null=True, help_text="nan for a query without a value.")
    means = models.JSONField(default=dict, help_text="See evaluation.watching.scoring.Means.")
    terms = models.JSONField(default=dict, help_text="What a change between two nights may come from.")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["due_at"]
        constraints = [
            models.UniqueConstraint(fields=["watch", "due_at"], name="one_night_at_a_time"),
            known_value("state", ["asking", "fetched", "again", "told", "gap"], "state_of_night_is_known"),
        ]


class Verdict(models.Model):
    """What a night tells of the search against one baseline. It is never computed again."""

    class Kind(models.TextChoices):
        WORSE = "worse", "worse"
        NOT_WORSE = "not worse", "not worse"
        UNDECIDED = "cannot tell", "cannot tell"
        JUDGMENTS = "judgments", "judgments decide it"

    class Answer(models.TextChoices):
        FAULT = "fault", "a fault, which is repaired"
        RELEASE = "release", "a new release to compare with"

    night = models.ForeignKey(Night, models.CASCADE, db_index=False, related_name="verdicts")
    baseline = models.CharField(max_length=7, choices=Baseline.Kind.choices)
    system = models.ForeignKey(System, models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=200, help_text="Of the system.")
    kind = models.CharField(max_length=11, choices=Kind.choices)
    numbers = models.JSONField(help_text="See evaluation.watching.verdicts.Numbers.")
    differences = PackedArrayField("float64", help_text="By query of the night; nan where one has no value.")
    # The number of the path of nights to which this one belongs, and what of the budget, the chance of a false
    # alarm in a year, was spent before that path began.
    path = models.PositiveIntegerField()
    spent_before = models.FloatField()
    spent = models.FloatField(help_text="With what was spent before.")
    crossed = PackedArrayField("uint8", help_text="Bits: the flips that have crossed so far.")
    answer = models.CharField(max_length=10, choices=Answer.choices, blank=True)
    reason = models.CharField(max_length=500, blank=True)
    answered_at = models.DateTimeField(null=True)
    answered_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["night", "baseline"], name="one_verdict_per_baseline"),
            known_value("kind", ["worse", "not worse", "cannot tell", "judgments"], "verdict_is_known"),
            known_value("answer", ["", "fault", "release"], "answer_to_verdict_is_known"),
        ]

    @property
    def is_answered(self) -> bool:
        """Whether somebody answered an alarm of its path."""
        of_path = {"night__watch": self.night.watch_id, "baseline": self.baseline, "path": self.path}
        return Verdict.objects.filter(**of_path).exclude(answer="").exists()
