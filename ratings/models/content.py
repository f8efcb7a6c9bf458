"""What is searched for and what can be returned."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import ProtectedError

from .collection import Collection, key_validator


class Query(models.Model):
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="queries")
    key = models.CharField(max_length=200, validators=[key_validator], help_text="The id outside Idealist.")
    text = models.TextField()
    need = models.TextField("information need", blank=True)
    tags = models.JSONField(default=list, blank=True)
    weight = models.FloatField(default=1, validators=[MinValueValidator(0)])

    class Meta:
        verbose_name_plural = "queries"
        constraints = [
            models.UniqueConstraint(fields=["collection", "key"], name="one_query_per_key"),
            models.CheckConstraint(condition=models.Q(weight__gte=0), name="weight_is_not_negative"),
        ]

    def __str__(self) -> str:
        return f"{self.key}: {self.text}"


class DocumentQuerySet(models.QuerySet):
    def delete(self):
        """Raises ProtectedError for a document that a ranking names: packed arrays have no foreign key."""
        refuse_ranked(self)
        return super().delete()


class Document(models.Model):
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="documents")
    key = models.CharField(max_length=500, validators=[key_validator], help_text="The id outside Idealist.")
    title = models.TextField(blank=True)
    body = models.TextField(blank=True)
    url = models.TextField(blank=True)
    fields = models.JSONField(default=dict, blank=True)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["collection", "key"], name="one_document_per_key")]

    def __str__(self) -> str:
        return self.title or self.key

    def delete(self, *args, **kwargs):
        refuse_ranked(Document.objects.filter(pk=self.pk))
        return super().delete(*args, **kwargs)


def refuse_ranked(documents: models.QuerySet) -> None:
    """Reads every ranking of the collections concerned: deleting a document is rare."""
    for collection in Collection.objects.filter(documents__in=documents).distinct():
        ids = list(documents.filter(collection=collection).values_list("pk", flat=True))
        rankings = (ranking for system in collection.systems.all() for ranking in system.rankings.iterator())
        naming = {ranking for ranking in rankings if ranking.names_any(ids)}
        if naming:
            raise ProtectedError("A ranking names this document. Delete the system's rankings first.", naming)
