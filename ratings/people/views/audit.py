"""The page of the audit, for superusers: who changed what, where and when, with filters, and as CSV."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time
from urllib.parse import urlencode

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ...formats import spreadsheet
from ...models import AuditEvent
from ...web import downloads
from ..access import of_superusers
from ..audit import Act, as_row

AT_ONCE = 100
LABELS = dict(Act.choices)
IN_PIECES = 2_000  # rows read at a time for CSV


class FilterForm(forms.Form):
    who = forms.CharField(label="Who", required=False, max_length=150, help_text="The name of an account.")
    act = forms.ChoiceField(label="What", required=False, choices=[("", "everything"), *Act.choices])
    slug = forms.CharField(
        label="Collection",
        required=False,
        max_length=80,
        help_text="Its short name, as in addresses at that time.",
    )
    since = forms.DateField(label="From", required=False, widget=forms.DateInput({"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput({"type": "date"}))

    def filtered(self, events: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        """The events that match the valid fields. Days begin and end in UTC."""
        sent = self.cleaned_data
        for lookup, value in (("name", sent.get("who")), ("act", sent.get("act")), ("slug", sent.get("slug"))):
            events = events.filter(**{lookup: value}) if value else events
        if since := sent.get("since"):
            events = events.filter(at__gte=datetime.combine(since, time.min, UTC))
        if until := sent.get("until"):
            events = events.filter(at__lte=datetime.combine(until, time.max, UTC))
        return events


@require_safe
@of_superusers
def audit(request: HttpRequest, superuser: User) -> HttpResponse:
    """The latest events, or those before the event in the address."""
    form = FilterForm(request.GET, auto_id="audit_%s")
    status = 200 if form.is_valid() else 400
    found = form.filtered(AuditEvent.objects.all())
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 18:
        found = found.filter(pk__lt=int(before))
    rows = list(found[: AT_ONCE + 1])
    kept = {name: request.GET[name] for name in form.fields if request.GET.get(name)}
    context = {
        "form": form,
        "events": [(event, LABELS.get(event.act, event.act)) for event in rows[:AT_ONCE]],
        "query": urlencode(kept),
        "older": urlencode(kept | {"before": rows[AT_ONCE - 1].pk}) if len(rows) > AT_ONCE else "",
        "newest": not before,
    }
    return render(request, "ratings/audit.html", context, status=status)


@require_safe
@of_superusers
@downloads.made_in_turn
def audit_csv(request: HttpRequest, superuser: User) -> FileResponse:
    """All events that match the filters in the address, the oldest first."""
    form = FilterForm(request.GET)
    form.is_valid()
    found = form.filtered(AuditEvent.objects.all()).order_by("pk").iterator(chunk_size=IN_PIECES)
    return downloads.sent(downloads.whole(spreadsheet.download(table(found))), "audit.csv")


def table(events: Iterable[AuditEvent]) -> Iterator[list]:
    """The names of the columns, and a row for each event. Its details are one cell of JSON."""
    yield list(as_row(AuditEvent(at=datetime.now(UTC))))
    for event in events:
        row = as_row(event)
        yield [*(row | {"detail": json.dumps(event.detail, ensure_ascii=False)}).values()]
