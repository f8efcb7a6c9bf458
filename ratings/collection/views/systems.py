"""Delete a system, or make it a baseline. Its page is in `evaluation`."""

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from ...models import Baseline, Collection, System
from ...people.access import record_act
from ...people.audit import Act, note


class BaselineForm(forms.ModelForm):
    class Meta:
        model = Baseline
        fields = ["kind", "reason"]


@record_act
@transaction.atomic
def make_baseline(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Make the system the fixed baseline or the last release: of each kind the last row counts."""
    system = get_object_or_404(System, pk=pk, collection=collection)
    new_baseline = Baseline(collection=collection, system=system, name=system.name)
    form = BaselineForm(request.POST, instance=new_baseline)
    if form.is_valid():
        baseline = form.save()
        note(Act.BASELINE, collection, about=system, kind=baseline.kind)
        messages.success(request, f"{system} is {baseline.get_kind_display()} now. The gate compares with it.")
    else:
        messages.error(request, "Choose which baseline it becomes, and give a reason.")
    return redirect("system", collection.slug, pk)


@record_act
@transaction.atomic
def delete_system(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Delete the system with its rankings. Documents, ratings and frozen evaluations stay."""
    system = get_object_or_404(System, pk=pk, collection=collection)
    system.delete()
    note(Act.SYSTEM_DELETED, collection, about=system)
    collection.touch()
    messages.success(request, f"The system {system} is deleted.")
    return redirect("overview", collection.slug)
