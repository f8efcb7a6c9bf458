"""API tokens, and receipts: the answers to batches with an idempotency key."""

from django.conf import settings
from django.db import models

from .collection import Collection, Role


class Scope(models.TextChoices):
    """What a token permits. At each call the role of its owner must permit the same."""

    READ = "read", "read: results, judgments and the record behind them"
    IMPORT = "import", "import: queries, documents, rankings and ratings"
    RATE = "rate", "rate: in your name, as at the desk"
    MANAGE = "manage", "manage: make new collections"


SCOPES_OF = {
    Role.RATER: (Scope.RATE,),
    Role.ANALYST: (Scope.READ,),
    Role.ADMIN: (Scope.READ, Scope.IMPORT),
}


class ApiToken(models.Model):
    """A key for programs. Only its hash is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    # None: all collections, for superusers; only such a token can make new ones.
    collection = models.ForeignKey(Collection, models.CASCADE, null=True, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="What it is for.")
    key_hash = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.name


class Receipt(models.Model):
    """The answer to a batch with an idempotency key: the same batch again gets the same answer."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    collection = models.ForeignKey(Collection, models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, help_text="SHA-256 of what was sent, and where to.")
    answer = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "collection", "key"], name="one_receipt_per_key")]
