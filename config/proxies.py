"""The client's address and scheme of a request that came through proxies.

A client can send any header. Each proxy appends to X-Forwarded-For the address that called it. With
IDEALIST_PROXIES=2 the second entry from the end was written by a proxy of the operator, and all before it may be
forged. Forwarded and X-Forwarded-Host are not read.
"""

from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse

FOR, SCHEME = "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO"


class Proxies:
    """Middleware that sets REMOTE_ADDR to the client's address, and X-Forwarded-Proto to its trusted entry."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        facts, proxies = request.META, settings.PROXIES
        schemes = parts(facts.pop(SCHEME, ""))
        if proxies and schemes:
            # Most proxies replace the header, so that it can have fewer entries than there are proxies.
            facts[SCHEME] = schemes[max(len(schemes) - proxies, 0)]
        facts["REMOTE_ADDR"] = visitor(facts.get(FOR, ""), facts.get("REMOTE_ADDR", ""), proxies)
        return self.get_response(request)


def visitor(forwarded: str, peer: str, proxies: int) -> str:
    """The address that called the outermost proxy of the operator.

    Where the header has too few entries, or no address at that place, it is that of the peer: a forged header
    gives no other address.
    """
    hops = parts(forwarded)
    if not proxies or len(hops) < proxies:
        return peer
    return address_in(hops[-proxies]) or peer


def address_in(hop: str) -> str:
    """The address without port and brackets, as of 192.0.2.1:4711 and [2001:db8::1]:4711; "" where there is none.

    An IPv6 address without brackets has no port.
    """
    bare = hop
    if hop.startswith("["):
        bare = hop[1:].partition("]")[0]
    elif hop.count(":") == 1:
        bare = hop.partition(":")[0]
    try:
        return str(ip_address(bare))
    except ValueError:
        return ""


def parts(header: str) -> list[str]:
    """The entries between commas. The server joins repeated headers to one."""
    return [part.strip() for part in header.split(",")] if header.strip() else []
