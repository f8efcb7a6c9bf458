"""What a worker deletes after IDEALIST_KEEP_DAYS, and what stays."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ratings.importing import retention
from ratings.models import Job
from ratings.models.audit import AuditEvent
from ratings.tests.cast import make_collection

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.mark.both_databases
@pytest.mark.parametrize(("days", "left"), [(730, ["729"]), (0, ["729", "731"]), (1, [])])
def test_events_and_imports_that_wrote_nothing_end_after_the_days_that_are_set(settings, days, left):
    settings.KEEP_DAYS = days
    now, collection = timezone.now(), make_collection()
    for age in (729, 731):
        AuditEvent.objects.create(at=now - age * DAY, act="role", way="page", about=str(age), address="192.0.2.7")
        for state in Job.State.values:
            job = Job.objects.create(collection=collection, kind="queries", state=state, message=str(age))
            Job.objects.filter(pk=job.pk).update(created_at=now - age * DAY)
    retention.forget_old()
    assert sorted(AuditEvent.objects.values_list("about", flat=True)) == left
    wrote_nothing = Job.objects.filter(state__in=["checked", "refused", "cancelled", "failed"])
    assert sorted(set(wrote_nothing.values_list("message", flat=True))) == left
    assert Job.objects.filter(state__in=["queued", "running", "published", "undone"]).count() == 8
