"""Mail, if a mail server is configured: invitations, and links for forgotten passwords."""

import logging
from collections.abc import Iterable
from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.core.validators import validate_email
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django_tasks import task

from ..models import Invitation

log = logging.getLogger(__name__)

FAILED = (SMTPException, OSError)


def send_invitations(made: Iterable[tuple[Invitation, str]]) -> list[Invitation]:
    """The invitations that were mailed: those of (invitation, link) whose name is a mail address.

    Nobody else sees their links, so whoever uses one owns the address.
    """
    addressed = [(invitation, link) for invitation, link in made if is_address(invitation.name)]
    if not settings.MAIL or not addressed:
        return []
    sent = []
    try:
        with get_connection() as connection:
            for invitation, link in addressed:
                context = {"invitation": invitation, "link": link}
                text = render_to_string("ratings/mail_invitation.txt", context)
                subject = f"Invitation to {invitation.collection}"
                if send(invitation.name, subject, text, connection):
                    sent.append(invitation)
    except FAILED as error:
        log.error("Mail cannot be sent: %s", error)
    Invitation.objects.filter(pk__in=[invitation.pk for invitation in sent]).update(mailed=True)
    return sent


@task()
def send_reset(address: str, site: str) -> None:
    """Send a link for a new password to the accounts with this address.

    The worker sends it, so that the page answers equally fast whether or not there is such an account.
    """
    for user in PasswordResetForm().get_users(address):
        text = render_to_string("ratings/mail_reset.txt", {"person": user, "link": site + password_link(user)})
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


def usual_site() -> str:
    """The first host of IDEALIST_HOSTS, or the address of a server on this machine, for links of commands."""
    host = settings.ALLOWED_HOSTS[0]
    return f"https://{host}" if settings.HTTPS else f"http://{host}:8000"
