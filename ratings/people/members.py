"""The members of a collection: invitations, roles, raters and their terms.

Nobody is deleted here. The ratings of a rater stay, whatever becomes of their role.
"""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.translation import gettext

from ..models import Collection, Invitation, Membership, Rater, RatingEvent, Role
from ..web import limits
from . import sessions
from .audit import Act, note
from .names import shown
from .tokens import KEY_BYTES, hash_of

UNUSED = Q(accepted_at=None, withdrawn_at=None)  # of invitations, expired ones among them
INVITATIONS_A_DAY = 500  # invitations by one account: a mail server is no relay for whoever becomes an admin
# What else ends when a rater stops; the desk adds its part.
at_stop_of_rater: list[Callable[[Rater], object]] = []
# What else the page of a rater shows; the pool adds their work.
rater_page_contexts: list[Callable[[Rater], dict]] = []


class Gone(Exception):
    """The invitation is accepted, withdrawn or expired."""


class MemberAlready(Exception):
    """The account is already a member. An invitation does not change the role of a member."""


class NameTaken(Exception):
    """There is an account of this name."""


class SuperuserCannotRate(Exception):
    """The account is a superuser's: admin of every collection, so its owner sees results."""

    def __init__(self, user: User) -> None:
        message = gettext(
            "%(name)s is a superuser, who sees the results of every collection, and raters must not. "
            "Rate with another account."
        )
        super().__init__(message % {"name": user.get_username()})


class LastAdmin(Exception):
    """The collection has no other admin."""


# Invitations


