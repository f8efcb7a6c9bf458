"""Rate limits for sign-ins and for calls of the API, by allauth and ninja, over the cache of all processes.

A successful try is given back. Names and addresses are stored as keyed hashes, for a minute or, of mail, a day.

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

PER_ACCOUNT = 5
PER_ADDRESS = 20
WINDOW, DAY = 60, 24 * 3600  # seconds
MAILS_A_DAY = 20  # for a forgotten password, to one address
NOTED_REFUSALS = 10  # of everybody together, that are written to the audit
PER_TOKEN = 600
PER_ADDRESS_WITHOUT_TOKEN = 60
SEARCHES = 30  # of the public help, by address
DEVICE = settings.COOKIE_PREFIX + "device"
DEVICE_AGE = 365 * 24 * 3600  # seconds


class TooMany(Exception):
    """The limit of this minute is reached."""


@dataclass(frozen=True)
class Try:
    counts: tuple[RateLimitUsage, ...]

    def succeeded(self) -> None:
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
    device = _device(request, username)
    if device:
        return _begin(("device", device, PER_ACCOUNT))
    return _begin(("address", _address(request), PER_ADDRESS), ("account", names.folded(username), PER_ACCOUNT))


def begin_change(user: User) -> Try:
    """Count a try to change the password, which asks for the old one. Raises TooMany.

    The limit keeps others from guessing the password in a browser that was left signed in.
    """
    return _begin(("change", str(user.pk), PER_ACCOUNT))


def begin_code(user: User) -> Try:
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
    to = names.folded(address)
    mine, a_day = ("mail", _address(request), PER_ADDRESS), ("mail_day", to, MAILS_A_DAY, DAY)
    return _begin(mine, ("mail_to", to, PER_ACCOUNT), a_day)


def begin_refusal() -> Try:
    """Count a refused sign-in that is about to be written to the audit. Raises TooMany."""
    return _begin(("refusal", "", NOTED_REFUSALS))


def first_use(whose: str, code: str, seconds: int = 5 * WINDOW) -> bool:
    """Whether this code of a person or a kind was not used in the last `seconds`. From now on it is used."""
    return cache.add(f"used:{_hashed(f'{whose} {code}')}", 1, timeout=seconds)


def _begin(*limits: tuple[str, str, int] | tuple[str, str, int, int]) -> Try:
    """Count a try for each limit: its kind, what is counted, how many, and in how many seconds if not WINDOW."""
    counts = []
    for kind, value, most, *seconds in limits:
        config = {kind: f"{most}/{seconds[0] if seconds else WINDOW}s/key"}
        rate = {"action": kind, "config": config, "key": _hashed(value)}
        count = consume(None, app="ratings", limit_get=True, **rate)
        if not count:
            raise TooMany
        counts.append(count)
    return Try(tuple(counts))


def count_call(request: HttpRequest, token: str) -> None:
    """Count a call of the API with a token. Raises TooMany."""
    _count(request, Calls(f"token {token}", PER_TOKEN))


def count_call_of_nobody(request: HttpRequest) -> None:
    """Count a call of the API without a token that works. Raises TooMany."""
    _count(request, Calls(f"address {_address(request)}", PER_ADDRESS_WITHOUT_TOKEN))


def count_search(request: HttpRequest) -> None:
    """Count a search in the help, which is public. Raises TooMany."""
    _count(request, Calls(f"search {_address(request)}", SEARCHES))


def _count(request: HttpRequest, calls: Calls) -> None:
    if not calls.allow_request(request):
        raise TooMany


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
