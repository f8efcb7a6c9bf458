"""The data about a person: export all of it, or erase the person."""

import json
import re
import secrets
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import chain
from uuid import UUID

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import AbstractBaseUser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from ..desk import queue
from ..desk.answers import Answer, answers
from ..models import (
    Adjudication,
    ApiToken,
    AuditEvent,
    Check,
    Collection,
    Deletion,
    Invitation,
    Job,
    Membership,
    Rater,
    Rating,
    RatingEvent,
    Receipt,
    Session,
    plain_value,
)
from . import members
from .audit import ABOUT_PEOPLE, Act, note

AT_ONCE = 2_000  # rows read at a time: a person may have rated a hundred thousand pairs

Kind = RatingEvent.Kind


# Export


def export(user: AbstractBaseUser, *, now: datetime | None = None) -> Iterator[str]:
    """All data about a person, as pieces of one JSON document.

    A repeat is exported as an ordinary rating, and gold pairs are not marked: whoever goes on rating must not
    recognise such pairs.
    """
    raters = Rater.objects.filter(user=user)
    parts = {
        "account": account(user),
        "memberships": (membership(row) for row in user.memberships.select_related("collection")),
        "invitations": (invitation(row) for row in accepted_by(user)),
        "sessions": (session(row) for row in user.sessions.all()),
        "second_factors": (second_factor(row) for row in user.authenticator_set.all()),
        "at_the_provider": (row.extra_data for row in user.socialaccount_set.all()),
        "tokens": (token(row) for row in user.api_tokens.select_related("collection")),
        "raters": (rater(row) for row in raters.select_related("collection").prefetch_related("queries")),
        "ratings": (rating(row) for row in answers(raters)),
        "events": (event(row, token) for row, token in with_tokens(in_pieces(events_of(user, raters)), raters)),
        "adjudications": (adjudication(row) for row in in_pieces(adjudications_of(user))),
        "imports": (imported(row) for row in Job.objects.filter(by=user).select_related("collection")),
        "deletions": (deletion(row) for row in Deletion.objects.filter(by=user).select_related("collection")),
        "audit": (audited(row) for row in in_pieces(AuditEvent.objects.filter(account=user.pk).order_by("pk"))),
    }
    yield f'{{"exported_at": {as_json(now or timezone.now())}'
    for name, part in parts.items():
        yield f",\n{json.dumps(name)}: "
        yield from [as_json(part)] if isinstance(part, dict) else array(part)
    yield "}\n"


def array(rows: Iterable[dict]) -> Iterator[str]:
    yield "["
    for i, row in enumerate(rows):
        yield ("," if i else "") + "\n" + as_json(row)
    yield "]"


def as_json(value) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)


def in_pieces(rows: QuerySet) -> Iterator:
    return rows.iterator(chunk_size=AT_ONCE)


def events_of(user: AbstractBaseUser, raters: QuerySet) -> QuerySet:
    # Raters as a list: with a subquery, neither database would use the two indexes for the two conditions.
    own = list(raters.values_list("pk", flat=True))
    rows = RatingEvent.objects.filter(Q(rater__in=own) | Q(actor=user)).order_by("pk")
    return without_text(rows).select_related("undoes", "pair__query__collection", "pair__document")


def adjudications_of(user: AbstractBaseUser) -> QuerySet:
    rows = Adjudication.objects.filter(actor=user).order_by("pk")
    return without_text(rows).select_related("grade", "pair__query__collection", "pair__document")


def without_text(rows: QuerySet) -> QuerySet:
    return rows.defer("pair__document__body", "pair__document__fields")


def accepted_by(user: AbstractBaseUser) -> QuerySet:
    return Invitation.objects.filter(accepted_by=user).select_related("collection")


def with_tokens(events: Iterable[RatingEvent], raters: QuerySet) -> Iterator[tuple[RatingEvent, UUID]]:
    """Each event with the token of its task as the person saw it: that of the check, or of the pair."""
    rows = Check.objects.filter(rater__in=raters).values_list("rater", "pair", "kind", "token", "created_at")
    checks = {tuple(of): (token, at) for *of, token, at in rows}

    def token_of(row: RatingEvent) -> UUID:
        act = row.undoes or row  # an undo concerns what the undone act did
        kind = Kind.REPEAT if act.kind == Kind.SKIP else act.kind
        token, since = checks.get((act.rater_id, act.pair_id, kind), (None, None))
        # Before the repeat was made, the pair itself was put off.
        put_off_before = act.kind == Kind.SKIP and since and act.created_at < since
        return row.pair.token if token is None or put_off_before else token

    return ((row, token_of(row)) for row in events)


