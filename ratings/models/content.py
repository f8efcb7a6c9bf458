"""Queries and documents."""

import numpy as np
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import ProtectedError

from .collection import Collection, key_validator
from .job import Job, import_of


class Query(models.Model):
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="queries")
    key = models.CharField(max_length=500, validators=[key_validator], help_text="The id outside Idealist.")
    text = models.TextField()
    need = models.TextField("information need", blank=True)
    tags = models.JSONField(default=list, blank=True)
    fields = models.JSONField(default=dict, blank=True)
    weight = models.FloatField(default=1, validators=[MinValueValidator(0)])
    job = import_of("queries")

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
        """Delete the documents. Raises ProtectedError if a ranking names one: arrays have no foreign key."""
        refuse_ranked(self)
        return super().delete()


class Document(models.Model):
    # PostgreSQL would check a constraint for each row, a third of the time of a large import. An import ends by a
    # change of its job, and the jobs of a collection are deleted before its documents.
    collection = models.ForeignKey(
        Collection, models.CASCADE, db_index=False, db_constraint=False, related_name="documents"
    )
    key = models.CharField(max_length=500, validators=[key_validator], help_text="The id outside Idealist.")
    title = models.TextField(blank=True)
    body = models.TextField(blank=True)
    url = models.TextField(blank=True)
    fields = models.JSONField(default=dict, blank=True)
    job = import_of("documents")

    objects = DocumentQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["collection", "key"], name="one_document_per_key")]

    def __str__(self) -> str:
        return self.title or self.key

    def delete(self, *args, **kwargs):
        refuse_ranked(Document.objects.filter(pk=self.pk))
        return super().delete(*args, **kwargs)


class FormerText(models.Model):
    """The text of a document as it was before an import changed it, so that the import can be undone."""

    job = models.ForeignKey(Job, models.CASCADE, db_index=False, related_name="former_texts")
    document = models.ForeignKey(Document, models.CASCADE, related_name="former_texts")
    title = models.TextField()
    body = models.TextField()
    url = models.TextField()
    fields = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "document"], name="one_former_text")]


def refuse_ranked(documents: models.QuerySet) -> None:
    """Raises ProtectedError if a ranking names one of the documents. Reads all rankings of their collections."""
    for collection in Collection.objects.filter(documents__in=documents).distinct():
        ids = list(documents.filter(collection=collection).values_list("pk", flat=True))
        for system in collection.systems.all():
            naming = {ranking for ranking in system.rankings.iterator() if np.isin(ranking.documents, ids).any()}
            if naming:
                raise ProtectedError("A ranking names this document. Delete the system's rankings first.", naming)
