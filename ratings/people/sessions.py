"""Sessions: the store, which has the owner of each; the list of a person; and how to end sessions.

When the row of a session is deleted, its browser is signed out at the next request.
"""

from collections import Counter
from datetime import datetime

from django.contrib.auth import SESSION_KEY, get_user_model
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from django.utils.translation import gettext

from ..models import Session
from . import tokens
from .audit import Act
from .audit import note as audited

SIGNED_IN_KEY = "signed_in"  # the key in a session for [time of the sign-in, browser]
PROVIDER_KEY = "provider"  # the key in a session for `Person.to_sign_out`, if the person signed in by a provider
BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox": "Firefox", "FxiOS": "Firefox", "CriOS": "Chrome"}
BROWSERS |= {"Chrom": "Chrome", "Safari": "Safari"}  # last: the others contain these words too
SYSTEMS = {"iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows", "Mac OS X": "macOS"}
SYSTEMS |= {"CrOS": "ChromeOS", "Linux": "Linux"}
OTHER = "another program"


class SessionStore(DatabaseStore):
    """Django's database sessions, each with its owner."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def create_model_instance(self, data: dict) -> Session:
        row = super().create_model_instance(data)
        if SESSION_KEY in data:
            signed_in_at, row.browser = data.get(SIGNED_IN_KEY, (None, ""))
            row.signed_in_at = signed_in_at and datetime.fromisoformat(signed_in_at)
            row.user_id = int(data[SESSION_KEY])
        if PROVIDER_KEY in data:
            row.provider_person, row.provider_session = data[PROVIDER_KEY][:2]  # without the ID token
        return row


class EndsWhatIsOpen:
    """A password validator that ends sessions and tokens when a password is changed, in any way."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Accepts every password."""

    def get_help_text(self) -> str:
        return gettext("A change signs you out in all other browsers and revokes all your tokens.")

    @transaction.atomic
    def password_changed(self, password: str, user: User) -> None:
        audited(Act.PASSWORD, about=user)
        end_all(user)
        tokens.revoke_all(user)


def start(sender: object, request: HttpRequest, user: User, **more: object) -> None:
    """Store time and browser in a new session, and delete expired ones. A receiver of user_logged_in."""
    now = timezone.now()
    request.session[SIGNED_IN_KEY] = [now.isoformat(), browser_of(request.headers.get("User-Agent", ""))]
    Session.objects.filter(expire_date__lte=now).delete()


def browser_of(agent: str) -> str:
    """Browser and system, as in “Firefox on Linux”. The User-Agent itself is not stored."""
    browser = next((name for mark, name in BROWSERS.items() if mark in agent), OTHER)
    system = next((name for mark, name in SYSTEMS.items() if mark in agent), "")
    return f"{browser} on {system}" if system else browser


def in_words(stored: str) -> str:
    """What `browser_of` returned, in the language of the page."""
    browser, _, system = stored.partition(" on ")
    if browser in (OTHER, ""):
        # Translators: in place of the name of a browser that is unknown
        browser = gettext("another program")
    # Translators: such as Firefox on Linux
    return gettext("%(browser)s on %(system)s") % {"browser": browser, "system": system} if system else browser


def open_of(user: User) -> list[Session]:
    """The valid sessions of a person, the latest first."""
    return list(Session.objects.filter(user=user, expire_date__gt=timezone.now()))


def name_of(key: str) -> str:
    """The public name of a session. Its key cannot be computed from it."""
    return salted_hmac(__name__, key, algorithm="sha256").hexdigest()[:24]


def end(user: User, name: str) -> bool:
    """End the person's session of this name, and return whether there was one."""
    keys = Session.objects.filter(user=user).values_list("session_key", flat=True)
    named = [key for key in keys if constant_time_compare(name_of(key), name)]
    return bool(Session.objects.filter(session_key__in=named).delete()[0])


@transaction.atomic
def end_all(user: User, *, but: str | None = None) -> int:
    """End all sessions of the person except the one with the key `but`, and return how many were ended."""
    ended = Session.objects.filter(user=user)
    if but:
        ended = ended.exclude(session_key=but)
    number, _ = ended.delete()
    if number:
        audited(Act.SESSIONS_ENDED, about=user, number=number)
    return number


@transaction.atomic
def end_by_provider(person: str, session: str) -> None:
    """End the sessions here that somebody ended at the provider.

    `person` and `session` are digests of their names at the provider, or "" if it did not name them. If it named
    no session, all sessions of the person end.
    """
    sessions = Session.objects.filter(provider_person=person) if person else Session.objects.none()
    if session:
        # A session for which the provider gave no name may be the one that ended, so it ends too.
        without_name = sessions.filter(provider_session="")
        sessions = without_name | Session.objects.filter(provider_session=session)
    keys_and_users = list(sessions.select_for_update().values_list("session_key", "user"))
    Session.objects.filter(session_key__in=[key for key, _ in keys_and_users]).delete()
    number_by_user = Counter(user for _, user in keys_and_users if user)
    for user in get_user_model().objects.filter(pk__in=number_by_user):
        audited(Act.SESSIONS_ENDED, about=user, number=number_by_user[user.pk], by_provider=True)
