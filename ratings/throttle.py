"""Tries to sign in, and calls of the API: so many a minute, then none until the minute is over.

The tries are counted in the database, so that all workers and machines count together. They are slots that are
taken, not numbers that are raised: of two tries that want the last slot, the table's primary key lets one have it.
A try that succeeds gives its slots back. Names and addresses are kept as keyed hashes, for a minute.

A browser in which somebody has signed in before counts by itself for that account. Otherwise a stranger could keep
them out of their own account, a few wrong passwords a minute.

Calls of the API are counted by tens: a process takes a slot for ten calls, so that most of them write nothing. It
never lets more through than the limit; with several processes it may be a few less.
"""

import secrets
import time
import unicodedata
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from threading import Lock

from django.conf import settings
from django.core import signing
from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

PER_ACCOUNT = 5
PER_ADDRESS = 20
WINDOW = 60  # seconds
PER_TOKEN = 600
PER_ADDRESS_WITHOUT_TOKEN = 60
CALLS = 10  # that a slot is good for
DEVICE = "device"
DEVICE_AGE = 365 * 24 * 3600  # seconds


class TooMany(Exception):
    """There were too many tries in this minute."""


@dataclass(frozen=True)
class Try:
    slots: tuple[str, ...]

    def succeeded(self) -> None:
        caches["tries"].delete_many(self.slots)


def begin(request: HttpRequest, username: str) -> Try:
    """Count a try to sign in as `username`, whether there is such an account or not. Raises TooMany."""
    address = _slot("address", _address(request), PER_ADDRESS)
    account = address and _slot(*_account(request, username), PER_ACCOUNT)
    if not account:
        raise TooMany
    return Try((address, account))


def count_call(kind: str, value: str, calls: int) -> None:
    """Count a call of the API by `value`, which is a token or an address. Raises TooMany."""
    window, who = int(time.time() // WINDOW), f"{kind}:{value}"
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


def seconds_left() -> int:
    """Until the minute is over, and slots are free again."""
    return WINDOW - int(time.time() % WINDOW)


_left: dict[tuple[int, str], int] = {}  # calls left in slots that this process has taken, by minute and who
_lock = Lock()


def remember_device(request: HttpRequest, response: HttpResponse, username: str) -> None:
    """Mark this browser as one in which `username` has signed in."""
    device = _device(request, username) or secrets.token_urlsafe(16)
    response.set_cookie(
        DEVICE,
        signing.dumps([_hashed(_folded(username)), device], salt=__name__),
        max_age=DEVICE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _slot(kind: str, value: str, slots: int, *, when_locked: bool = False) -> str | None:
    """The first free slot, taken; None where all are. The minute is in the key: a slot is never taken again.

    `when_locked`: where the database takes no slot because it lets nobody write, one is given all the same.
    """
    window, tries, hashed = int(time.time() // WINDOW), caches["tries"], _hashed(value)
    keys = [f"{kind}:{hashed}:{window}:{number}" for number in range(slots)]
    taken = tries.get_many(keys)
    free = (key for key in keys if key not in taken)
    for key in free:
        if tries.add(key, 1, timeout=WINDOW) or (when_locked and tries.get(key) is None):
            return key
    return None


def _account(request: HttpRequest, username: str) -> tuple[str, str]:
    device = _device(request, username)
    return ("device", device) if device else ("account", _folded(username))


def _device(request: HttpRequest, username: str) -> str | None:
    """The name of this browser, if `username` has signed in here."""
    try:
        account, device = signing.loads(request.COOKIES.get(DEVICE, ""), salt=__name__, max_age=DEVICE_AGE)
    except signing.BadSignature:
        return None
    return device if account == _hashed(_folded(username)) else None


def _address(request: HttpRequest) -> str:
    """Where the request comes from. Behind a proxy, which HTTPS says there is, the last that it has added.

    Of IPv6 the network: one person has 2**64 addresses.
    """
    given = request.META.get("REMOTE_ADDR", "")
    if settings.HTTPS:
        given = request.headers.get("X-Forwarded-For", "").rsplit(",", 1)[-1].strip() or given
    try:
        address = ip_address(given)
    except ValueError:
        return given
    return str(ip_network((address, 64), strict=False) if address.version == 6 else address)


def _folded(username: str) -> str:
    return unicodedata.normalize("NFKC", username).strip().casefold()


def _hashed(value: str) -> str:
    return salted_hmac(__name__, value, algorithm="sha256").hexdigest()
