"""Roles by the groups of the provider: granted at each sign-in, and revoked when the person has left the group.

Roles that were granted by hand are not changed. A superuser gets no role of a rater.
"""

import logging

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from ...models import Collection, Membership, Role, SuperuserByGroup
from .. import members
from ..audit import Act, note

log = logging.getLogger(__name__)

RANKS = [Role.RATER, Role.ANALYST, Role.ADMIN]  # of two roles in one collection the later one counts


def apply(user: User, groups: frozenset[str]) -> None:
    """Grant the roles of the person's groups, and revoke those of former groups. Call it in a transaction."""
    get_user_model().objects.select_for_update().get(pk=user.pk)  # simultaneous sign-ins take turns
    roles = [role for group in groups for role in settings.GROUP_ROLES.get(group, ())]
    apply_superuser(user, ("", "superuser") in roles)
    granted = [(slug, role) for slug, role in roles if slug]
    if user.is_superuser and any(role == Role.RATER for _, role in granted):
        log.warning("By a group of the provider: %s", members.SuperuserCannotRate(user))
        granted = [(slug, role) for slug, role in granted if role != Role.RATER]
    apply_memberships(user, granted)


def apply_superuser(user: User, wanted: bool) -> None:
    by_group = SuperuserByGroup.objects.filter(user=user)
    if wanted and not user.is_superuser:
        SuperuserByGroup.objects.get_or_create(user=user)
    elif wanted or not by_group.delete()[0]:
        return
    user.is_superuser = wanted
    user.save(update_fields=["is_superuser"])
    if wanted:
        members.give_back_all(user)
    note(Act.SUPERUSER if wanted else Act.SUPERUSER_NO_MORE, about=user, by=user, by_group=True)


def apply_memberships(user: User, granted: list[tuple[str, str]]) -> None:
    granted.sort(key=lambda each: RANKS.index(each[1]))
    roles = dict(granted)
    collections = {each.pk: each for each in Collection.objects.filter(slug__in=roles)}
    for membership in Membership.objects.filter(user=user):
        collection = collections.pop(membership.collection_id, None)
        if not membership.by_group:
            continue
        if collection is None:
            members.remove(membership, by_group=True)
        elif membership.role != roles[collection.slug]:
            members.set_role(membership, roles[collection.slug], by_group=True)
    for collection in collections.values():
        members.add(collection, user, roles[collection.slug], by_group=True)