@transaction.atomic
def invite(
    collection: Collection,
    names: Iterable[str],
    *,
    role: str,
    days: int,
    by: User | None,
    language: str = settings.LANGUAGE_CODE,
) -> list[tuple[Invitation, str]]:
    """One invitation for each name, with its key. Only the hash of the key is stored.

    `days`: how long the invitations are open. `by`: the account that invites; None: no account, and no limit.
    Raises limits.Reached for more than INVITATIONS_A_DAY by one account, and then makes none.
    """
    now = timezone.now()
    names = list(names)
    if by:
        # The account is locked, so that of two lists sent at once the second counts both.
        get_user_model().objects.select_for_update().get(pk=by.pk)
        invitations_of_account = Invitation.objects.filter(created_by=by)
        limits.refuse_above(INVITATIONS_A_DAY, "invitations", invitations_of_account, more=len(names))
    keys = [secrets.token_urlsafe(KEY_BYTES) for _ in names]
    invitations = [
        Invitation(
            collection=collection,
            name=name,
            role=role,
            language=language,
            key_hash=hash_of(key),
            created_by=by,
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        for name, key in zip(names, keys, strict=True)
    ]
    Invitation.objects.bulk_create(invitations)
    for name in names:
        note(Act.INVITED, collection, about=name, role=role)
    return list(zip(invitations, keys, strict=True))


def invitation_of(key: str) -> Invitation | None:
    """The invitation with this key; None if there is none or its collection is deleted."""
    visible = Invitation.objects.filter(collection__slug__isnull=False)
    return visible.select_related("collection", "created_by").filter(key_hash=hash_of(key)).first()


def is_open(invitation: Invitation) -> bool:
    return state_of(invitation) == "open"


def state_of(invitation: Invitation) -> str:
    """The state: open, accepted, withdrawn or expired."""
    if invitation.accepted_at:
        return "accepted"
    if invitation.withdrawn_at:
        return "withdrawn"
    return "open" if timezone.now() < invitation.expires_at else "expired"


@transaction.atomic
def withdraw(invitation: Invitation) -> None:
    """Withdraw the invitation. Raises Gone if it is accepted or withdrawn."""
    unused = Invitation.objects.filter(UNUSED, pk=invitation.pk)
    if not unused.update(withdrawn_at=timezone.now()):
        raise Gone
    note(Act.INVITATION_WITHDRAWN, invitation.collection, about=invitation.name)


@transaction.atomic
def accept(invitation: Invitation, user: User) -> Membership:
    """Make `user` a member, with the role of the invitation, and return the new membership.

    Raises Gone if the invitation is not open. Raises MemberAlready or SuperuserCannotRate, and then leaves the
    invitation unused.
    """
    _refuse_superuser(user, invitation.role)
    if Membership.objects.filter(collection=invitation.collection_id, user=user).exists():
        raise MemberAlready
    if not _use_up(invitation, user, timezone.now()):
        raise Gone
    try:
        with transaction.atomic():
            membership = _add_membership(invitation.collection, user, invitation.role)
    except IntegrityError as error:  # the person accepted another invitation at the same time
        raise MemberAlready from error
    note(Act.JOINED, invitation.collection, about=user, by=user, role=invitation.role)
    return membership


def _use_up(invitation: Invitation, user: User, now: datetime) -> bool:
    """Mark the invitation as accepted, and return whether it was open. Of two people with one link one accepts."""
    unused = Invitation.objects.filter(UNUSED, pk=invitation.pk, expires_at__gt=now)
    return unused.update(accepted_by=user, accepted_at=now) == 1


def add(collection: Collection, user: User, role: str, *, by_group: bool = False) -> None:
    """Make the account a member. Raises IntegrityError if it is one already, and SuperuserCannotRate."""
    _refuse_superuser(user, role)
    _add_membership(collection, user, role, by_group)
    note(Act.MEMBER_ADDED, collection, about=user, role=role, **_actor(user, by_group))


def _add_membership(collection: Collection, user: User, role: str, by_group: bool = False) -> Membership:
    membership = Membership.objects.create(collection=collection, user=user, role=role, by_group=by_group)
    # A former rater who comes again is active again.
    Rater.objects.filter(collection=collection, user=user).update(active=True)
    return membership


@transaction.atomic
def sign_up(invitation: Invitation, username: str, password: str, *, name: str = "") -> User:
    """Make an account that accepts the invitation, and return it. Raises NameTaken and Gone, and then makes none.

    `name`: the person's whole name. It goes into Django's field for first names: not every name has two parts.
    """
    # Nobody else sees a mailed link, so whoever uses it owns the address, which is the invitation's name.
    address = invitation.name if invitation.mailed else ""
    try:
        with transaction.atomic():
            user = get_user_model().objects.create_user(username, address, password, first_name=name)
    except IntegrityError as error:
        raise NameTaken from error
    accept(invitation, user)
    return user


# Roles


@transaction.atomic
def give_role(collection: Collection, user: User, role: str) -> None:
    """Give the account this role in the collection, whether or not it is a member already.

    Raises LastAdmin and SuperuserCannotRate.
    """
    membership = Membership.objects.filter(collection=collection, user=user).first()
    if membership is None:
        add(collection, user, role)
    elif membership.role != role or membership.by_group:
        set_role(membership, role)


@transaction.atomic
def set_role(membership: Membership, role: str, *, by_group: bool = False) -> None:
    """Change the role of a member. A role set by hand is no longer changed by the groups of a provider.

    `by_group`: whether such a group gives the role, at a sign-in of the member. Raises LastAdmin and
    SuperuserCannotRate, and Membership.DoesNotExist for a removed member.
    """
    membership = _lock_to_change(membership, role, by_group)
    _refuse_superuser(membership.user, role)
    former_role = membership.role
    membership.role = role
    membership.by_group = by_group
    membership.save()
    if role != Role.RATER:
        _give_back_pairs(membership)
    actor = _actor(membership.user, by_group)
    note(Act.ROLE, membership.collection, about=membership.user, role=role, before=former_role, **actor)


@transaction.atomic
def remove(membership: Membership, *, by_group: bool = False) -> None:
    """End the membership. Raises LastAdmin, and Membership.DoesNotExist for a removed member."""
    membership = _lock_to_change(membership, None, by_group)
    _give_back_pairs(membership)
    membership.delete()
    actor = _actor(membership.user, by_group)
    note(Act.MEMBER_REMOVED, membership.collection, about=membership.user, role=membership.role, **actor)


def _refuse_superuser(user: User, role: str) -> None:
    if role == Role.RATER and user.is_superuser:
        raise SuperuserCannotRate(user)


def give_back_all(user: User) -> None:
    """Give others what the person holds in all collections: their account is closed, or became a superuser's."""
    for rater in Rater.objects.filter(user=user).order_by("pk"):
        stop(rater)


def _actor(user: User, by_group: bool) -> dict:
    """The actor for the audit: if the groups of a provider decide, the person who signs in."""
    return {"by": user, "by_group": True} if by_group else {}


def roles_of(user: User) -> set[str]:
    """The person's roles in all collections. Superusers have only the role "superuser"."""
    if user.is_superuser:
        return {"superuser"}
    return set(Membership.objects.filter(user=user).values_list("role", flat=True))


def _lock_to_change(membership: Membership, new_role: str | None, by_group: bool) -> Membership:
    """Lock the membership and return it as it is stored now. `new_role`: None if it is about to end.

    Raises LastAdmin if the change would leave the collection without an admin. A group of the provider
    (`by_group`) may do that, since superusers remain, who are admins everywhere. Raises Membership.DoesNotExist
    for a removed member.
    """
    # All admins are locked, and in one order: if two remove each other, the second waits and sees the change.
    admins = Membership.objects.filter(collection=membership.collection_id, role=Role.ADMIN)
    is_only_admin = [admin.pk for admin in admins.select_for_update().order_by("pk")] == [membership.pk]
    if is_only_admin and new_role != Role.ADMIN and not by_group:
        raise LastAdmin
    return Membership.objects.select_for_update().get(pk=membership.pk)


def _give_back_pairs(membership: Membership) -> None:
    rater = Rater.objects.filter(collection=membership.collection_id, user=membership.user_id).first()
    if rater:
        stop(rater)


def may_set_password(by: User, membership: Membership) -> bool:
    """Whether the admin `by` may make a link by which the member sets a new password.

    Whoever has the link has the account, so the account must open nothing that the admin may not open anyway.
    """
    user = membership.user
    # If a provider knows the account, it alone decides who signs in.
    if not user.is_active or user.is_superuser or SocialAccount.objects.filter(user=user).exists():
        return False
    if user.user_permissions.exists() or user.groups.exists():  # such as the right to make collections
        return False
    # The account must be a member of no collection in which `by` is not admin: the new password would open its
    # documents, even to a rater. A superuser is admin of every collection.
    administered = Membership.objects.filter(user=by, role=Role.ADMIN).values("collection")
    memberships_elsewhere = Membership.objects.filter(user=user).exclude(collection__in=administered)
    return by.is_superuser or not memberships_elsewhere.exists()


# Raters


def stop(rater: Rater) -> None:
    """Give others what the rater holds, and lock the rater until the transaction ends."""
    for end in at_stop_of_rater:
        end(rater)


@transaction.atomic
def deactivate(rater: Rater) -> None:
    """Give the rater no more pairs, and take back what they hold. Their ratings stay and count.

    Ends all sessions of a member.
    """
    Rater.objects.filter(pk=rater.pk).update(active=False)
    stop(rater)
    note(Act.DEACTIVATED, rater.collection, about=rater)
    if Membership.objects.filter(collection=rater.collection_id, user=rater.user_id).exists():
        sessions.end_all(rater.user)


@transaction.atomic
def reactivate(rater: Rater) -> None:
    Rater.objects.filter(pk=rater.pk).update(active=True)
    note(Act.REACTIVATED, rater.collection, about=rater)


@transaction.atomic
def change_terms(rater: Rater, **changed: Any) -> None:
    """Set the terms that `changed` names; terms that it does not name stay.

    "limit": how many grades the rater gives at most; None: no limit. "weight": of these grades in a weighted mean.
    "queries": those whose pairs the rater gets; an empty list: all.
    """
    limit, weight = changed.get("limit", rater.limit), changed.get("weight", rater.weight)
    # Compared with the stored weight: `rater` may have been read before another change.
    weight_changes = Rater.objects.filter(pk=rater.pk).exclude(weight=weight).exists()
    Rater.objects.filter(pk=rater.pk).update(limit=limit, weight=weight)
    if "queries" in changed:
        rater.queries.set(changed["queries"])
    queries = rater.queries.count()
    note(Act.TERMS, rater.collection, about=rater, limit=limit, weight=str(weight), queries=queries)
    if weight_changes:
        rater.collection.touch()  # judgments by the weighted mean change


# The list of people


@dataclass(frozen=True)
class Person:
    """A member, or a rater who is no member: imported, or a former member."""

    name: str
    membership: Membership | None
    rater: Rater | None
    ratings: int = 0  # how many pairs they rated; 0 until `with_work` counts them
    last_act: datetime | None = None  # likewise

    @property
    def role(self) -> str:
        if self.membership:
            return self.membership.role
        return "" if self.rater.kind == Rater.Kind.PERSON else self.rater.kind

    @property
    def state(self) -> str:
        """Whether the person takes part, in a word or two; "" for an imported rater."""
        if self.rater and self.rater.left_out_at:
            return "left out"
        if self.membership is None:
            return "no member" if self.rater and self.rater.kind == Rater.Kind.PERSON else ""
        if not self.membership.user.is_active:
            return "account closed"
        if self.membership.role != Role.RATER:
            return "active"
        if self.membership.user.is_superuser:
            return "superuser: cannot rate"
        return "active" if self.rater and self.rater.active else "not active"


def everybody(collection: Collection) -> list[Person]:
    """The members by role and name, then raters who are no members. Three queries."""
    members = list(collection.memberships.select_related("user"))
    raters = list(collection.raters.all())
    rater_by_account = {rater.user_id: rater for rater in raters if rater.user_id}
    accounts = {member.user_id for member in members}
    roles = list(reversed(Role.values))  # admins first
    members.sort(key=lambda member: (roles.index(member.role), shown(member.user).casefold()))
    people = [Person(shown(member.user), member, rater_by_account.get(member.user_id)) for member in members]
    strangers = [rater for rater in raters if rater.user_id not in accounts]
    return people + [Person(rater.name, membership=None, rater=rater) for rater in strangers]


def with_work(people: Sequence[Person]) -> list[Person]:
    """The same people with the number of their ratings and the time of their last act. One query."""
    acts = RatingEvent.objects.of_work().filter(rater=OuterRef("pk")).order_by("-pk")
    last_act = Subquery(acts.values("created_at")[:1])
    raters = Rater.objects.annotate(number_of_ratings=Count("ratings"), last_act=last_act)
    rater_by_pk = raters.in_bulk([person.rater.pk for person in people if person.rater])
    work_by_pk = {
        pk: {"ratings": rater.number_of_ratings, "last_act": rater.last_act} for pk, rater in rater_by_pk.items()
    }
    return [replace(person, **work_by_pk[person.rater.pk]) if person.rater else person for person in people]
