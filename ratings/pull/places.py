"""Where requests may go: hosts that the operator listed, at addresses that are public or listed, too.

A name is looked up once, and the address that was checked is the one that is connected to: what the name stands
for a moment later changes nothing.
"""

import ipaddress
import socket
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
SETTING = "IDEALIST_PULL_HOSTS"
PORTS = {"http": 80, "https": 443}
# They carry the address of somebody else inside, which could be any.
WRAPPED = [ipaddress.ip_network(each) for each in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")]


class Place(NamedTuple):
    """A URL whose host was checked, and the address to connect to."""

    host: str  # as the URL has it, for TLS and the Host header
    port: int
    secure: bool
    path: str
    query: str
    address: str


def checked_place(url: str, allowed: Sequence[str]) -> Place:
    """Raises ValueError for a URL that requests may not go to. One look-up of the name."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ValueError(f"The URL {url!r} cannot be read: {error}. Give one such as https://host/path") from error
    if parts.scheme not in PORTS or not host:
        raise ValueError(f"The URL {url!r} is none of http:// or https:// with a host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("The URL has a name or password in it. Put that into an environment variable")
    if any(not "!" <= character <= "~" for character in url):
        raise ValueError(f"The URL {url!r} has a blank or a character that must be written as %…")
    if parts.fragment:
        raise ValueError(f"The URL {url!r} has a # in it, which is never sent")
    port = port or PORTS[parts.scheme]
    _refuse_strangers(host, allowed)
    address = _address_of(host, port, allowed)
    return Place(host, port, parts.scheme == "https", parts.path or "/", parts.query, address)


def _refuse_strangers(host: str, allowed: Sequence[str]) -> None:
    if not allowed:
        raise ValueError(f"Nothing is fetched from anywhere until {SETTING} lists the hosts, such as {host}")
    literal = _literal(host)
    listed = _is_in(literal, allowed) if literal else host.lower() in {each.lower() for each in allowed}
    if not listed:
        raise ValueError(f"The host {host} is not in {SETTING}, which has {', '.join(allowed)}. Add it there")


def _address_of(host: str, port: int, allowed: Sequence[str]) -> str:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"The host {host} is not found ({getattr(error, 'strerror', None) or error})") from error
    addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
    fit = [address for address in addresses if _may_be_asked(ipaddress.ip_address(address.split("%")[0]), allowed)]
    if not fit:
        raise ValueError(
            f"The host {host} is at {', '.join(addresses)}, which is no public address. If that is meant, add the"
            f" address or its network, such as {addresses[0]}/{32 if '.' in addresses[0] else 128}, to {SETTING}"
        )
    return fit[0]


def _may_be_asked(address: Address, allowed: Sequence[str]) -> bool:
    address = getattr(address, "ipv4_mapped", None) or address
    wrapped = any(address in network for network in WRAPPED if network.version == address.version)
    return _is_in(address, allowed) or (address.is_global and not address.is_multicast and not wrapped)


def _is_in(address: Address, allowed: Sequence[str]) -> bool:
    """Whether one of the listed addresses and networks has it. Names among them are passed over."""
    for each in allowed:
        try:
            network = ipaddress.ip_network(each, strict=False)
        except ValueError:
            continue
        if network.version == address.version and address in network:
            return True
    return False


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
