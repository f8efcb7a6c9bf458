"""Rows that are written once."""

from django.db import models


class AppendOnlyQuerySet(models.QuerySet):
    def update(self, **kwargs):
        raise TypeError(refusal(self.model, "changed"))

    def delete(self):
        raise TypeError(refusal(self.model, "deleted"))

    def permitted_update(self, **kwargs) -> int:
        """The number of rows, after a change that erases a person: the only kind that is allowed."""
        return super().update(**kwargs)


class AppendOnly(models.Model):
    """Rows that are written once. They change only where a person is erased or an account is deleted."""

    objects = AppendOnlyQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args, **kwargs):
        if self.pk is not None:
            raise TypeError(refusal(type(self), "changed"))
        super().save(*args, **kwargs)

    def delete(self, *args, **kwargs):
        raise TypeError(refusal(type(self), "deleted"))


def refusal(model: type[models.Model], act: str) -> str:
    return f"{str(model._meta.verbose_name_plural).capitalize()} are written once and never {act}."
