"""Finds the address of the client and the scheme of a request that came through proxies.

A client can send any header. Each proxy appends to X-Forwarded-For the address that called it. With
IDEALIST_PROXIES=2 the second entry from the end was written by a proxy of the operator, and all before it may be
forged. Forwarded and X-Forwarded-Host are not read.
"""

from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse

FORWARDED_FOR, FORWARDED_PROTO = "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO"


class Proxies:
    """Middleware that sets REMOTE_ADDR to the client's address, and X-Forwarded-Proto to its trusted entry."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        meta = request.META
        proxies = settings.PROXIES
        schemes = entries(meta.pop(FORWARDED_PROTO, ""))
        if proxies and schemes:
            # Most proxies replace this header, so that it can have fewer entries than there are proxies.
            meta[FORWARDED_PROTO] = schemes[max(len(schemes) - proxies, 0)]
        meta["REMOTE_ADDR"] = client_address(meta.get(FORWARDED_FOR, ""), meta.get("REMOTE_ADDR", ""), proxies)
        return self.get_response(request)


def client_address(forwarded: str, peer: str, proxies: int) -> str:
    """The address that called the outermost of the operator's `proxies`.

    Where the header has too few entries, or no address at that place, it is the address of the `peer`, so that a
    forged header has no effect.
    """
    addresses = entries(forwarded)
    if not proxies or len(addresses) < proxies:
        return peer
    return address_in(addresses[-proxies]) or peer


def address_in(entry: str) -> str:
    """The address without port and brackets, as of 192.0.2.1:4711 and [2001:db8::1]:4711; "" where there is none.

    An IPv6 address without brackets has no port.
    """
    address = entry
    if entry.startswith("["):
        address = entry[1:].partition("]")[0]
    elif entry.count(":") == 1:  # IPv4 with a port; an IPv6 address has two colons or more
        address = entry.partition(":")[0]
    try:
        return str(ip_address(address))
    except ValueError:
        return ""


def entries(header: str) -> list[str]:
    """The entries between commas. The server has joined repeated headers into one."""
    return [part.strip() for part in header.split(",")] if header.strip() else []
