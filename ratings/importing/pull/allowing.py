"""Superusers allow hosts on pages, for one purpose, and end that."""

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from ...models import AllowedHost, Collection
from ...people.access import admin_act, superuser_for
from ...people.audit import Act, note

PAGES: dict[str, str] = {  # purpose -> the name of the page on which it is allowed
    AllowedHost.Purpose.PICTURES: "pictures",
    AllowedHost.Purpose.ENGINES: "engines",
    AllowedHost.Purpose.WEBHOOKS: "notices",
}


@transaction.atomic
def allow(host: str, purpose: str, by: User) -> AllowedHost:
    """The host, allowed for the purpose. Raises ValidationError for what is not the name of a public host."""
    allowed = AllowedHost(host=host.strip().lower().rstrip("."), purpose=purpose, allowed_by=by)
    if before := AllowedHost.objects.filter(host=allowed.host, purpose=purpose).first():
        return before
    allowed.full_clean()
    allowed.save()
    note(Act.HOST_ALLOWED, about=allowed.host, purpose=purpose)
    return allowed


def allow_for(request: HttpRequest, host: str, purpose: str) -> AllowedHost | None:
    """The host, allowed for the purpose; None, with a message, if only the operator can. Only superusers may."""
    superuser = superuser_for(request)
    try:
        return allow(host, purpose, superuser)
    except ValidationError:
        messages.error(request, "Only the operator can allow this host, in IDEALIST_PULL_HOSTS.")
        return None


@admin_act
@transaction.atomic
def end_host(request: HttpRequest, collection: Collection, pk: int, purpose: str) -> HttpResponse:
    """Allow a host for this purpose no more, in all collections. What was fetched stays. Only superusers may."""
    superuser_for(request)
    allowed = get_object_or_404(AllowedHost, pk=pk, purpose=purpose)
    number_deleted, _ = allowed.delete()
    if number_deleted:  # else somebody else ended it just now
        note(Act.HOST_NO_MORE, about=allowed.host, purpose=purpose)
    return redirect(PAGES[purpose], collection.slug)
