"""Rows that are written once."""

from django.db import models


class AppendOnlyQuerySet(models.QuerySet):
    def update(self, **kwargs):
        raise TypeError(change_refused(self.model))

    def delete(self):
        raise TypeError(deletion_refused(self.model))

    def permitted_update(self, **kwargs) -> int:
        """The number of rows, after a change that erases a person: the only kind that is allowed."""
        return super().update(**kwargs)


class AppendOnly(models.Model):
    """Rows that are written once."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args, **kwargs):
        if self.pk is not None:
            raise TypeError(change_refused(type(self)))
        super().save(*args, **kwargs)

    def delete(self, *args, **kwargs):
        raise TypeError(deletion_refused(type(self)))


def change_refused(model: type[models.Model]) -> str:
    return f"{str(model._meta.verbose_name_plural).capitalize()} are written once and never changed."


def deletion_refused(model: type[models.Model]) -> str:
    return f"{str(model._meta.verbose_name_plural).capitalize()} are written once and never deleted."
