"""Samples of queries: what was drawn from a log of searches, and with what chance.

`ratings.importing.sampling` writes these tables.
"""

from django.db import models
from django.db.models import F, Q

from .collection import Collection
from .constraints import known_value
from .content import Query
from .job import import_of


class Sample(models.Model):
    """Queries that were drawn from a log, so that together they stand for all of its searches. Written once.

    *Draw more* makes a new sample with all queries of the `former` one: the last number of a collection counts.

    A mean over the searches of the log takes from each row of `drawn` its count, its chance and its stratum. The
    `certain` queries (chance 1) stand for themselves. The others of a stratum stand together for
    `searches - certain_searches` of its entry in `strata`; by the methods PROPORTIONAL and STRATA their chance is
    proportional to their count, so each of them stands for as many searches as another. By EVEN the chances are
    equal, so each stands for count / chance. For queries that are left out, the others of their stratum stand, and
    for certain ones the other certain ones.
    """

    class Method(models.TextChoices):
        PROPORTIONAL = "proportional", "by number of searches"
        STRATA = "strata", "by strata"
        EVEN = "even", "each query alike"

    collection = models.ForeignKey(Collection, models.CASCADE, db_index=False, related_name="samples")
    number = models.PositiveIntegerField(help_text="From 1 in each collection.")
    former = models.ForeignKey("self", models.SET_NULL, null=True, related_name="+")
    job = import_of("samples")
    method = models.CharField(max_length=12, choices=Method.choices)
    seed = models.BigIntegerField()
    size = models.PositiveIntegerField(help_text="How many queries were asked for: the sum of all chances.")
    log = models.CharField(max_length=200, help_text="The name of the log's file.")
    days = models.CharField(max_length=100, blank=True, help_text="On which the log was kept. Empty: unknown.")
    # SHA-256 of all texts, counts and strata: only the same log can be drawn from again.
    digest = models.CharField(max_length=64)
    searches = models.PositiveBigIntegerField(help_text="In the whole log.")
    queries = models.PositiveBigIntegerField(help_text="Distinct ones in the whole log.")
    head_searches = models.PositiveBigIntegerField(help_text="Of the queries that were drawn for certain.")
    head_queries = models.PositiveIntegerField(help_text="How many queries were drawn for certain.")
    # [{"name", "size": the sum of its chances; "queries", "searches": of the log; "certain", "certain_searches":
    # of those drawn for certain; "drawn": all drawn ones, those for certain too}], in the order of the log. One
    # with the name "" where the log was not divided.
    strata = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "number"], name="one_sample_per_number"),
            known_value("method", ["proportional", "strata", "even"], "method_of_sample_is_known"),
            models.CheckConstraint(
                condition=Q(head_queries__lte=F("queries"), head_searches__lte=F("searches")),
                name="the_head_is_a_part_of_the_log",
            ),
        ]

    def __str__(self) -> str:
        return f"sample {self.number} of {self.log}"


class SampledQuery(models.Model):
    """One query of a sample: its count in the log, and the chance with which it was drawn.

    A query that is left out, or waits for an admin, has no `query` and no value; it stays counted among the drawn.
    """

    class LeftOut(models.TextChoices):
        HELD = "held", "waits: it may be personal"
        PERSONAL = "personal", "personal"
        NO_SEARCH = "no_search", "not a search"
        OTHER = "other", "another reason"

    sample = models.ForeignKey(Sample, models.CASCADE, db_index=False, related_name="drawn")
    # Empty where it is left out, or was deleted.
    query = models.ForeignKey(Query, models.SET_NULL, null=True, related_name="sampled")
    place = models.PositiveBigIntegerField(
        help_text="In the order of the log from 1: by stratum, the most frequent first."
    )
    text = models.TextField(blank=True, help_text="As the log has it most often. Empty: it was personal.")
    count = models.PositiveBigIntegerField(help_text="Searches for it in the log.")
    chance = models.FloatField(help_text="With which the sample has it; 1 for a query drawn for certain.")
    stratum = models.CharField(max_length=100, blank=True)
    left_out = models.CharField(max_length=10, choices=LeftOut.choices, blank=True)

    class Meta:
        verbose_name_plural = "sampled queries"
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(fields=["sample", "place"], name="a_query_is_sampled_once"),
            models.CheckConstraint(
                condition=Q(chance__gt=0, chance__lte=1), name="the_chance_of_a_query_is_above_0"
            ),
            models.CheckConstraint(
                condition=Q(query__isnull=True) | ~Q(left_out="held"),
                name="a_held_query_is_not_in_the_record",
            ),
            known_value(
                "left_out", ["", "held", "personal", "no_search", "other"], "reason_to_leave_out_is_known"
            ),
        ]

    def __str__(self) -> str:
        return self.text or f"query {self.place} of the log"

    @property
    def certain(self) -> bool:
        """Whether it was drawn for certain, and so stands for itself alone."""
        return self.chance == 1

    @property
    def stands_for(self) -> float:
        """For how many searches it stands, its own and those of queries that were not drawn."""
        return self.count / self.chance
