"""All data about a person, for that person."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q, QuerySet
from django.utils import timezone

from ..desk.answers import Answer, answers
from ..models import Adjudication, AuditEvent, Check, Deletion, Invitation, Job, Rater, RatingEvent, plain_value

ROWS_AT_ONCE = 2_000  # rows read at a time: a person may have rated a hundred thousand pairs

# Columns as the file names them, or NAME=LOOKUP.
ACCOUNT = "username email first_name last_name language=language__code date_joined last_login"
INVITATION = "collection=collection__name role name created_at accepted_at"
TOKEN = "name collection=collection__name scopes created_at expires_at revoked_at last_used_at"

Kind = RatingEvent.Kind


def export(user: User, *, now: datetime | None = None) -> Iterator[str]:
    """All data about a person, as pieces of one JSON document.

    A repeat (a pair that the person grades again) is exported as an ordinary rating, and gold pairs (whose grade
    is known beforehand) are not marked: whoever goes on rating must not recognise such pairs.
    """
    raters = Rater.objects.filter(user=user)
    # (event, token of its task). A task of a rater can have a token of its own.
    events = with_tokens(in_pieces(events_of(user, raters)), raters)
    # Name in the document -> one row, or the rows one by one.
    parts: dict[str, dict | Iterable[dict]] = {
        "account": next(listed(User.objects.filter(pk=user.pk), ACCOUNT)),
        "memberships": listed(user.memberships, "collection=collection__name role"),
        "invitations": listed(Invitation.objects.filter(accepted_by=user), INVITATION),
        "sessions": listed(user.sessions, "signed_in_at with=browser ends_at=expire_date"),
        "second_factors": (second_factor(row) for row in user.authenticator_set.all()),
        "at_the_provider": (row.extra_data for row in user.socialaccount_set.all()),
        "tokens": listed(user.api_tokens, TOKEN),
        "raters": (rater(row) for row in raters.select_related("collection").prefetch_related("queries")),
        "ratings": (rating(row) for row in answers(raters)),
        "events": (event(row, token) for row, token in events),
        "adjudications": (adjudication(row) for row in in_pieces(adjudications_of(user))),
        "imports": (imported(row) for row in Job.objects.filter(by=user).select_related("collection")),
        "deletions": listed(Deletion.objects.filter(by=user), "collection=collection__name deleted_at remove_at"),
        "audit": listed(
            AuditEvent.objects.filter(account=user.pk).order_by("pk"), "at act way token address slug"
        ),
    }
    yield f'{{"exported_at": {as_json(now or timezone.now())}'
    for name, part in parts.items():
        yield f",\n{json.dumps(name)}: "
        if isinstance(part, dict):
            yield as_json(part)
        else:
            yield from array(part)
    yield "}\n"


def array(rows: Iterable[dict]) -> Iterator[str]:
    yield "["
    for i, row in enumerate(rows):
        yield ("," if i else "") + "\n" + as_json(row)
    yield "]"


def as_json(value) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)


def listed(rows: QuerySet, columns: str) -> Iterator[dict]:
    """The columns of the rows, by their names in the file."""
    lookups = dict(column.partition("=")[::2] for column in columns.split())
    values = rows.values_list(*(lookup or name for name, lookup in lookups.items()))
    return (dict(zip(lookups, row, strict=True)) for row in values.iterator(chunk_size=ROWS_AT_ONCE))


def in_pieces(rows: QuerySet) -> Iterator:
    return rows.iterator(chunk_size=ROWS_AT_ONCE)


def events_of(user: User, raters: QuerySet) -> QuerySet:
    # Raters as a list: with a subquery, neither database would use the two indexes for the two conditions.
    rater_ids = list(raters.values_list("pk", flat=True))
    rows = RatingEvent.objects.filter(Q(rater__in=rater_ids) | Q(actor=user)).order_by("pk")
    return without_text(rows).select_related("undoes", "pair__query__collection", "pair__document")


def adjudications_of(user: User) -> QuerySet:
    rows = Adjudication.objects.filter(actor=user).order_by("pk")
    return without_text(rows).select_related("grade", "pair__query__collection", "pair__document")


def without_text(rows: QuerySet) -> QuerySet:
    return rows.defer("pair__document__body", "pair__document__fields")


def with_tokens(events: Iterable[RatingEvent], raters: QuerySet) -> Iterator[tuple[RatingEvent, UUID]]:
    """Each event with the token under which the person saw the task.

    A warm-up and a repeat are checks of one rater, which have tokens of their own. Any other task has the token of
    its pair. The answer to a check is an event of the same kind, "warm_up" or "repeat".
    """
    rows = Check.objects.filter(rater__in=raters)
    checks: dict[tuple, Check] = {(row.rater_id, row.pair_id, row.kind): row for row in rows}
    for event in events:
        act = event.undoes or event  # an undo has the task of the act that it undoes
        # A SKIP put off the repeat, if there was one by then, or else the pair. A warm-up is put off without an
        # event.
        was_put_off = act.kind == Kind.SKIP
        check = checks.get((act.rater_id, act.pair_id, Kind.REPEAT if was_put_off else act.kind))
        if check is None or (was_put_off and act.created_at < check.created_at):
            yield event, event.pair.token
        else:
            yield event, check.token


def fields(row: object, *names: str) -> dict:
    return {name: getattr(row, name) for name in names}


def imported(row: Job) -> dict:
    about = {"collection": row.collection.name if row.collection else None, "kind": row.kind}
    return about | {"files": [file["name"] for file in row.files]} | fields(row, "state", "created_at")


def second_factor(row: Authenticator) -> dict:
    """A second factor, without its secret. Only passkeys have names."""
    return fields(row, "type", "created_at", "last_used_at") | {"name": row.data.get("name", "")}


def rater(row: Rater) -> dict:
    about = {"collection": row.collection.name, "name": row.name, "weight": plain_value(row.weight)}
    about |= fields(row, "active", "limit") | {"queries": [query.text for query in row.queries.all()]}
    return about | fields(row, "guidelines_read", "warmed_up_at")


def rating(answer: Answer) -> dict:
    row = answer.rating
    about = task_facts(row.pair, answer.token) | {"grade": grade_text(row.grade.value if row.grade else None)}
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


def task_facts(pair, token) -> dict:
    query, title = pair.query, pair.document.title
    return {"collection": query.collection.name, "token": token, "query": query.text, "document": title}


def grade_text(value: Decimal | None) -> str | None:
    return None if value is None else plain_value(value)
