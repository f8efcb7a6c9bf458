"""Tokens of the API: make one, find the one that a key opens, revoke it.

A token can do at most what its owner may. What they may is looked up at each call: of who leaves a collection, or
gets another role there, the tokens do nothing more.
"""

import hashlib
import secrets
from collections.abc import Collection as Keys
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db import OperationalError, transaction
from django.db.models import Q
from django.utils import timezone

from .models import SCOPES_OF, ApiToken, Collection, Membership, Role, Scope

PREFIX = "idl_"  # by which logs and scanners of source code know a key
KEY_BYTES = 32
MOST_DAYS = 366
USED = timedelta(minutes=1)  # how exactly it is kept when a token was used last


def make(
    user: AbstractBaseUser,
    collection: Collection | None,
    *,
    name: str,
    scopes: Keys[str],
    days: int,
    now: datetime | None = None,
) -> tuple[ApiToken, str]:
    """A token and its key, which is known now and never again. ValueError for scopes beyond the person's role."""
    beyond = set(scopes) - set(scopes_of(user, collection))
    if beyond or not scopes:
        where = collection.slug if collection else "all collections"
        raise ValueError(
            f"{user.get_username()} may not {' or '.join(sorted(beyond))} in {where}"
            if beyond
            else "a token needs something that it can do"
        )
    now, key = now or timezone.now(), PREFIX + secrets.token_urlsafe(KEY_BYTES)
    token = ApiToken.objects.create(
        user=user,
        collection=collection,
        name=name,
        key_hash=hash_of(key),
        scopes=[scope for scope in Scope.values if scope in scopes],
        created_at=now,
        expires_at=now + timedelta(days=days),
    )
    return token, key


def hash_of(key: str) -> str:
    """No salt and no slow hash: a key is 32 random bytes, not a word that somebody could guess."""
    return hashlib.sha256(key.encode()).hexdigest()


def scopes_of(user: AbstractBaseUser, collection: Collection | None) -> tuple[str, ...]:
    """What the person may do there now; None stands for all collections, over which only superusers are."""
    if not user.is_active:
        return ()
    if collection is None:
        return (Scope.READ, Scope.IMPORT, Scope.MANAGE) if user.is_superuser else ()
    try:
        return SCOPES_OF[collection.role_of(user)]
    except Membership.DoesNotExist:
        return ()


def opened_by(key: str, *, now: datetime | None = None) -> ApiToken | None:
    """The token of this key, with its owner and collection, if it works still. One query."""
    valid = Q(revoked_at=None, expires_at__gt=now or timezone.now(), user__is_active=True)
    tokens = ApiToken.objects.select_related("user", "collection").filter(valid, key_hash=hash_of(key))
    return tokens.first()


def used(token: ApiToken, *, now: datetime | None = None) -> None:
    """Keep when it was used last, once a minute."""
    now = now or timezone.now()
    if token.last_used_at and token.last_used_at > now - USED:
        return
    try:
        with transaction.atomic():
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    except OperationalError:
        # Somebody else is writing for long. Reading needs no lock, and the next minute writes it.
        return


def revoke(token: ApiToken, *, now: datetime | None = None) -> None:
    """It works no more, from the next call on."""
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now or timezone.now())


def in_use(collection: Collection, *, now: datetime | None = None) -> list[tuple[ApiToken, str]]:
    """The tokens for a collection that are not over, by owner, each with its state. Two queries."""
    roles = dict(collection.memberships.values_list("user", "role"))
    found = ApiToken.objects.filter(collection=collection, revoked_at=None, expires_at__gt=now or timezone.now())
    states = []
    for token in found.select_related("user").order_by("user__username", "name"):
        role = Role.ADMIN if token.user.is_superuser else roles.get(token.user_id)
        may = SCOPES_OF.get(role, ()) if token.user.is_active else ()
        states.append((token, "works" if set(token.scopes) & set(may) else "idle"))
    return states


def state_of(token: ApiToken, *, now: datetime | None = None) -> str:
    """works, idle (its owner may nothing of it any more), revoked or expired."""
    if token.revoked_at:
        return "revoked"
    if token.expires_at <= (now or timezone.now()):
        return "expired"
    return "works" if set(token.scopes) & set(scopes_of(token.user, token.collection)) else "idle"