def fields(row: object, *names: str) -> dict:
    return {name: getattr(row, name) for name in names}


def account(user: AbstractBaseUser) -> dict:
    names = ("email", "first_name", "last_name", "date_joined", "last_login")
    return {"username": user.get_username()} | fields(user, *names)


def membership(row: Membership) -> dict:
    return {"collection": row.collection.name, "role": row.role}


def invitation(row: Invitation) -> dict:
    return {"collection": row.collection.name} | fields(row, "role", "name", "created_at", "accepted_at")


def imported(row: Job) -> dict:
    about = {"collection": row.collection.name if row.collection else None, "kind": row.kind}
    return about | {"files": [file["name"] for file in row.files]} | fields(row, "state", "created_at")


def deletion(row: Deletion) -> dict:
    return {"collection": row.collection.name} | fields(row, "deleted_at", "remove_at")


def session(row: Session) -> dict:
    return {"signed_in_at": row.signed_in_at, "with": row.browser, "ends_at": row.expire_date}


def second_factor(row: Authenticator) -> dict:
    """A second factor, without its secret. Only passkeys have names."""
    return fields(row, "type", "created_at", "last_used_at") | {"name": row.data.get("name", "")}


def token(row: ApiToken) -> dict:
    about = {"name": row.name, "collection": row.collection.name if row.collection else None}
    return about | fields(row, "scopes", "created_at", "expires_at", "revoked_at", "last_used_at")


def rater(row: Rater) -> dict:
    about = {"collection": row.collection.name, "name": row.name, "weight": plain_value(row.weight)}
    about |= fields(row, "active", "limit") | {"queries": [query.text for query in row.queries.all()]}
    return about | fields(row, "guidelines_read", "warmed_up_at")


def rating(row: Answer) -> dict:
    about = task_facts(row.pair, row.token) | {"grade": grade_text(row.grade.value if row.grade else None)}
    return about | fields(row, "reason", "comment", "created_at", "changed_at")


def event(row: RatingEvent, token: UUID) -> dict:
    kind = row.kind
    if kind == Kind.REPEAT:
        kind = Kind.CANNOT if row.value is None else Kind.GRADE
    about = task_facts(row.pair, token) | {"kind": str(kind), "grade": grade_text(row.value)}
    names = ["reason", "comment", "seconds", "shown", "opened"]
    names += ["scale_version", "guidelines_version", "presentation_version", "created_at"]
    return about | fields(row, *names)


def adjudication(row: Adjudication) -> dict:
    about = task_facts(row.pair, row.pair.token) | {"grade": grade_text(row.grade.value)}
    return about | fields(row, "reason", "created_at")


def audited(row: AuditEvent) -> dict:
    return fields(row, "at", "act", "way", "token", "address", "slug")


def task_facts(pair, token) -> dict:
    query, title = pair.query, pair.document.title
    return {"collection": query.collection.name, "token": token, "query": query.text, "document": title}


def grade_text(value: Decimal | None) -> str | None:
    return None if value is None else plain_value(value)


# Erasure


@transaction.atomic
def erase(rater: Rater, *, comments: bool = False) -> str:
    """The pseudonym under which the ratings stay, after the person was erased from a collection.

    Their membership is deleted, and so is their account unless it is needed elsewhere. Events lose their actor
    and, with `comments`, the person's comments. Names in comments of others are not removed. Raises
    members.LastAdmin for the only admin.
    """
    collection, user = rater.collection, rater.user
    membership = Membership.objects.filter(collection=collection, user=user).first() if user else None
    if membership:
        members.remove(membership)
    queue.stop(rater)  # locks the rater, so that no act of theirs comes in between
    pseudonym = unused_pseudonym(collection)
    clear_invitations(collection, rater)
    # Noted before the audit is cleared, for people may erase themselves.
    note(Act.ERASED, collection, about=pseudonym, comments=comments)
    clear_audit(rater, pseudonym)
    Rater.objects.filter(pk=rater.pk).update(name=pseudonym, user=None, active=False)
    RatingEvent.objects.filter(rater=rater).forget_person(comments=comments)
    if comments:
        Rating.objects.filter(rater=rater).exclude(comment="").update(comment="")
    if user:
        remove_account(collection, user, pseudonym)
    return pseudonym


