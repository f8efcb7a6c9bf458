"""Erase a person from a collection, or an account: what they rated stays, under a pseudonym."""

import re
import secrets
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from ..models import (
    Adjudication,
    AuditEvent,
    Collection,
    Invitation,
    Job,
    Rater,
    Rating,
    RatingEvent,
    Receipt,
)
from . import members
from .audit import ABOUT_PEOPLE, Act, note


@transaction.atomic
def erase(rater: Rater, *, comments: bool = False) -> str:
    """The pseudonym under which the ratings stay, after the person was erased from a collection.

    Their membership is deleted, and so is their account unless it is needed elsewhere. Events lose their actor
    and, with `comments`, the person's comments. Names in comments of others are not removed. Raises
    members.LastAdmin for the only admin.
    """
    collection, user = rater.collection, rater.user
    membership = collection.memberships.filter(user=user).first()  # None for an imported rater and a former member
    if membership:
        members.remove(membership)
    members.stop(rater)  # gives others what the rater holds, and locks the rater: no act of theirs comes between
    pseudonym = f"rater {secrets.token_hex(4)}"  # one of 2**32, so no other rater has it
    clear_invitations(collection, rater)
    # Noted before the audit is cleared, for people may erase themselves.
    note(Act.ERASED, collection, about=pseudonym, comments=comments)
    clear_audit(rater, pseudonym)
    clear_imports(rater, pseudonym)
    Rater.objects.filter(pk=rater.pk).update(name=pseudonym, user=None, active=False)
    RatingEvent.objects.filter(rater=rater).forget_person(comments=comments)
    if comments:
        Rating.objects.filter(rater=rater).exclude(comment="").update(comment="")
    if user:
        remove_account(collection, user, pseudonym)
    return pseudonym


def remove_account(collection: Collection, user: User, pseudonym: str) -> None:
    """Remove the account from the collection, and delete it unless it is needed elsewhere."""
    RatingEvent.objects.filter(actor=user, pair__query__collection=collection).forget_person()
    Adjudication.objects.filter(actor=user, pair__query__collection=collection).update(actor=None)
    collection.invitations.filter(accepted_by=user).update(accepted_by=None)
    collection.invitations.filter(created_by=user).update(created_by=None)
    user.api_tokens.filter(collection=collection).delete()
    Receipt.objects.filter(collection=collection, user=user).delete()
    if not is_account_needed(user):
        _delete_account(user, pseudonym)


class Needed(Exception):
    """A collection refers to the account, or it is a superuser's."""


@transaction.atomic
def delete_account(user: User) -> str:
    """The pseudonym that the audit has in place of the name of the account, which is deleted. Raises Needed."""
    if is_account_needed(user):
        raise Needed
    pseudonym = f"account {secrets.token_hex(2)}"
    note(Act.ERASED, about=pseudonym)
    _delete_account(user, pseudonym)
    return pseudonym


def _delete_account(user: User, pseudonym: str) -> None:
    """Delete the account, and replace the person's names in the audit by the pseudonym.

    The audit has the username, and the name in each invitation that the person accepted. That name is removed from
    the invitation, too.
    """
    for invitation in Invitation.objects.filter(accepted_by=user).exclude(name=""):
        invited = AuditEvent.objects.filter(act=Act.INVITED, collection=invitation.collection_id)
        invited.filter(about=invitation.name).forget_subject(pseudonym)
        Invitation.objects.filter(pk=invitation.pk).update(name="")
    AuditEvent.objects.filter(account=user.pk).forget_actor(pseudonym)
    AuditEvent.objects.filter(act__in=ABOUT_PEOPLE, about=user.get_username()).forget_subject(pseudonym)
    user.delete()


def is_account_needed(user: User) -> bool:
    """Whether a collection refers to the account, or it is a superuser's."""
    acts = [model.objects.filter(actor=user) for model in (RatingEvent, Adjudication)]
    return user.is_superuser or any(rows.exists() for rows in (user.memberships, user.raters, *acts))


def clear_invitations(collection: Collection, rater: Rater) -> None:
    """Remove the names of invitations that the person accepted, and of open ones with their name."""
    theirs_or_unused = Q(accepted_by=None) | Q(accepted_by=rater.user)
    names = names_pattern(rater)
    for invitation in collection.invitations.filter(theirs_or_unused).exclude(name=""):
        if invitation.accepted_by_id or names.search(invitation.name):
            Invitation.objects.filter(pk=invitation.pk).update(name="")


def clear_audit(rater: Rater, pseudonym: str) -> None:
    """Replace the person's name in the audit of the collection by the pseudonym. Acts and times stay."""
    events = AuditEvent.objects.filter(collection=rater.collection.pk)
    names = names_pattern(rater)
    about_people = events.filter(act__in=ABOUT_PEOPLE).exclude(about="")
    about_person = [event.pk for event in about_people if names.search(event.about)]
    events.filter(pk__in=about_person).forget_subject(pseudonym)
    if rater.user_id:
        events.filter(account=rater.user_id).forget_actor(pseudonym)


def clear_imports(rater: Rater, pseudonym: str) -> None:
    """Replace the person's name by the pseudonym in the jobs of imports: files and columns may have that name.

    A job has the names of its `files`, its `options`, the names of the columns (`header`) and a `report`.
    """
    names = names_pattern(rater)

    def cleared(value: Any) -> Any:
        """The JSON value with the name replaced in all its texts, at any depth."""
        if isinstance(value, dict):
            return {key: cleared(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [cleared(inner) for inner in value]
        return names.sub(pseudonym, value) if isinstance(value, str) else value

    for job in rater.collection.jobs.all():
        files = [file | {"name": cleared(file["name"])} for file in job.files]
        options = job.options  # of which only the columns have names that a file gave
        if "columns" in options:
            options = options | {"columns": cleared(options["columns"])}
        fields = {"files": files, "options": options, "header": cleared(job.header), "report": cleared(job.report)}
        # A job without the name is not written, as its worker may write it at this moment.
        if any(getattr(job, name) != value for name, value in fields.items()):
            Job.objects.filter(pk=job.pk).update(**fields)


def names_pattern(rater: Rater) -> re.Pattern:
    """A pattern of the person's names and address as whole words."""
    names = {rater.name}
    if rater.user:
        names |= {rater.user.get_username(), rater.user.email, rater.user.get_full_name()}
    # The longest first: of several alternatives that match, a regular expression takes the first.
    words = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True) if name)
    return re.compile(rf"(?<!\w)({words})(?!\w)", re.IGNORECASE)
