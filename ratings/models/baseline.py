"""The systems with which a gate compares a release, unless it is told others."""

from django.db import models

from .collection import Collection
from .constraints import known_value
from .ranking import System


class Baseline(models.Model):
    """A system that a person made a baseline, with a reason. The last row of each kind counts.

    Neither kind follows the last run: a baseline that follows walks down with the search.
    """

    class Kind(models.TextChoices):
        FIXED = "fixed", "the fixed baseline"
        RELEASE = "release", "the last release"

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="baselines")
    kind = models.CharField(max_length=7, choices=Kind.choices)
    # Empty where it was deleted: the one before does not count again unless a person says so.
    system = models.ForeignKey(System, models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=200, help_text="Of the system.")
    reason = models.CharField(max_length=500)
    chosen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [known_value("kind", ["fixed", "release"], "kind_of_baseline_is_known")]

    def __str__(self) -> str:
        return f"{self.name}, {self.get_kind_display()}"
