"""API tokens: make, look up by key, revoke.

A token permits at most what its owner's role permits at the moment of each call.
"""

import hashlib
import secrets
from collections.abc import Collection as Keys
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import OperationalError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from ..models import SCOPES_OF, ApiToken, Collection, Membership, Role, Scope
from .audit import Act, note

PREFIX = "idl_"  # so that secret scanners recognize a key
KEY_BYTES = 32
MOST_DAYS = 366
# Tokens for all collections, and for one that is not deleted: a deleted one has no slug.
NOT_DELETED = Q(collection=None) | Q(collection__slug__isnull=False)
USE_RESOLUTION = timedelta(minutes=1)  # of `last_used_at`


@transaction.atomic
def make(
    user: User, collection: Collection | None, *, name: str, scopes: Keys[str], days: int
) -> tuple[ApiToken, str]:
    """A new token and its key, of which only the hash is stored. `collection`: None for all collections.

    Raises ValueError without scopes, and for scopes that the role of the user does not have.
    """
    if not scopes:
        raise ValueError("a token needs at least one scope")
    if forbidden := set(scopes) - set(scopes_of(user, collection)):
        where = collection.slug if collection else "all collections"
        raise ValueError(f"{user.get_username()} may not {' or '.join(sorted(forbidden))} in {where}")
    now = timezone.now()
    key = PREFIX + secrets.token_urlsafe(KEY_BYTES)
    token = ApiToken.objects.create(
        user=user,
        collection=collection,
        name=name,
        key_hash=hash_of(key),
        scopes=[scope for scope in Scope.values if scope in scopes],
        created_at=now,
        expires_at=now + timedelta(days=days),
    )
    note(Act.TOKEN_MADE, collection, about=user, scopes=token.scopes, days=days)
    return token, key


def hash_of(key: str) -> str:
    """The hash of a key of a token or an invitation. A random key needs no salt and no slow hash."""
    return hashlib.sha256(key.encode()).hexdigest()


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """The person's tokens, without those for deleted collections."""
    return user.api_tokens.filter(NOT_DELETED).select_related("user", "collection")


def scopes_of(user: User, collection: Collection | None) -> tuple[str, ...]:
    """The scopes of the person's role in the collection now. None: all collections, which only superusers have."""
    if not user.is_active:
        return ()
    if collection is None:
        return (Scope.READ, Scope.IMPORT, Scope.MANAGE) if user.is_superuser else ()
    try:
        return SCOPES_OF[collection.role_of(user)]
    except Membership.DoesNotExist:
        return ()


def valid_token(key: str) -> ApiToken | None:
    """The valid token of this key, with its owner and collection, or None. One query.

    A token for a deleted collection is not valid.
    """
    valid = Q(revoked_at=None, expires_at__gt=timezone.now(), user__is_active=True)
    tokens = ApiToken.objects.filter(valid, NOT_DELETED, key_hash=hash_of(key))
    return tokens.select_related("user", "collection").first()


def record_use(token: ApiToken) -> None:
    """Store the time of use, at most once a minute."""
    now = timezone.now()
    if token.last_used_at and token.last_used_at > now - USE_RESOLUTION:
        return
    try:
        with transaction.atomic():
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    except OperationalError:
        # The database is locked for long. This call may need no write, and a later one stores the time.
        return


@transaction.atomic
def revoke(token: ApiToken) -> None:
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        note(Act.TOKEN_REVOKED, token.collection, about=token.user)


@transaction.atomic
def revoke_all(user: User) -> None:
    if number := ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=timezone.now()):
        note(Act.TOKEN_REVOKED, about=user, number=number)


def in_use(collection: Collection) -> list[tuple[ApiToken, str]]:
    """The valid tokens for a collection, by owner, each with "works" or "idle" (see `state_of`). Two queries."""
    roles = dict(collection.memberships.values_list("user", "role"))
    valid = ApiToken.objects.filter(collection=collection, revoked_at=None, expires_at__gt=timezone.now())
    states = []
    for token in valid.select_related("user").order_by("user__username", "name"):
        role = Role.ADMIN if token.user.is_superuser else roles.get(token.user_id)
        may = SCOPES_OF.get(role, ()) if token.user.is_active else ()
        states.append((token, "works" if set(token.scopes) & set(may) else "idle"))
    return states


def state_of(token: ApiToken) -> str:
    """The state: works, idle (the role of its owner permits none of its scopes), revoked or expired."""
    if token.revoked_at:
        return "revoked"
    if token.expires_at <= timezone.now():
        return "expired"
    return "works" if set(token.scopes) & set(scopes_of(token.user, token.collection)) else "idle"
