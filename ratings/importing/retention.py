"""Delete what was kept for IDEALIST_KEEP_DAYS: events of the audit, and imports that wrote nothing."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from ..models import Job
from ..models.audit import AuditEvent

ROWS_AT_ONCE = 5_000  # rows of a table, so that no rater waits for them

State = Job.State


def forget_old() -> None:
    """Delete the oldest rows that are due. Imports that wrote stay: they say where rows come from."""
    if not settings.KEEP_DAYS:
        return
    before = timezone.now() - timedelta(days=settings.KEEP_DAYS)
    AuditEvent.objects.delete_before(before, ROWS_AT_ONCE)
    wrote_nothing = (State.CHECKED, State.REFUSED, State.CANCELLED, State.FAILED)
    due = Job.objects.filter(state__in=wrote_nothing, created_at__lt=before).order_by("pk")
    Job.objects.filter(pk__in=list(due.values_list("pk", flat=True)[:ROWS_AT_ONCE])).delete()
