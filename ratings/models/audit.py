"""The audit: what people did to collections and accounts, for those who are responsible.

Ids and names are stored as they were at the time. No row refers to another table, so no deletion takes it along.
"""

from datetime import datetime

from django.db import models

from .append_only import AppendOnly, AppendOnlyQuerySet


class AuditEventQuerySet(AppendOnlyQuerySet):
    def delete_before(self, moment: datetime, most: int) -> int:
        """Delete events of before the moment, `most` at once, and return how many. For `importing.retention`."""
        pks = list(self.filter(at__lt=moment).order_by("at").values_list("pk", flat=True)[:most])
        return self.filter(pk__in=pks)._raw_delete(self.db)

    def forget_actor(self, pseudonym: str) -> int:
        """The number of rows whose actor is replaced by the pseudonym, and whose address and token are removed."""
        return self.permitted_update(name=pseudonym, token="", address="", account=None)

    def forget_subject(self, pseudonym: str) -> int:
        """The number of rows whose subject, a person, is replaced by the pseudonym."""
        return self.permitted_update(about=pseudonym, detail={})


class AuditEvent(AppendOnly):
    """One act. Append-only; written by `ratings.people.audit.note`."""

    class Way(models.TextChoices):
        PAGE = "page", "page"
        TOKEN = "token", "token"
        COMMAND = "command", "command"
        WORKER = "worker", "worker"

    at = models.DateTimeField(db_index=True)
    act = models.CharField(max_length=40)  # of `ratings.people.audit.Act`, where an app can add its own
    way = models.CharField(max_length=7, choices=Way.choices)
    account = models.BigIntegerField(null=True, help_text="The number of the account that did it.")
    name = models.CharField(
        max_length=150, blank=True, help_text="Of that account; of a command, the user of the operating system."
    )
    token = models.CharField(
        max_length=100, blank=True, help_text="The name of the token, or of the command, by which it was done."
    )
    address = models.CharField(max_length=45, blank=True)
    collection = models.BigIntegerField(null=True)
    slug = models.CharField(max_length=80, blank=True, help_text="What the collection was called in addresses.")
    about = models.CharField(max_length=200, blank=True, help_text="What or whom it was done to.")
    detail = models.JSONField(default=dict)

    objects = AuditEventQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["collection", "-id"], name="audit_of_collection"),
            models.Index(fields=["account", "-id"], name="audit_of_account"),
        ]

    def __str__(self) -> str:
        return f"{self.name or 'somebody'}: {self.act} {self.about}".rstrip()
