"""Systems and their rankings."""

from django.db import models

from .collection import Collection
from .content import Query
from .fields import PackedArrayField
from .job import import_of


class System(models.Model):
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="systems")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    gaps = models.BooleanField(
        default=False,
        help_text="A query without a ranking was not answered, and has no score. Otherwise it has an empty list.",
    )
    job = import_of("systems")

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["collection", "name"], name="one_system_per_name")]

    def __str__(self) -> str:
        return self.name


class Ranking(models.Model):
    """The ordered documents of one system for one query: written once, read whole, never edited."""

    system = models.ForeignKey(System, models.CASCADE, db_index=False, related_name="rankings")
    query = models.ForeignKey(Query, models.CASCADE, related_name="rankings")
    documents = PackedArrayField("uint32", help_text="Document ids, best first.")
    scores = PackedArrayField("float64", null=True, help_text="The system's scores beside them, as read.")
    job = import_of("rankings")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["system", "query"], name="one_ranking_per_query")]

    def __str__(self) -> str:
        return f"{self.system} for {self.query.key}"
