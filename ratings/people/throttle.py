"""Rate limits for sign-ins, which allauth counts, and for calls of the API, which ninja counts.

The counts are in the cache that all processes share. A try that succeeds is taken back. Names and addresses are
stored as keyed hashes, for a minute or, of mail, a day.

A browser in which an account has signed in before has its own limit for that account, in place of the limit of its
address. Otherwise a stranger could lock people out of their accounts with wrong passwords, and one person in an
office could lock out all others there.
"""

import secrets
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac
from ninja.throttling import SimpleRateThrottle

from . import names
from .allauth_internals import RateLimitUsage, consume

TRIES_PER_ACCOUNT = 5  # in a minute, as all limits here that name no day
TRIES_PER_ADDRESS = 20
MINUTE, DAY = 60, 24 * 3600  # seconds
MAILS_A_DAY = 20  # for a forgotten password, to one address
NOTED_REFUSALS = 10  # of everybody together, that are written to the audit
CALLS_PER_TOKEN = 600
CALLS_PER_ADDRESS = 60  # without a token
SEARCHES_PER_ADDRESS = 30  # of the public help
DRAWINGS_PER_ADDRESS = 10  # charts of pages for people without an account
DEVICE_COOKIE = settings.COOKIE_PREFIX + "device"
DEVICE_SECONDS = 365 * DAY


class TooMany(Exception):
    """The limit of this minute is reached. Where a page has no answer of its own, `pages` has one."""


@dataclass(frozen=True)
class Try:
    """A try that is counted, by each of its limits."""

    counts: tuple[RateLimitUsage, ...]

    def uncount(self) -> None:
        """Take the try back out of all counts, because it succeeded."""
        for count in self.counts:
            count.rollback()


class Calls(SimpleRateThrottle):
    """The calls of one caller in a minute. Make one for each call: it keeps what it finds about it."""

    def __init__(self, caller: str, calls: int) -> None:
        super().__init__(f"{calls}/m")
        self.caller = caller

    def get_cache_key(self, request: HttpRequest) -> str:
        return f"calls:{_hashed(self.caller)}"


def begin(request: HttpRequest, username: str) -> Try:
    """Count a try to sign in as `username`, which need not exist. Raises TooMany."""
    if device := _device(request, username):
        return _count_try(("device", device, TRIES_PER_ACCOUNT))
    account = names.folded(username)
    return _count_try(("address", _address(request), TRIES_PER_ADDRESS), ("account", account, TRIES_PER_ACCOUNT))


def begin_proof(user: User, kind: str) -> Try:
    """Count a try to prove who one is, beyond a first password or an open session. Raises TooMany.

    `kind`: "code" for a second factor, which strangers cannot try, as they do not know the password; "change" for
    the old password at a change, which others could guess in a browser that was left signed in.
    """
    return _count_try((kind, str(user.pk), TRIES_PER_ACCOUNT))


def begin_visit(request: HttpRequest, kind: str) -> Try:
    """Count a try of somebody unknown, by their address. Raises TooMany.

    `kind` is where they go: to the provider, back from it, or to a link with a key.
    """
    return _count_try((kind, _address(request), TRIES_PER_ADDRESS))


def begin_mail(request: HttpRequest, address: str) -> Try:
    """Count a request for a mail to `address`, which need not be anybody's. Raises TooMany."""
    recipient = names.folded(address)
    return _count_try(
        ("mail", _address(request), TRIES_PER_ADDRESS),
        ("mail_to", recipient, TRIES_PER_ACCOUNT),
        ("mail_day", recipient, MAILS_A_DAY),
    )


def begin_refusal() -> Try:
    """Count a refused sign-in that is about to be written to the audit. Raises TooMany."""
    return _count_try(("refusal", "", NOTED_REFUSALS))


def first_use(kind: str, name: str, *, seconds: int) -> bool:
    """Note the use of the thing of this kind and name, and return whether it is the first in so many seconds."""
    return cache.add(f"used:{_hashed(f'{kind} {name}')}", 1, timeout=seconds)


def _count_try(*limits: tuple[str, str, int]) -> Try:
    """Count a try by each limit, and return it. Raises TooMany.

    A limit: (its kind, the value whose tries are counted, such as an address, the most tries of one value). Its
    period is a day for "mail_day", and a minute for all other kinds.
    """
    counts = []
    for kind, value, most in limits:
        seconds = DAY if kind == "mail_day" else MINUTE
        # allauth writes a rate as "5/60s/key": 5 times in 60 seconds for each key.
        rate = {"action": kind, "config": {kind: f"{most}/{seconds}s/key"}, "key": _hashed(value)}
        # Without `limit_get` allauth would ask for the method of the request, which is None here.
        count = consume(None, app="ratings", limit_get=True, **rate)
        if not count:  # the limit is reached
            raise TooMany
        counts.append(count)
    return Try(tuple(counts))


def allows_call(request: HttpRequest, kind: str, most: int, caller: str = "") -> bool:
    """Count a call of this kind, and return whether its caller made at most `most` of them in this minute.

    `caller`: the hash of a token; the address of the request if it is left out.
    """
    return Calls(f"{kind} {caller or _address(request)}", most).allow_request(request)


def remember_device(request: HttpRequest, response: HttpResponse, username: str) -> None:
    """Set the cookie of a browser in which `username` has signed in."""
    device = _device(request, username) or secrets.token_urlsafe(16)
    response.set_cookie(
        DEVICE_COOKIE,
        signing.dumps([_hashed(names.stored(username)), device], salt=__name__),
        max_age=DEVICE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _device(request: HttpRequest, username: str) -> str | None:
    """The random name of this browser; None if `username` has not signed in with it.

    The name is not folded: else somebody with a look-alike name could make browsers for the other account.
    """
    try:
        cookie = request.COOKIES.get(DEVICE_COOKIE, "")
        account, device = signing.loads(cookie, salt=__name__, max_age=DEVICE_SECONDS)
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