def pseudonym(pk: int) -> str:
    """A pseudonym of a rater for pages without names: a keyed hash, always the same."""
    return f"rater {salted_hmac('evaluation.agreement', str(pk)).hexdigest()[:6]}"


def unused_pseudonym(collection: Collection) -> str:
    """A random name that no rater of the collection has."""
    while True:
        name = f"rater {secrets.token_hex(2)}"
        if not collection.raters.filter(name=name).exists():
            return name


def remove_account(collection: Collection, user: AbstractBaseUser, pseudonym: str) -> None:
    """Remove the account from the collection, and delete it unless it is needed elsewhere."""
    RatingEvent.objects.filter(actor=user, pair__query__collection=collection).forget_person()
    Adjudication.objects.filter(actor=user, pair__query__collection=collection).update(actor=None)
    collection.invitations.filter(accepted_by=user).update(accepted_by=None)
    collection.invitations.filter(created_by=user).update(created_by=None)
    user.api_tokens.filter(collection=collection).delete()
    Receipt.objects.filter(collection=collection, user=user).delete()
    if not is_needed(user):
        _delete_account(user, pseudonym)


class Needed(Exception):
    """A collection refers to the account, or it is a superuser's."""


@transaction.atomic
def delete_account(user: AbstractBaseUser) -> str:
    """The pseudonym that the audit has in place of the name of the account, which is deleted. Raises Needed."""
    if is_needed(user):
        raise Needed
    pseudonym = f"account {secrets.token_hex(2)}"
    note(Act.ERASED, about=pseudonym)
    _delete_account(user, pseudonym)
    return pseudonym


def _delete_account(user: AbstractBaseUser, pseudonym: str) -> None:
    for invitation in Invitation.objects.filter(accepted_by=user).exclude(name=""):
        invited = AuditEvent.objects.filter(act=Act.INVITED, collection=invitation.collection_id)
        invited.filter(about=invitation.name).forget_subject(pseudonym)
        Invitation.objects.filter(pk=invitation.pk).update(name="")
    AuditEvent.objects.filter(account=user.pk).forget_actor(pseudonym)
    AuditEvent.objects.filter(act__in=ABOUT_PEOPLE, about=user.get_username()).forget_subject(pseudonym)
    user.delete()


def is_needed(user: AbstractBaseUser) -> bool:
    """Whether a collection refers to the account, or it is a superuser's."""
    of_user = (model.objects.filter(user=user) for model in (Membership, Rater))
    by_user = (model.objects.filter(actor=user) for model in (RatingEvent, Adjudication))
    return user.is_superuser or any(rows.exists() for rows in chain(of_user, by_user))


def clear_invitations(collection: Collection, rater: Rater) -> None:
    """Remove the names of invitations that the person accepted, and of open ones with their name."""
    theirs = Q(accepted_by=None) | Q(accepted_by=rater.user) if rater.user else Q(accepted_by=None)
    called = names_of(rater)
    for invitation in collection.invitations.filter(theirs).exclude(name=""):
        if invitation.accepted_by_id or called.search(invitation.name):
            Invitation.objects.filter(pk=invitation.pk).update(name="")


def clear_audit(rater: Rater, pseudonym: str) -> None:
    """Replace the person's name in the audit of the collection by the pseudonym. Acts and times stay."""
    events, called = AuditEvent.objects.filter(collection=rater.collection.pk), names_of(rater)
    about = events.filter(act__in=ABOUT_PEOPLE).exclude(about="")
    theirs = [event.pk for event in about if called.search(event.about)]
    events.filter(pk__in=theirs).forget_subject(pseudonym)
    if rater.user_id:
        events.filter(account=rater.user_id).forget_actor(pseudonym)


def names_of(rater: Rater) -> re.Pattern:
    """A pattern of the person's names and address as whole words."""
    names = {rater.name}
    if rater.user:
        names |= {rater.user.get_username(), rater.user.email, rater.user.get_full_name()}
    words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    return re.compile(rf"(?<!\w)({words})(?!\w)", re.IGNORECASE)
