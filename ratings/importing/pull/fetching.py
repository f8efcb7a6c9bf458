"""HTTP requests within limits of time and size, without redirects, proxies or a second DNS lookup."""

import http.client
import io
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .places import Place

BYTES_PER_READ = 1 << 16
RETRIED = {429, 503}  # too many requests; temporarily unavailable
TRIES = 5
LONGEST_PAUSE = 60.0  # seconds
LONGEST_QUOTE = 200  # characters of an error answer in a message


class Refused(ValueError):
    """There is no usable answer. The message says the problem."""


class Redirected(Refused):
    """The answer is a redirect, which is not followed. `location` is its Location header."""

    def __init__(self, location: str) -> None:
        self.location = location
        target = (location or "nowhere")[:LONGEST_QUOTE]
        super().__init__(f"it redirects to {target!r}. No redirect is followed; give that URL if it is meant")


class OverLimit(Refused):
    """An answer is larger than the limits allow, or all together took too long."""


class TimedOut(OverLimit):
    """No complete answer came in time."""


class WrongStatus(Refused):
    """The answer has another status than 200, after all tries."""

    def __init__(self, status: int, problem: str) -> None:
        self.status = status
        super().__init__(problem)


class Unreachable(Refused):
    """The connection failed or was cut."""


@dataclass
class Limits:
    """Limits of one answer, and of the time of all together. `pause` sleeps."""

    seconds: float = 30.0
    bytes: int = 20_000_000
    total_seconds: float = 3_600.0
    tries: int = TRIES  # of one request, while the server is overloaded
    pause: Callable[[float], None] = time.sleep
    begun: float = field(default_factory=time.monotonic)

    def time_left(self) -> float:
        """The seconds that remain for all requests. Raises OverLimit if none do."""
        left = self.begun + self.total_seconds - time.monotonic()
        if left <= 0:
            raise OverLimit(f"all together took longer than {self.total_seconds:g} seconds")
        return left


def fetched(
    place: Place, method: str, target: str, body: bytes | None, headers: Mapping[str, str], limits: Limits
) -> bytes:
    """The body of an answer with status 200, after retries where the server is overloaded. Raises Refused.

    `target`: path and query of the request.
    """
    for tried in range(1, limits.tries + 1):  # the number of this try
        status, answer_headers, content = response_of(place, method, target, body, headers, limits)
        if status == 200:
            return content
        if status not in RETRIED or tried == limits.tries:
            break
        limits.pause(min(_pause(answer_headers.get("Retry-After"), tried), limits.time_left()))
    if 300 <= status < 400:
        raise Redirected(answer_headers.get("Location", ""))
    message = content[:LONGEST_QUOTE].decode(errors="replace").strip()
    meaning = http.client.responses.get(status, "")
    times = f", {tried} times" if status in RETRIED and tried > 1 else ""
    raise WrongStatus(status, f"it answers {status} {meaning}: {message!r}{times}")


def response_of(
    place: Place, method: str, target: str, body: bytes | None, headers: Mapping[str, str], limits: Limits
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """The status, headers and body of the answer to one request, whatever the status. Raises Refused.

    `target`: path and query of the request.
    """
    end = time.monotonic() + min(limits.seconds, limits.time_left())
    connection = _Connection(place, end)
    try:
        connection.request(method, target, body, {"Accept-Encoding": "identity", "Connection": "close", **headers})
        answer = connection.getresponse()
        if answer.getheader("Content-Encoding", "identity") != "identity":
            raise Refused("the answer is compressed though none was asked for. Switch that off for this client")
        return answer.status, answer.headers, _content(answer, limits)
    except TimeoutError as error:
        limits.time_left()  # raises OverLimit if the time for all requests has run out
        raise TimedOut(f"there is no complete answer after {limits.seconds:g} seconds") from error
    except ssl.SSLError as error:
        raise Refused(f"its certificate or TLS is not accepted ({error.reason or error})") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        problem = f"it cannot be reached ({reason[:LONGEST_QUOTE]}). Check that it runs and speaks HTTP"
        raise Unreachable(problem) from error
    finally:
        connection.hang_up()


def without_key(text: str, key: str) -> str:
    """The text without the key, each character of which may be escaped: as in JSON, in a URL, in HTML."""
    escaped = "".join(
        ("" if c.isalnum() else r"\\{0,3}")
        + rf"(?:{re.escape(c)}|(?i:\\{{1,3}}u00{ord(c):02x}|%{ord(c):02x}|&\#(?:{ord(c)}|x{ord(c):x});))"
        for c in key
    )
    return re.sub(escaped, "…", text) if key else text


def _content(answer: http.client.HTTPResponse, limits: Limits) -> bytes:
    pieces, size = [], 0
    while piece := answer.read(BYTES_PER_READ):
        size += len(piece)
        if size > limits.bytes:
            raise OverLimit(f"the answer is larger than {limits.bytes / 1e6:g} MB")
        pieces.append(piece)
    if answer.length:  # `read` with a size does not report a cut-off answer
        raise http.client.IncompleteRead(b"", answer.length)
    return b"".join(pieces)


def _pause(retry_after: str | None, tried: int) -> float:
    """The seconds to wait after so many tries: those that the server asks for, or 1, 2, 4, …"""
    seconds = float(retry_after) if retry_after and retry_after.isdecimal() else 2.0 ** (tried - 1)
    return min(seconds, LONGEST_PAUSE)


class _Connection(http.client.HTTPConnection):
    """A connection to the checked address, with one deadline for all that happens on it."""

    def __init__(self, place: Place, end: float) -> None:
        super().__init__(place.host, place.port)
        # http.client leaves the default port out of the Host header.
        self.default_port = http.client.HTTPS_PORT if place.secure else http.client.HTTP_PORT
        self.place, self.end = place, end
        self.line: socket.socket | None = None

    def connect(self) -> None:
        left = max(self.end - time.monotonic(), 0.001)
        self.line = socket.create_connection((self.place.address, self.place.port), left)
        if self.place.secure:
            self.line.settimeout(max(self.end - time.monotonic(), 0.001))
            self.line = ssl.create_default_context().wrap_socket(self.line, server_hostname=self.place.host)
        self.sock = _Timed(self.line, self.end)

    def hang_up(self) -> None:
        self.close()
        if self.line:
            self.line.close()


class _Timed:
    """A socket whose timeout is the time left until `end`, so that all reads together meet the deadline."""

    def __init__(self, sock: socket.socket, end: float) -> None:
        self.sock, self.end = sock, end

    def sendall(self, data: bytes) -> None:
        self.hurry()
        self.sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reading(self))

    def hurry(self) -> None:
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.sock.settimeout(left)

    def close(self) -> None:
        """Nothing: http.client closes the socket before the answer is read. `hang_up` closes it."""


class _Reading(io.RawIOBase):
    def __init__(self, timed: _Timed) -> None:
        self.timed = timed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        self.timed.hurry()
        return self.timed.sock.recv_into(buffer)
