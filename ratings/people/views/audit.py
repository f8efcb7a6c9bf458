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
from django.utils.timezone import get_current_timezone

from ...formats import spreadsheet
from ...models import AuditEvent
from ...web import downloads
from ..access import superuser_page
from ..audit import Act, as_row

EVENTS_PER_PAGE = 100
ACT_LABELS = dict(Act.choices)
EVENTS_PER_READ = 2_000  # rows read at a time for CSV


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
        """The events that match the valid fields. Days begin and end in the time zone of the reader."""
        sent = self.cleaned_data
        lookups = {"name": sent.get("who"), "act": sent.get("act"), "slug": sent.get("slug")}
        if since := sent.get("since"):
            lookups["at__gte"] = datetime.combine(since, time.min, get_current_timezone())
        if until := sent.get("until"):
            lookups["at__lte"] = datetime.combine(until, time.max, get_current_timezone())
        return events.filter(**{lookup: value for lookup, value in lookups.items() if value})


@superuser_page
def audit(request: HttpRequest, superuser: User) -> HttpResponse:
    """The latest events or, with ?before= and the id of an event, those before it."""
    form = FilterForm(request.GET, auto_id="audit_%s")
    status = 200 if form.is_valid() else 400
    events = form.filtered(AuditEvent.objects.all())
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 18:  # more digits may be too many for an id of 64 bits
        events = events.filter(pk__lt=int(before))
    rows = list(events[: EVENTS_PER_PAGE + 1])  # one more than the page shows tells whether there are older ones
    shown = rows[:EVENTS_PER_PAGE]
    filters = {name: request.GET[name] for name in form.fields if request.GET.get(name)}  # for links
    context = {
        "form": form,
        "events": [(event, ACT_LABELS.get(event.act, event.act)) for event in shown],
        "query": urlencode(filters),
        "older": urlencode(filters | {"before": shown[-1].pk}) if len(rows) > len(shown) else "",
        "newest": not before,
    }
    return render(request, "ratings/audit.html", context, status=status)


@superuser_page
@downloads.made_in_turn
def audit_csv(request: HttpRequest, superuser: User) -> FileResponse:
    """All events that match the filters in the address, the oldest first."""
    form = FilterForm(request.GET)
    form.is_valid()
    events = form.filtered(AuditEvent.objects.all()).order_by("pk").iterator(chunk_size=EVENTS_PER_READ)
    return downloads.sent(downloads.whole_file(spreadsheet.download(table(events))), "audit.csv")


def table(events: Iterable[AuditEvent]) -> Iterator[list]:
    """The names of the columns, and a row for each event. Its details are one cell of JSON."""
    yield list(as_row(AuditEvent(at=datetime.now(UTC))))
    for event in events:
        row = as_row(event)
        yield [*(row | {"detail": json.dumps(event.detail, ensure_ascii=False)}).values()]
