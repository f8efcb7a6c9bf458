"""The hosts that requests may go to: those that the operator listed, at public or listed addresses.

A name is looked up once, and the connection goes to the checked address. So DNS rebinding has no effect.
"""

import ipaddress
import socket
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
SETTING = "IDEALIST_PULL_HOSTS"
# For names alone: the pages allow no address, and no host of a judge.
ON_A_PAGE = "For pictures and search engines a superuser can allow it on their page, too"
PORTS = {"http": 80, "https": 443}
# Global unicast addresses of IPv6. Loopback, site-local, multicast and IPv4-mapped addresses lie outside.
GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
# Not public, though some versions of `ipaddress` take some of them for global.
SPECIAL = [
    ipaddress.ip_network(each)
    for each in (
        "100.64.0.0/10",  # shared by a provider's customers
        "192.0.0.0/24",  # protocols
        "192.88.99.0/24",  # relays for 6to4
        "2001::/23",  # protocols, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: carries an IPv4 address, which could be any
        "3fff::/20",  # documentation
    )
]
# NAT64 translates these addresses to the IPv4 address in their last 32 bits.
NAT64 = ipaddress.ip_network("64:ff9b::/96")


class Place(NamedTuple):
    """A URL whose host was checked, in parts, and the address to connect to."""

    host: str  # as the URL has it, for TLS and the Host header
    port: int
    secure: bool
    path: str
    query: str
    address: str


def checked_place(url: str, allowed: Sequence[str]) -> Place:
    """The place of a URL, after one DNS lookup. Raises ValueError if requests may not go there."""
    place = listed_place(url, allowed)
    return place._replace(address=_address_of(place.host, place.port, hosts_at(place.port, allowed)))


def listed_place(url: str, allowed: Sequence[str]) -> Place:
    """The place of a URL whose host is listed, without an address: no DNS lookup is made. Raises ValueError.

    `allowed`: the listed names, addresses and networks, each for all ports or as `host:port`.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ValueError(f"The URL {url!r} cannot be read: {error}. Give one such as https://host/path") from error
    if parts.scheme not in PORTS or not host:
        raise ValueError(f"The URL {url!r} is not an http:// or https:// address with a host")
    if parts.username is not None or parts.password is not None:
        cure = "Leave it out. A search engine has it in a variable IDEALIST_ENGINE_…, which its form names"
        raise ValueError(f"The URL has a name or password in it. {cure}")
    # An address has only the characters from ! to ~, which are those of ASCII that are printed and no blank.
    if any(not "!" <= character <= "~" for character in url):
        raise ValueError(f"The URL {url!r} has a blank or a character that must be written as %…")
    if parts.fragment:
        raise ValueError(f"The URL {url!r} has a #, and what follows it is never sent. Leave it out")
    if port == 0:
        raise ValueError(f"The URL {url!r} has the port 0, on which no server listens")
    port = port or PORTS[parts.scheme]
    hosts = hosts_at(port, allowed)
    _refuse_unlisted(host, port, hosts, allowed)
    return Place(host, port, parts.scheme == "https", parts.path or "/", parts.query, address="")


def hosts_at(port: int, allowed: Sequence[str]) -> list[str]:
    """The listed names, addresses and networks that may be asked at this port: with this port, or with none."""
    hosts_and_ports = map(_parts_of, allowed)
    return [host for host, listed_port in hosts_and_ports if listed_port in ("", str(port))]


def _parts_of(listed: str) -> tuple[str, str]:
    """Host and port of `host:port` or `[::1]:port`. The port is "" where there is none."""
    host, _, port = listed.rpartition(":")
    is_whole = not port.isdecimal() or (":" in host and not host.endswith("]"))  # all of it is an address of IPv6
    return (listed, "") if is_whole else (host.strip("[]"), port)


def _refuse_unlisted(host: str, port: int, hosts: Sequence[str], allowed: Sequence[str]) -> None:
    literal = _literal(host)
    cure = "Add it there" if literal else f"Add it there. {ON_A_PAGE}"
    if not allowed:
        raise ValueError(f"No host may be asked until {SETTING} lists it, such as {host}. {cure}")
    listed = _is_in(literal, hosts) if literal else host.lower() in {each.lower() for each in hosts}
    if not listed:
        at = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise ValueError(f"The host {at} is not in {SETTING}, which has {', '.join(allowed)}. {cure}")


def _address_of(host: str, port: int, allowed: Sequence[str]) -> str:
    """The first of the host's addresses that may be asked, after one DNS lookup. Raises ValueError without one.

    `allowed`: addresses and networks that may be asked at this port though they are not public.
    """
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"The host {host} is not found ({getattr(error, 'strerror', None) or error})") from error
    addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in entries))  # each once
    for address in addresses:
        without_zone = address.split("%")[0]  # as fe80::1 of fe80::1%eth0
        if _is_allowed(ipaddress.ip_address(without_zone), allowed):
            return address
    size = 32 if "." in addresses[0] else 128  # all bits: the message proposes the network of this address alone
    raise ValueError(
        f"The host {host} is at {', '.join(addresses)}, which is no public address. If that is meant, add the"
        f" address or its network, such as {addresses[0]}/{size}, to {SETTING}"
    )


def _is_allowed(address: Address, allowed: Sequence[str]) -> bool:
    destination = _destination(address)
    return _is_in(address, allowed) or _is_in(destination, allowed) or _is_public(destination)


def _destination(address: Address) -> Address:
    """The address at which packets arrive: the IPv4 address of an IPv4-mapped or NAT64 one."""
    if address.version == 6 and address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return getattr(address, "ipv4_mapped", None) or address


def _is_public(address: Address) -> bool:
    """Whether the address is surely public; False for unknown ones."""
    if address.version == 6 and address not in GLOBAL_UNICAST:
        return False
    if any(address in network for network in SPECIAL if network.version == address.version):
        return False
    is_local = address.is_private or address.is_loopback or address.is_link_local or address.is_unspecified
    return address.is_global and not (is_local or address.is_multicast or address.is_reserved)


def _is_in(address: Address, allowed: Sequence[str]) -> bool:
    """Whether one of the listed addresses and networks contains it. Names in the list are skipped."""
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
