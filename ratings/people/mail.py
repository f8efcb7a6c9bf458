"""Mail, if a mail server is configured: invitations, and links for forgotten passwords."""

import logging
import re
from collections.abc import Iterable
from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.core.validators import validate_email
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django_tasks import task

from ..models import Collection, Invitation

log = logging.getLogger(__name__)

LIKE_ADDRESS = re.compile(r"[@/\\]|\w[.。．｡][^\W\d]{2}")
FAILED = (SMTPException, OSError)
SITE = "site"  # the key in the cache of the address at which a server last started


def send_invitations(made: Iterable[tuple[Invitation, str]]) -> list[Invitation]:
    """The invitations that were mailed: those of (invitation, path of its link) whose name is a mail address.

    Nobody else sees their links, so whoever uses one owns the address.
    """
    addressed = [(invitation, path) for invitation, path in made if is_address(invitation.name)]
    if not settings.MAIL or not addressed:
        return []
    sent = []
    try:
        with get_connection() as connection:
            for invitation, path in addressed:
                about = {"collection": name_in_mail(invitation.collection), "link": usual_site() + path}
                text = render_to_string("ratings/mail_invitation.txt", {"invitation": invitation, **about})
                if send(invitation.name, "An invitation to Idealist", text, connection):
                    sent.append(invitation)
    except FAILED as error:
        log.error("Mail cannot be sent: %s", error)
    Invitation.objects.filter(pk__in=[invitation.pk for invitation in sent]).update(mailed=True)
    return sent


@task()
def send_reset(address: str) -> None:
    """Send a link for a new password to the accounts with this address.

    The worker sends it, so that the page answers equally fast whether or not there is such an account.
    """
    for user in PasswordResetForm().get_users(address):
        context = {"person": user, "link": usual_site() + password_link(user)}
        text = render_to_string("ratings/mail_reset.txt", context)
        send(user.email, "A new password for Idealist", text)


def password_link(user: User) -> str:
    """The path of the page on which the person sets a password, once and within an hour."""
    name = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("new_password", args=[name, default_token_generator.make_token(user)])


def send(address: str, subject: str, text: str, connection=None) -> bool:
    """Whether the mail server accepted the mail."""
    mail = EmailMessage(" ".join(subject.split()), text, to=[address], connection=connection)
    try:
        return mail.send() == 1
    except FAILED as error:
        log.error("Mail cannot be sent: %s", error)
        return False


def is_address(name: str) -> bool:
    try:
        validate_email(name)
    except ValidationError:
        return False
    return True


def name_in_mail(collection: Collection) -> str:
    """The collection's name; its slug if the name has an address, which the mail of a stranger must not have."""
    return collection.slug or "" if LIKE_ADDRESS.search(collection.name) else collection.name


def note_site(host: str, port: int) -> None:
    """Let links of commands lead to this server, which has just started."""
    cache.set(SITE, f"http://{f'[{host}]' if ':' in host else host}:{port}", None)


def usual_site() -> str:
    """The first host of IDEALIST_HOSTS, or the last address of a server here, for links in mail and of commands.

    A request does not say it: its client can name any host.
    """
    if settings.HTTPS or settings.HOSTS[0][1]:
        return settings.SITES[0]
    return (not settings.FOR_OTHERS and cache.get(SITE)) or f"{settings.SITES[0]}:8000"
