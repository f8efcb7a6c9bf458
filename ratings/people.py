"""Who takes part in a collection: invite, join, change a role, stop and go on, and what each rater may rate.

Nobody is deleted here. A rater keeps what they rated, whatever becomes of their role.
"""

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from . import queue
from .models import Collection, Invitation, Membership, Query, Rater, Rating, RatingEvent, Role

KEY_BYTES = 32
OPEN = Q(accepted_at=None, withdrawn_at=None)  # unless its time is over


class Gone(Exception):
    """The invitation was used or withdrawn, or its time is over."""


class MemberAlready(Exception):
    """The account has a role in the collection, which an invitation does not change."""


class NameTaken(Exception):
    """Somebody else has an account of this name."""


class LastAdmin(Exception):
    """Without this admin nobody could look after the collection."""


# Invitations


def invite(
    collection: Collection,
    names: Iterable[str],
    *,
    role: str,
    days: int,
    by: AbstractBaseUser | None,
    now: datetime | None = None,
) -> list[tuple[Invitation, str]]:
    """One invitation for each name, with its key. The key is known now and never again: only its hash is kept."""
    now = now or timezone.now()
    made = []
    for name in names:
        key = secrets.token_urlsafe(KEY_BYTES)
        invitation = Invitation(
            collection=collection,
            role=role,
            name=name,
            key_hash=hash_of(key),
            created_by=by,
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        made.append((invitation, key))
    Invitation.objects.bulk_create([invitation for invitation, _ in made])
    return made


def hash_of(key: str) -> str:
    """No salt and no slow hash: a key is 32 random bytes, not a word that somebody could guess."""
    return hashlib.sha256(key.encode()).hexdigest()


def invitation_of(key: str) -> Invitation | None:
    return Invitation.objects.select_related("collection", "created_by").filter(key_hash=hash_of(key)).first()


def is_open(invitation: Invitation, *, now: datetime | None = None) -> bool:
    return state_of(invitation, now=now) == "open"


def state_of(invitation: Invitation, *, now: datetime | None = None) -> str:
    """open, accepted, withdrawn or expired."""
    if invitation.accepted_at:
        return "accepted"
    if invitation.withdrawn_at:
        return "withdrawn"
    return "open" if (now or timezone.now()) < invitation.expires_at else "expired"


def withdraw(invitation: Invitation, *, now: datetime | None = None) -> None:
    """Raises Gone for one that was accepted or withdrawn meanwhile."""
    unused = Invitation.objects.filter(OPEN, pk=invitation.pk)
    if not unused.update(withdrawn_at=now or timezone.now()):
        raise Gone


@transaction.atomic
def accept(invitation: Invitation, user: AbstractBaseUser, *, now: datetime | None = None) -> Membership:
    """Make `user` a member, and the invitation used. Raises Gone, or MemberAlready and leaves it unused."""
    if Membership.objects.filter(collection=invitation.collection_id, user=user).exists():
        raise MemberAlready
    if not _taken(invitation, user, now or timezone.now()):
        raise Gone
    try:
        with transaction.atomic():
            membership = Membership.objects.create(
                collection=invitation.collection, user=user, role=invitation.role
            )
    except IntegrityError as error:  # by another invitation, at the same moment
        raise MemberAlready from error
    # Who was a rater before and is invited again shall find work again.
    Rater.objects.filter(collection=invitation.collection_id, user=user).update(active=True)
    if invitation.role == Role.ADMIN:
        settle_staff(user)
    return membership


@transaction.atomic
def sign_up(
    invitation: Invitation, username: str, password: str, *, now: datetime | None = None
) -> AbstractBaseUser:
    """Make an account and accept with it: both or neither. Raises NameTaken and Gone."""
    try:
        with transaction.atomic():
            user = get_user_model().objects.create_user(username, password=password)
    except IntegrityError as error:
        raise NameTaken from error
    accept(invitation, user, now=now)
    return user


def _taken(invitation: Invitation, user: AbstractBaseUser, now: datetime) -> bool:
    """Use the invitation up. The update itself looks whether it is open: of two who hold one link, one gets it."""
    unused = Invitation.objects.filter(OPEN, pk=invitation.pk, expires_at__gt=now)
    return unused.update(accepted_by=user, accepted_at=now) == 1


# Roles


@transaction.atomic
def set_role(membership: Membership, role: str) -> None:
    """Raises LastAdmin, and Membership.DoesNotExist for one that was removed meanwhile."""
    membership = _locked(membership, role)
    earlier, membership.role = membership.role, role
    membership.save()
    if role != Role.RATER:
        _give_back(membership)
    if Role.ADMIN in (earlier, role):
        settle_staff(membership.user)


@transaction.atomic
def remove(membership: Membership) -> None:
    """Take the person's access away. Raises LastAdmin, and Membership.DoesNotExist for one removed meanwhile."""
    membership = _locked(membership, None)
    _give_back(membership)
    membership.delete()
    if membership.role == Role.ADMIN:
        settle_staff(membership.user)


def settle_staff(user: AbstractBaseUser) -> None:
    """Who is admin of a collection, and nobody else, reads the record in Django's admin."""
    staff = user.is_superuser or Membership.objects.filter(user=user, role=Role.ADMIN).exists()
    if user.is_staff != staff:
        user.is_staff = staff
        user.save(update_fields=["is_staff"])


def _locked(membership: Membership, role: str | None) -> Membership:
    # All admins, in one order: of two who take each other's role away, the second sees what the first has done.
    admins = Membership.objects.filter(collection=membership.collection_id, role=Role.ADMIN)
    only = [admin.pk for admin in admins.select_for_update().order_by("pk")] == [membership.pk]
    if only and role != Role.ADMIN:
        raise LastAdmin
    return Membership.objects.select_for_update().get(pk=membership.pk)


def _give_back(membership: Membership) -> None:
    rater = Rater.objects.filter(collection=membership.collection_id, user=membership.user_id).first()
    if rater:
        queue.stop(rater)


# Raters


@transaction.atomic
def deactivate(rater: Rater) -> None:
    """They get nothing more to rate, and what they held goes to others. What they rated stays and counts."""
    Rater.objects.filter(pk=rater.pk).update(active=False)
    queue.stop(rater)


def reactivate(rater: Rater) -> None:
    Rater.objects.filter(pk=rater.pk).update(active=True)


@transaction.atomic
def set_terms(rater: Rater, *, limit: int | None, weight: Decimal, queries: Sequence[Query]) -> None:
    """How much they may rate, which queries (none: all), and how heavy their grades are."""
    weighed = Rater.objects.filter(pk=rater.pk).exclude(weight=weight).exists()
    Rater.objects.filter(pk=rater.pk).update(limit=limit, weight=weight)
    rater.queries.set(queries)
    if weighed:
        rater.collection.touch()  # judgments by the weighted mean are others now


# What the list of people shows


@dataclass(frozen=True)
class Person:
    """A member, or a rater who is none: imported, a machine, or no longer a member."""

    name: str
    membership: Membership | None
    rater: Rater | None
    ratings: int = 0
    last_act: datetime | None = None

    @property
    def role(self) -> str:
        if self.membership:
            return self.membership.role
        return "" if self.rater.kind == Rater.Kind.PERSON else self.rater.kind

    @property
    def state(self) -> str:
        if self.membership and not self.membership.user.is_active:
            return "account closed"
        if self.membership and self.membership.role != Role.RATER:
            return "active"
        if self.membership and self.rater:
            return "active" if self.rater.active else "not active"
        return "no member" if self.rater and self.rater.kind == Rater.Kind.PERSON else ""


def everybody(collection: Collection) -> list[Person]:
    """Members by role and name, then raters who are no members. Three queries."""
    members = list(collection.memberships.select_related("user"))
    raters = list(collection.raters.all())
    of_account = {rater.user_id: rater for rater in raters if rater.user_id}
    accounts = {member.user_id for member in members}
    places = list(reversed(Role.values))
    members.sort(key=lambda member: (places.index(member.role), member.user.get_username().casefold()))
    found = [Person(m.user.get_username(), m, of_account.get(m.user_id)) for m in members]
    return found + [Person(r.name, None, r) for r in raters if r.user_id not in accounts]


def with_work(people: Sequence[Person]) -> list[Person]:
    """The same with how many pairs each has rated and when they last did something. Two queries."""
    raters = [person.rater.pk for person in people if person.rater]
    counted = Rating.objects.filter(rater__in=raters).values("rater").annotate(n=Count("pk"))
    ratings = dict(counted.values_list("rater", "n"))
    latest = RatingEvent.objects.filter(rater=OuterRef("pk")).order_by("-pk").values("created_at")[:1]
    acts = dict(Rater.objects.filter(pk__in=raters).annotate(at=Subquery(latest)).values_list("pk", "at"))
    return [
        Person(p.name, p.membership, p.rater, ratings.get(p.rater.pk, 0), acts.get(p.rater.pk)) if p.rater else p
        for p in people
    ]


def queries_tagged(collection: Collection, tag: str) -> list[Query]:
    # In Python, because SQLite cannot ask a JSON list whether it holds a text.
    return [query for query in collection.queries.only("key", "tags") if tag in query.tags]


def tags_of(collection: Collection) -> list[str]:
    lists = collection.queries.filter(~Q(tags=[])).values_list("tags", flat=True)
    return sorted({tag for tags in lists for tag in tags if isinstance(tag, str)})


def invitations(collection: Collection) -> QuerySet:
    return collection.invitations.select_related("created_by", "accepted_by")
