"""Mail, if a mail server is configured: invitations, and links for forgotten passwords."""

import logging
import re
from collections.abc import Iterable
from smtplib import SMTPException
from urllib.parse import quote, urlencode

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
from django.utils import translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext, gettext_lazy
from django_tasks import task

from ..models import Collection, Invitation
from ..web.language import language_for

log = logging.getLogger(__name__)

# What looks like a mail or web address, for `name_in_mail`.
ADDRESS_PATTERN = re.compile(r"[@/\\]|\w[.。．｡][^\W\d]{2}")
MAIL_ERRORS = (SMTPException, OSError)
INVITATION_SUBJECT = gettext_lazy("An invitation to Idealist")
SITE_KEY = "site"  # the key in the cache of the address at which a server last started


def send_invitations(invitations: Iterable[tuple[Invitation, str]]) -> list[Invitation]:
    """Mail the invitations whose name is a mail address, and return those that the mail server accepted.

    `invitations`: each with the path of its link.
    """
    to_mail = [(invitation, path) for invitation, path in invitations if is_address(invitation.name)]
    if not settings.MAIL or not to_mail:
        return []
    mailed = []
    try:
        with get_connection() as connection:
            for invitation, path in to_mail:
                context = {
                    "invitation": invitation,
                    "collection": name_in_mail(invitation.collection),
                    "link": usual_site() + path,
                }
                with translation.override(invitation.language):
                    text = render_to_string("ratings/mail_invitation.txt", context)
                    subject = str(INVITATION_SUBJECT)
                if send(invitation.name, subject, text, connection):
                    mailed.append(invitation)
    except MAIL_ERRORS as error:
        log.error("Mail cannot be sent: %s", error)
    # `members.sign_up` reads `mailed`: nobody else sees a mailed link, so whoever uses it owns the address.
    Invitation.objects.filter(pk__in=[invitation.pk for invitation in mailed]).update(mailed=True)
    return mailed


def mailto_of(invitation: Invitation, link: str) -> str:
    """A mailto: address for the admin's own program: a mail with the link, to the address in the name, if any."""
    to = next((part.strip("<>") for part in invitation.name.split() if is_address(part.strip("<>"))), "")
    context = {"invitation": invitation, "collection": invitation.collection, "link": link}
    with translation.override(invitation.language):
        text = render_to_string("ratings/mail_invitation.txt", context).replace("\n", "\r\n")
        return f"mailto:{quote(to)}?{urlencode({'subject': INVITATION_SUBJECT, 'body': text}, quote_via=quote)}"


@task()
def send_reset(address: str, language: str) -> None:
    """Send a link for a new password to the accounts with this address, in their language or the one given.

    The worker sends it, so that the page answers equally fast whether or not there is such an account.
    """
    for user in PasswordResetForm().get_users(address):
        context = {"person": user, "link": usual_site() + password_link(user)}
        with translation.override(language_for(user, language)):
            text = render_to_string("ratings/mail_reset.txt", context)
            subject = gettext("A new password for Idealist")
        send(user.email, subject, text)


def password_link(user: User) -> str:
    """The path of the page on which the person sets a password, once and within an hour."""
    name = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("new_password", args=[name, default_token_generator.make_token(user)])


def send(address: str, subject: str, text: str, connection=None, *, unsubscribe_link: str = "") -> bool:
    """Send a mail, and return whether the mail server accepted it.

    `connection`: an open one to the mail server; None makes one. `unsubscribe_link`: ends such mails by one POST;
    programs of mail show a button for it (RFC 8058).
    """
    headers = {}
    if unsubscribe_link:
        headers["List-Unsubscribe"] = f"<{unsubscribe_link}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    subject = " ".join(subject.split())  # without line ends, which Django refuses in a header
    mail = EmailMessage(subject, text, to=[address], connection=connection, headers=headers)
    try:
        return mail.send() == 1
    except MAIL_ERRORS as error:
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
    return collection.slug or "" if ADDRESS_PATTERN.search(collection.name) else collection.name


def note_site(host: str, port: int) -> None:
    """Let links of commands lead to this server, which has just started."""
    cache.set(SITE_KEY, f"http://{f'[{host}]' if ':' in host else host}:{port}", None)


def usual_site() -> str:
    """The first host of IDEALIST_HOSTS, or the last address of a server here, for links in mail and of commands.

    A request does not say it: its client can name any host.
    """
    if settings.HTTPS or settings.HOSTS[0][1]:  # the port of the first host, if it names one
        return settings.SITES[0]
    return (not settings.FOR_OTHERS and cache.get(SITE_KEY)) or f"{settings.SITES[0]}:8000"
