"""Roles by the groups of the provider: granted at each sign-in, and revoked when the person has left the group.

Roles that were granted by hand are not changed. A superuser gets no role of a rater.
"""

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from ...models import Collection, Membership, Role, SuperuserByGroup
from .. import members
from ..audit import Act, note


def apply(user: User, groups: frozenset[str]) -> None:
    """Grant the roles of the person's groups, and revoke those of former groups. Call it in a transaction."""
    get_user_model().objects.select_for_update().get(pk=user.pk)  # simultaneous sign-ins take turns
    # (slug of a collection, role) of each; a superuser's is ("", "superuser").
    grants = [grant for group in groups for grant in settings.GROUP_ROLES.get(group, ())]
    apply_superuser(user, ("", "superuser") in grants)
    granted = [(slug, role) for slug, role in grants if slug]
    if user.is_superuser:  # who sees all results, and so must not rate
        granted = [(slug, role) for slug, role in granted if role != Role.RATER]
    apply_memberships(user, granted)


def apply_superuser(user: User, in_group: bool) -> None:
    """Make the account a superuser's if it is in a group of superusers, and else take back what a group gave.

    A right that was given by hand stays: a row of SuperuserByGroup tells that a group gave the right.
    """
    if in_group == user.is_superuser:
        return
    if in_group:
        SuperuserByGroup.objects.get_or_create(user=user)
        members.give_back_all(user)  # the pairs that they hold: a superuser must not rate
    else:
        deleted, _ = SuperuserByGroup.objects.filter(user=user).delete()
        if not deleted:  # the right was given by hand
            return
    user.is_superuser = in_group
    user.save(update_fields=["is_superuser"])
    note(Act.SUPERUSER if in_group else Act.SUPERUSER_NO_MORE, about=user, by=user, by_group=True)


def apply_memberships(user: User, granted: list[tuple[str, str]]) -> None:
    """Give the account these roles, and take back those of former groups. Roles given by hand stay.

    `granted`: pairs of slug and role. Of several roles in one collection the highest counts.
    """
    # `Role` lists the roles by rank, so the highest role of a collection comes last and replaces the others.
    role_by_slug = dict(sorted(granted, key=lambda grant: Role.values.index(grant[1])))
    # By id. The loop takes out those in which the account is a member, so that the new ones are left.
    new_collections = Collection.objects.filter(slug__in=role_by_slug).in_bulk()
    for membership in Membership.objects.filter(user=user):
        # None: no group of the person has a role in the collection of this membership.
        collection = new_collections.pop(membership.collection_id, None)
        if not membership.by_group:  # given by hand
            continue
        if collection is None:
            members.remove(membership, by_group=True)
        elif membership.role != role_by_slug[collection.slug]:
            members.set_role(membership, role_by_slug[collection.slug], by_group=True)
    for collection in new_collections.values():
        members.add(collection, user, role_by_slug[collection.slug], by_group=True)
