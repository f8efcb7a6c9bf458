"""Superusers allow hosts on pages, for one purpose, and end that."""

from django.contrib.auth.models import User
from django.db import transaction

from ...models import AllowedHost
from ...people.audit import Act, note


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


@transaction.atomic
def end(allowed: AllowedHost) -> None:
    """Allow the host for its purpose no more. What was fetched from it stays."""
    if allowed.delete()[0]:
        note(Act.HOST_NO_MORE, about=allowed.host, purpose=allowed.purpose)
