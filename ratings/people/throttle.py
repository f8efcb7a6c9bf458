"""Rate limits for sign-ins and for calls of the API, in fixed windows of a minute.

The counts are in the database, or in Valkey or Redis, so that they hold for all processes and machines. A count
consists of slots: a try inserts the row of a free slot. If two tries want the last slot, the primary key (or SET
with NX) lets only one have it. A successful try gives its slots back. Names and addresses are stored as keyed
hashes, for a minute.

A browser in which an account has signed in before has its own limit for that account, in place of the limit of its
address. Otherwise a stranger could lock people out of their accounts with wrong passwords, and one person in an
office could lock out all others there.

A slot of the API stands for ten calls, so that most calls write nothing. The limit is never exceeded; with several
processes it may be a few calls lower.
"""

import pickle
import secrets
import time
from base64 import b64encode
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import ip_address, ip_network
from threading import Lock

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.core import signing
from django.core.cache import caches
from django.core.cache.backends.db import DatabaseCache
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from . import names

PER_ACCOUNT = 5
PER_ADDRESS = 20
WINDOW = 60  # seconds
NOTED_REFUSALS = 10  # of everybody together, that are written to the audit
PER_TOKEN = 600
PER_ADDRESS_WITHOUT_TOKEN = 60
CALLS = 10  # of a slot
DEVICE = settings.COOKIE_PREFIX + "device"
DEVICE_AGE = 365 * 24 * 3600  # seconds


class TooMany(Exception):
    """The limit of this minute is reached."""


@dataclass(frozen=True)
class Try:
    slots: tuple[str, ...]

    def succeeded(self) -> None:
        caches["tries"].delete_many(self.slots)


def begin(request: HttpRequest, username: str) -> Try:
    """Count a try to sign in as `username`, which need not exist. Raises TooMany."""
    device = _device(request, username)
    if device:
        return _begin(("device", device, PER_ACCOUNT))
    return _begin(("address", _address(request), PER_ADDRESS), ("account", names.folded(username), PER_ACCOUNT))


def begin_change(user: AbstractBaseUser) -> Try:
    """Count a try to change the password, which asks for the old one. Raises TooMany.

    The limit keeps others from guessing the password in a browser that was left signed in.
    """
    return _begin(("change", str(user.pk), PER_ACCOUNT))


def begin_code(user: AbstractBaseUser) -> Try:
    """Count a try to give a second factor. Raises TooMany.

    Only people who know the password come to this step, so strangers cannot use up these tries.
    """
    return _begin(("code", str(user.pk), PER_ACCOUNT))


def begin_visit(request: HttpRequest, kind: str) -> Try:
    """Count a try of somebody unknown, by their address. Raises TooMany.

    `kind` is where they go: to the provider, back from it, or to a link with a key.
    """
    return _begin((kind, _address(request), PER_ADDRESS))


def begin_mail(request: HttpRequest, address: str) -> Try:
    """Count a request for a mail to `address`, which need not be anybody's. Raises TooMany."""
    return _begin(("mail", _address(request), PER_ADDRESS), ("mail_to", names.folded(address), PER_ACCOUNT))


def begin_refusal() -> Try:
    """Count a refused sign-in that is about to be written to the audit. Raises TooMany."""
    return _begin(("refusal", "", NOTED_REFUSALS))


def first_use(whose: str, code: str, seconds: int = 5 * WINDOW) -> bool:
    """Whether this code of a person or a kind was not used in the last `seconds`. From now on it is used."""
    return caches["tries"].add(f"used:{_hashed(f'{whose} {code}')}", 1, timeout=seconds)


def _begin(*limits: tuple[str, str, int]) -> Try:
    taken = []
    for limit in limits:
        slot = _slot(*limit)
        if not slot:
            raise TooMany
        taken.append(slot)
    return Try(tuple(taken))


