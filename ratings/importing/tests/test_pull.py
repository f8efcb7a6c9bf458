"""Requests to listed hosts alone, within limits of time and size, however hostile the host."""

import ast
import ipaddress
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ratings.importing import pull
from ratings.importing.pull import fetching, places

ROOT = Path(__file__).resolve().parents[3]
HERE = ["127.0.0.1/32"]


class Host(ThreadingHTTPServer):
    """A host on this machine. `answer(handler)` does what it does."""

    daemon_threads = True

    def __init__(self, answer) -> None:
        self.answer, self.asked = answer, []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/search"

    def handle_error(self, request, client_address) -> None:
        """Who hangs up is no error here."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked.append(self)
        self.server.answer(self)

    def send(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments) -> None:
        pass


@pytest.fixture
def host():
    """Start a host that answers so."""
    running = []

    def start(answer) -> Host:
        found = Host(answer)
        threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True).start()
        running.append(found)
        return found

    yield start
    for each in running:
        each.shutdown()
        each.server_close()


def asked(url: str, allowed: list[str] = HERE, **limits) -> bytes:
    place = pull.checked_place(url, allowed)
    return fetching.fetched(place, "GET", place.path, None, {}, pull.Limits(**limits))


def test_who_is_asked_too_much_is_asked_again_after_the_pause_that_they_name(host):
    pauses = []
    answers = iter([429, 503, 429])

    def answer(handler: Handler) -> None:
        status = next(answers, 200)
        handler.send(b"busy", status, **({"Retry-After": "7"} if status == 503 else {}))

    assert asked(host(answer).url, pause=pauses.append) == b"busy"
    assert pauses == [1.0, 7.0, 4.0]
    with pytest.raises(pull.Refused, match="it answers 503 Service Unavailable: 'no', 5 times"):
        asked(host(lambda handler: handler.send(b"no", 503)).url, pause=pauses.append)
    assert pauses[3:] == [1.0, 2.0, 4.0, 8.0]


# Hostile hosts


def endless(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while True:
        handler.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def slow_body(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    drip(handler)


def slow_head(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
    drip(handler)


def drip(handler: Handler) -> None:
    """Each byte comes in time, the whole never."""
    while True:
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.05)


HOSTILE = {
    "endless": (endless, "the answer is larger than 1 MB"),
    "slow body": (slow_body, "there is no complete answer after 0.5 seconds"),
    "slow head": (slow_head, "there is no complete answer after 0.5 seconds"),
    "redirect": (lambda h: h.send(b"", 302, Location="http://127.0.0.1:1/"), "No redirect is followed"),
    "not found": (lambda handler: handler.send(b"<h1>no</h1>", 404), "it answers 404 Not Found: '<h1>no</h1>'"),
    "compressed": (lambda handler: handler.send(b"x", Content_Encoding="gzip"), "compressed though none was"),
    "no HTTP": (lambda handler: handler.wfile.write(b"SSH-2.0-x\r\n"), "it cannot be reached"),
    "hangs up": (lambda handler: handler.connection.shutdown(socket.SHUT_RDWR), "it cannot be reached"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_or_broken_answer_is_refused(host, name):
    answer, said = HOSTILE[name]

    def reply(handler: Handler) -> None:
        answer(handler)
        handler.close_connection = True

    begun = time.monotonic()
    with pytest.raises(pull.Refused) as error:
        asked(host(reply).url, bytes=1_000_000, seconds=0.5)
    assert said in str(error.value)
    assert time.monotonic() - begun < 5


def test_all_tries_together_have_a_limit_of_time(host):
    with pytest.raises(fetching.TimedOut, match=r"all together took longer than 0\.3 seconds"):
        asked(host(slow_body).url, total_seconds=0.3)


def test_tls_that_is_none_is_refused(host):
    with pytest.raises(pull.Refused, match="its certificate or TLS is not accepted"):
        asked(host(lambda handler: handler.send(b"")).url.replace("http://", "https://"))


# Where requests may go


@pytest.mark.parametrize(
    ("url", "allowed", "said"),
    [
        ("https://es.example.org/", [], "No host may be asked until IDEALIST_PULL_HOSTS lists it"),
        ("https://es.example.org/", ["other.org"], "es.example.org:443 is not in IDEALIST_PULL_HOSTS"),
        ("http://127.0.0.1:9200/", ["localhost"], "127.0.0.1:9200 is not in IDEALIST_PULL_HOSTS"),
        ("http://127.0.0.1:9200/", ["127.0.0.1:11434"], "127.0.0.1:9200 is not in IDEALIST_PULL_HOSTS"),
        ("http://127.0.0.1/", ["127.0.0.0/8:11434"], "127.0.0.1:80 is not in IDEALIST_PULL_HOSTS"),
        ("http://[::1]/", ["[::1]:11434"], "[::1]:80 is not in IDEALIST_PULL_HOSTS"),
        ("http://localhost:80/", ["localhost:80", "127.0.0.1:81"], "is at 127.0.0.1, which is no public address"),
        ("https://es.example.org/", ["es.example.org:9243"], "es.example.org:443 is not in IDEALIST_PULL_HOSTS"),
        ("http://localhost/", ["localhost"], "is at 127.0.0.1, which is no public address"),
        ("http://metadata/", ["metadata"], "is at 169.254.169.254, which is no public address"),
        ("http://inside/", ["inside"], "is at 10.0.0.7, which is no public address"),
        ("http://mapped/", ["mapped"], "is at ::ffff:127.0.0.1, which is no public address"),
        ("http://nat64/", ["nat64"], "is at 64:ff9b::7f00:1, which is no public address"),
        ("http://six/", ["six"], "is at ::1, which is no public address"),
        ("http://nobody/", ["nobody"], "The host nobody is not found"),
        ("http://es.example.org:0/", ["es.example.org"], "has the port 0"),
        ("ftp://es.example.org/", ["es.example.org"], "is not an http:// or https:// address with a host"),
        ("file:///etc/passwd", [""], "is not an http:// or https:// address with a host"),
        ("http://user:secret@es.example.org/", ["es.example.org"], "has a name or password in it"),
        ("http://es.example.org/a b", ["es.example.org"], "has a blank or a character that must be written"),
        ("http://es.example.org/\r\nX: y", ["es.example.org"], "has a blank or a character"),
        ("http://es.example.org:99999/", ["es.example.org"], "cannot be read: Port out of range"),
        ("http://[::1/", ["::1"], "cannot be read"),
    ],
)
def test_a_place_that_may_not_be_asked_is_refused(monkeypatch, url, allowed, said):
    monkeypatch.setattr(places.socket, "getaddrinfo", looked_up)
    with pytest.raises(ValueError) as error:
        pull.checked_place(url, allowed)
    assert said in str(error.value)
    assert "secret" not in str(error.value)


NAMES = {
    "localhost": ["127.0.0.1"],
    "metadata": ["169.254.169.254"],
    "inside": ["10.0.0.7"],
    "mapped": ["::ffff:127.0.0.1"],
    "nat64": ["64:ff9b::7f00:1"],
    "six": ["::1"],
    "::1": ["::1"],
    "127.0.0.1": ["127.0.0.1"],
    "127.0.0.9": ["127.0.0.9"],
    "both": ["10.0.0.7", "93.184.215.14"],
    "es.example.org": ["93.184.215.14"],
}


def looked_up(host: str, port: int, **given) -> list:
    if host not in NAMES:
        raise socket.gaierror(-2, "Name or service not known")
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in NAMES[host]]


def test_a_listed_network_allows_its_addresses_and_of_several_only_an_allowed_one_is_asked(monkeypatch):
    monkeypatch.setattr(places.socket, "getaddrinfo", looked_up)
    place = pull.checked_place("http://inside:9200/a?b=c", ["inside", "10.0.0.0/8"])
    assert place == ("inside", 9200, False, "/a", "b=c", "10.0.0.7")
    assert pull.checked_place("http://[::1]:11434/v1", ["::1"]).port == 11434
    assert pull.checked_place("https://BOTH/", ["both"]).address == "93.184.215.14"


@pytest.mark.parametrize(
    ("listed", "open_", "shut"),
    [
        (["127.0.0.1:11434"], "http://127.0.0.1:11434/v1", "http://127.0.0.1:6379/"),
        (["127.0.0.0/8:11434"], "http://127.0.0.9:11434/v1", "http://127.0.0.9/"),
        (["[::1]:11434"], "http://[::1]:11434/v1", "http://[::1]:8000/"),
        (["inside:9200", "10.0.0.0/8"], "http://inside:9200/", "http://inside:9201/"),
        (["ES.example.org:443"], "https://es.example.org/", "http://es.example.org/"),
    ],
)
def test_a_listed_port_is_the_only_one_of_its_host(monkeypatch, listed, open_, shut):
    monkeypatch.setattr(places.socket, "getaddrinfo", looked_up)
    assert pull.checked_place(open_, listed)
    with pytest.raises(ValueError, match="is not in IDEALIST_PULL_HOSTS"):
        pull.checked_place(shut, listed)


INSIDE = ["127.0.0.1", "10.0.0.7", "169.254.169.254", "0.0.0.0", "100.64.0.1", "192.0.0.9", "224.0.0.1"]
# How IPv6 carries an IPv4 address: mapped, compatible, translated, 6to4, Teredo, and NAT64 of either prefix.
CLOTHES = [
    lambda ip: f"::ffff:{ip}",
    lambda ip: f"::{ip}",
    lambda ip: f"::ffff:0:{ip}",
    lambda ip: str(ipaddress.IPv6Address((0x2002 << 112) | (int(ip) << 80))),
    lambda ip: str(ipaddress.IPv6Address((0x20010000 << 96) | (0x08080808 << 64) | (int(ip) ^ 0xFFFFFFFF))),
    lambda ip: str(ipaddress.IPv6Address((0x20010000 << 96) | (int(ip) << 64) | 0xF7F7F7F7)),
    lambda ip: f"64:ff9b::{ip}",
    lambda ip: f"64:ff9b:1::{ip}",
]
# fmt: off
SPECIAL = [
    "0.0.0.1", "10.1.2.3", "100.127.255.254", "127.255.255.254", "169.254.0.1", "172.16.0.1", "172.31.255.255",
    "192.0.0.1", "192.0.0.10", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "224.0.1.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::", "::1",
    "::2", "64:ff9b:1:ffff::1", "100::1", "100:0:0:1::1", "2001::1", "2001:1::1", "2001:2::1", "2001:4:112::1",
    "2001:10::1", "2001:20::1", "2001:30::1", "2001:db8::1", "2002::1", "3fff::1", "3fff:fff::1", "4000::1",
    "5f00::1", "fc00::1", "fd12::1", "fe80::1", "fec0::1", "feff::1", "ff02::1", "ff0e::1", "ffff::1",
]
# fmt: on
PUBLIC = ["8.8.8.8", "93.184.215.14", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450::1", "240e::1"]


def is_asked(monkeypatch, address: str, *allowed: str) -> bool:
    found = [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, 80))]
    monkeypatch.setattr(places.socket, "getaddrinfo", lambda *given, **more: found)
    try:
        return pull.checked_place("http://engine/", ["engine", *allowed]).address == address
    except ValueError as error:
        assert "which is no public address" in str(error)
        return False


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("dressed", CLOTHES)
def test_an_inner_address_in_no_clothes_of_ipv6_is_public(monkeypatch, inside, dressed):
    assert not is_asked(monkeypatch, dressed(ipaddress.IPv4Address(inside)))


@pytest.mark.parametrize("address", SPECIAL)
def test_an_address_for_a_special_use_is_not_public(monkeypatch, address):
    assert not is_asked(monkeypatch, address)
    assert is_asked(monkeypatch, address, address)  # unless it is listed itself


@pytest.mark.parametrize("address", SPECIAL)
def test_a_library_that_calls_everything_global_opens_nothing_that_carries_another(monkeypatch, address):
    """Patch versions of Python differ in what they call global."""
    for family in (ipaddress.IPv4Address, ipaddress.IPv6Address):
        monkeypatch.setattr(family, "is_global", True)
    assert not is_asked(monkeypatch, address)


@pytest.mark.parametrize("address", [*PUBLIC, "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_a_public_address_is_asked_and_so_is_one_that_a_translator_leads_to(monkeypatch, address):
    assert is_asked(monkeypatch, address)


@pytest.mark.parametrize("address", ["::ffff:10.0.0.7", "64:ff9b::a00:7"])
def test_a_listed_network_of_ipv4_holds_in_the_clothes_of_ipv6(monkeypatch, address):
    assert is_asked(monkeypatch, address, "10.0.0.0/8")


def test_a_name_that_means_another_address_a_moment_later_changes_nothing(host, monkeypatch):
    """The name is looked up once, and what was checked is what is connected to."""
    found, asked_for = host(lambda handler: handler.send(b"so")), []

    def rebinding(name: str, port: int, *given, **more) -> list:
        asked_for.append(name)
        if len(asked_for) > 1 and name == "engine.test":
            raise AssertionError("looked up again")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    assert asked(found.url.replace("127.0.0.1", "engine.test"), ["engine.test", "127.0.0.1"]) == b"so"
    assert asked_for.count("engine.test") == 1
    assert found.asked[0].headers["Host"] == f"engine.test:{found.server_port}"


# Of all code, only this asks anybody anything

CLIENTS = {"http.client", "urllib.request", "requests", "httpx", "aiohttp", "urllib3", "socket", "ftplib"}
CLIENTS |= {"smtplib", "xmlrpc.client", "telnetlib", "poplib", "imaplib", "asyncio", "webbrowser", "pycurl"}


def imported(code: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
            "import_module",
            "__import__",
        ):
            found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return found


@pytest.mark.slow
def test_no_other_code_can_send_a_request():
    files = [file for app in ("config", "ratings", "evaluation") for file in (ROOT / app).rglob("*.py")]
    files = [file for file in files if file != ROOT / "config" / "server.py"]  # which listens
    asking = {
        str(file.relative_to(ROOT)): sorted(clients)
        for file in files
        if "tests" not in file.parts and (clients := imported(file.read_text()) & CLIENTS)
    }
    of_operator = {"ratings/people/mail.py": ["smtplib"], "ratings/people/sign_in/oidc.py": ["requests"]}
    by_pull = {
        "ratings/importing/pull/fetching.py": ["http.client", "socket"],
        "ratings/importing/pull/places.py": ["socket"],
    }
    assert asking == by_pull | of_operator


def test_the_walk_sees_a_client_that_is_planted():
    planted = "import urllib.request", "from urllib import request", "from http import client"
    for code in (*planted, "import_module('requests')"):
        assert imported(code) & CLIENTS
