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

from ..models import Session
from . import tokens
from .audit import Act
from .audit import note as audited

SIGNED_IN = "signed_in"  # the key in a session for [time of the sign-in, browser]
PROVIDER = "provider"  # the key in a session for `Person.to_sign_out`, if the person signed in by a provider
BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox": "Firefox", "FxiOS": "Firefox", "CriOS": "Chrome"}
BROWSERS |= {"Chrom": "Chrome", "Safari": "Safari"}  # last: the others contain these words too
SYSTEMS = {"iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows", "Mac OS X": "macOS"}
SYSTEMS |= {"CrOS": "ChromeOS", "Linux": "Linux"}


class SessionStore(DatabaseStore):
    """Django's database sessions, each with its owner."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def create_model_instance(self, data: dict) -> Session:
        row = super().create_model_instance(data)
        if SESSION_KEY in data:
            at, row.browser = data.get(SIGNED_IN, (None, ""))
            row.user_id, row.signed_in_at = int(data[SESSION_KEY]), at and datetime.fromisoformat(at)
        if PROVIDER in data:
            row.provider_person, row.provider_session = data[PROVIDER][:2]
        return row


class EndsWhatIsOpen:
    """A password validator that ends sessions and tokens when a password is changed, in any way."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Accepts every password."""

    def get_help_text(self) -> str:
        return "A change signs you out in all other browsers and revokes all your tokens."

    @transaction.atomic
    def password_changed(self, password: str, user: User) -> None:
        audited(Act.PASSWORD, about=user)
        end_all(user)
        tokens.revoke_all(user)


def start(sender: object, request: HttpRequest, user: User, **more: object) -> None:
    """Store time and browser in a new session, and delete expired ones. A receiver of user_logged_in."""
    now = timezone.now()
    request.session[SIGNED_IN] = [now.isoformat(), browser_of(request.headers.get("User-Agent", ""))]
    Session.objects.filter(expire_date__lte=now).delete()


def browser_of(agent: str) -> str:
    """Browser and system, as in “Firefox on Linux”. The User-Agent itself is not stored."""
    browser = next((name for mark, name in BROWSERS.items() if mark in agent), "another program")
    system = next((name for mark, name in SYSTEMS.items() if mark in agent), "")
    return f"{browser} on {system}" if system else browser


def open_of(user: User, *, now: datetime | None = None) -> list[Session]:
    """The valid sessions of a person, the latest first."""
    return list(Session.objects.filter(user=user, expire_date__gt=now or timezone.now()))


def name_of(key: str) -> str:
    """The public name of a session. Its key cannot be computed from it."""
    return salted_hmac(__name__, key, algorithm="sha256").hexdigest()[:24]


def end(user: User, name: str) -> bool:
    """Whether the person had a session of this name. It is ended."""
    keys = Session.objects.filter(user=user).values_list("session_key", flat=True)
    named = [key for key in keys if constant_time_compare(name_of(key), name)]
    return bool(Session.objects.filter(session_key__in=named).delete()[0])


@transaction.atomic
def end_all(user: User, *, but: str | None = None) -> int:
    """How many sessions of the person were ended: all except the one with the key `but`."""
    mine = Session.objects.filter(user=user)
    number = (mine.exclude(session_key=but) if but else mine).delete()[0]
    if number:
        audited(Act.SESSIONS_ENDED, about=user, number=number)
    return number


@transaction.atomic
def end_by_provider(person: str, session: str) -> int:
    """How many sessions here ended because the provider ended one session, or all sessions of a person.

    Both are digests, and may be "". A session that has no name at the provider ends with any of its person.
    """
    ended = Session.objects.filter(provider_person=person) if person else Session.objects.none()
    if session:
        ended = ended.filter(provider_session="") | Session.objects.filter(provider_session=session)
    keys = list(ended.select_for_update().values_list("session_key", "user"))
    Session.objects.filter(session_key__in=[key for key, _ in keys]).delete()
    numbers = Counter(user for _, user in keys if user)
    for user in get_user_model().objects.filter(pk__in=numbers):
        audited(Act.SESSIONS_ENDED, about=user, number=numbers[user.pk], by_provider=True)
    return len(keys)