def count_call(kind: str, value: str, calls: int) -> None:
    """Count a call of the API by `value`, which is a token or an address. Raises TooMany."""
    window, who = minute(), f"{kind}:{value}"
    with _lock:
        if _left.get((window, who)):
            _left[window, who] -= 1
            return
    if not _slot(kind, value, calls // CALLS, when_locked=True):
        raise TooMany
    with _lock:
        for former in [key for key in _left if key[0] != window]:
            del _left[former]
        _left[window, who] = _left.get((window, who), 0) + CALLS - 1


def count_call_of_nobody(request: HttpRequest) -> None:
    """Count a call of the API without a token that works. Raises TooMany."""
    count_call("nobody", _address(request), PER_ADDRESS_WITHOUT_TOKEN)


def forget_old() -> None:
    """Delete expired slots. Django's cache in the database does so only now and then."""
    if not _in_database():
        return
    with connection.cursor() as cursor:
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        cursor.execute("DELETE FROM tries WHERE expires < %s", [now])


def minute() -> int:
    """The number of this minute."""
    return int(time.time() // WINDOW)


def seconds_left() -> int:
    """The seconds until the end of this minute."""
    return WINDOW - int(time.time() % WINDOW)


_left: dict[tuple[int, str], int] = {}  # (minute, who) → calls left in the slots of this process
_lock = Lock()


def remember_device(request: HttpRequest, response: HttpResponse, username: str) -> None:
    """Set the cookie of a browser in which `username` has signed in."""
    device = _device(request, username) or secrets.token_urlsafe(16)
    response.set_cookie(
        DEVICE,
        signing.dumps([_hashed(names.stored(username)), device], salt=__name__),
        max_age=DEVICE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _slot(kind: str, value: str, slots: int, *, when_locked: bool = False) -> str | None:
    """The key of a slot that was free and is taken now; None if all are taken. The key includes the minute.

    `when_locked`: if the cache cannot be written, return a slot without taking it.
    """
    window, tries, hashed = minute(), caches["tries"], _hashed(value)
    keys = [f"{kind}:{hashed}:{window}:{number}" for number in range(slots)]
    try:
        taken = tries.get_many(keys)
        for key in (key for key in keys if key not in taken):
            if tries.add(key, 1, timeout=WINDOW):
                return key
            # Nobody took it: the write failed. Django's cache in the database hides such an error.
            if _in_database() and tries.get(key) is None:
                return key if when_locked else _insert(key)
    except ConnectionError:  # of Valkey or Redis
        if not when_locked:
            raise
        return keys[0]
    return None


def _in_database() -> bool:
    return isinstance(caches["tries"], DatabaseCache)


def _insert(key: str) -> str:
    """The key of the slot, after a direct insert: Django's cache would hide an error of the database."""
    value = b64encode(pickle.dumps(1)).decode()
    ends = timezone.now().replace(microsecond=0) + timedelta(seconds=WINDOW)
    with connection.cursor() as cursor:
        row = [caches["tries"].make_key(key), value, connection.ops.adapt_datetimefield_value(ends)]
        cursor.execute("INSERT INTO tries (cache_key, value, expires) VALUES (%s, %s, %s)", row)
    return key


def _device(request: HttpRequest, username: str) -> str | None:
    """The random name of this browser; None if `username` has not signed in with it.

    The name is not folded: else somebody with a look-alike name could make browsers for the other account.
    """
    try:
        account, device = signing.loads(request.COOKIES.get(DEVICE, ""), salt=__name__, max_age=DEVICE_AGE)
    except signing.BadSignature:
        return None
    return device if account == _hashed(names.stored(username)) else None


def _address(request: HttpRequest) -> str:
    """The client's address; for IPv6 its /64 network, all of which one person may have."""
    text = request.META.get("REMOTE_ADDR", "")
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return text
    # On a dual-stack socket IPv4 clients appear as ::ffff:192.0.2.1, all in one /64 network.
    address = getattr(address, "ipv4_mapped", None) or address
    return str(ip_network((address, 64), strict=False) if address.version == 6 else address)


def _hashed(value: str) -> str:
    return salted_hmac(__name__, value, algorithm="sha256").hexdigest()
