"""Delete a system. Its page is in `evaluation`."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from ...models import Collection, System
from ...people.access import record_act
from ...people.audit import Act, note


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
