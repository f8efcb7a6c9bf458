"""A network that fails on purpose, between a browser and the server of a test."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PATIENCE = 30  # seconds
WHOLE = "whole"
DROP = "drop"  # nothing arrives
CUT = "cut"  # the server does it, and the browser never hears
TWICE = "twice"  # the server gets it two times
LATE = "late"  # it arrives after a while


@dataclass
class Proxy:
    """Passes HTTP requests on, one a connection, and does to each what `fate` says of its first line."""

    target: str
    fate: Callable[[str], str] = lambda line: WHOLE
    seen: list[tuple[str, str]] = field(default_factory=list)  # first line, fate
    door: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))

    @property
    def url(self) -> str:
        return f"http://localhost:{self.door.getsockname()[1]}"

    def serve(self) -> None:
        while True:
            try:
                browser, _ = self.door.accept()
            except OSError:
                return  # closed: the test is over
            threading.Thread(target=self.pass_on, args=[browser], daemon=True).start()

    def pass_on(self, browser: socket.socket) -> None:
        with browser:
            browser.settimeout(PATIENCE)
            request = whole_request(browser)
            line = request.partition(b"\r\n")[0].decode()
            if not line:
                return
            fate = self.fate(line)
            self.seen.append((line, fate))
            if fate == DROP:
                return
            if fate == LATE:
                time.sleep(0.7)
            if fate == TWICE:
                self.answer(request)
            answer = self.answer(request)
            if fate != CUT:
                browser.sendall(answer)

    def answer(self, request: bytes) -> bytes:
        parts = urlsplit(self.target)
        with socket.create_connection((parts.hostname, parts.port), PATIENCE) as server:
            # One request a connection, so that its end is the end of the answer.
            server.sendall(request.replace(b"Connection: keep-alive", b"Connection: close", 1))
            return b"".join(iter(lambda: server.recv(65_536), b""))


def whole_request(browser: socket.socket) -> bytes:
    """All bytes of one request: its head, and as much body as the head says."""
    request = b""
    while b"\r\n\r\n" not in request:
        part = browser.recv(65_536)
        if not part:
            return b""
        request += part
    head, _, body = request.partition(b"\r\n\r\n")
    lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    missing = (int(lengths[0].split(b":")[1]) if lengths else 0) - len(body)
    while missing > 0:
        part = browser.recv(missing)
        if not part:
            return b""
        request, missing = request + part, missing - len(part)
    return request


@contextmanager
def proxy_to(target: str) -> Iterator[Proxy]:
    proxy = Proxy(target)
    threading.Thread(target=proxy.serve, daemon=True).start()
    try:
        yield proxy
    finally:
        proxy.door.close()
