"""Accounts, as superusers change them: who can sign in, who is a superuser, who may make collections."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission, User
from django.db import transaction

from ..models import SuperuserByGroup
from ..web import settings_forms
from . import members, sessions
from .audit import Act, note

# The columns of User that `change` sets.
USER_FIELDS = ("email", "is_active", "is_superuser")


class LastSuperuser(Exception):
    """No other superuser can sign in."""


def settings_of(user: User) -> dict:
    """The arguments of `change` with their present values: USER_FIELDS, and whether they may make collections."""
    stored = {name: getattr(user, name) for name in USER_FIELDS}
    return stored | {"may_make": user.user_permissions.filter(pk=right_to_make().pk).exists()}


def lock(user: User) -> None:
    """Lock the account, and before it all superusers: if two take the right from each other, one waits."""
    superusers = get_user_model().objects.filter(is_superuser=True).order_by("pk")
    list(superusers.select_for_update().values_list("pk"))
    settings_forms.lock(user)


@transaction.atomic
def change(user: User, **wanted) -> None:
    """Change the mail address and the rights of an account. Lock it first. Raises LastSuperuser.

    `wanted` has a value for each name in `settings_of`. Whoever can no longer sign in is signed out. Whoever can
    no longer rate, as superusers cannot, gives back the pairs that are leased to them. The right of a superuser
    that is given or taken here no longer counts as given by a group of the provider.
    """
    before = settings_of(user)
    changed = {name: value for name, value in wanted.items() if before[name] != value}
    for name in USER_FIELDS:
        setattr(user, name, wanted[name])
    other_superusers = get_user_model().objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    # Only superusers change accounts. If there is no other one, `user` is the last, who changes their own account:
    # any new value of these two would end the right or close the account.
    if changed.keys() & {"is_superuser", "is_active"} and not other_superusers.exists():
        raise LastSuperuser
    user.save(update_fields=USER_FIELDS)
    if "may_make" in changed and wanted["may_make"]:
        user.user_permissions.add(right_to_make())
    elif "may_make" in changed:
        user.user_permissions.remove(right_to_make())
    if "is_superuser" in changed:
        SuperuserByGroup.objects.filter(user=user).delete()
    _note_change(user, changed)
    if user.is_superuser or not user.is_active:
        members.give_back_all(user)
    if not user.is_active:
        sessions.end_all(user)


def _note_change(user: User, changed: dict) -> None:
    """Write the audit events of changed settings: one for the right of a superuser, one for all others."""
    if "is_superuser" in changed:
        note(Act.SUPERUSER if user.is_superuser else Act.SUPERUSER_NO_MORE, about=user)
    others = {name: value for name, value in changed.items() if name != "is_superuser"}
    if "email" in others:
        others["email"] = True  # only that it changed, because the audit has no text that people wrote
    if others:
        note(Act.ACCOUNT, about=user, **others)


def right_to_make() -> Permission:
    return Permission.objects.get(content_type__app_label="ratings", codename="add_collection")
