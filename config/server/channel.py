"""An HTTP connection with deadlines. The application admits or refuses a large body before it is read."""

import socket
import time
from dataclasses import dataclass
from io import BytesIO

from django.conf import settings
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import FixedStreamReceiver
from waitress.task import WSGITask
from waitress.utilities import Error

# The key of the WSGI environment with a list for the file of a large body: see ratings/imports/uploads.py.
BODY_KEY = "idealist.body"


@dataclass(frozen=True)
class Limits:
    """The limits of a connection, in seconds and bytes."""

    header: float = 15  # from the first byte of a request to the end of its header
    idle: float = 75  # between two requests; a proxy that keeps connections for a minute must close first
    window: float = 30  # in each window a body or response must progress by `min_bytes`
    min_bytes: int = 30 * 4096
    linger: float = 5  # for data that still arrives after a response that closes the connection
    stop: float = 30  # for open requests when the server stops
    small_body: int = 2**16  # the largest body that is read without asking the application
    connections: int = 4096
    threads: int = 8
    readers: int = 32  # further threads, each for a response that is streamed


class LengthRequired(Error):
    code = 411
    reason = "Length Required"


class SpooledBody:
    """A request body that is written to a file which the application provides."""

    def __init__(self, file) -> None:
        self.file = file

    def append(self, data: bytes) -> None:
        self.file.write(data)

    def getfile(self):
        self.file.seek(0)
        return self.file

    def close(self) -> None:
        self.file.close()


class Request(HTTPRequestParser):
    """A request that refuses ambiguous headers (request smuggling), and waits for admission of a large body."""

    awaits_admission = False  # a large body is not admitted yet; the loop reads no more of it
    body_file = None  # the file of the application, once the body is admitted

    def __init__(self, adj) -> None:
        super().__init__(adj)
        self.began = time.monotonic()
        self.pace: Progress | None = None

    def received(self, data: bytes) -> int:
        consumed = super().received(data)
        if self.chunked and not self.completed and self.body_bytes_received > self.adj.limits.small_body:
            self.error = LengthRequired("A large body needs a Content-Length.")
            self.completed = True
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # a length of thousands of digits, an address with half a bracket
            raise ParsingError("The header cannot be understood") from error
        if self.chunked and "CONTENT_LENGTH" in self.headers:
            raise ParsingError("Content-Length and Transfer-Encoding contradict each other")
        if "TRANSFER_ENCODING" in self.headers:  # only HTTP/1.1 knows it
            raise ParsingError("Transfer-Encoding without HTTP/1.1")
        if self.content_length > self.adj.limits.small_body:
            self.awaits_admission = True
            self.continues, self.expect_continue = self.expect_continue, False

    def admit(self) -> None:
        self.awaits_admission, self.expect_continue = False, self.continues
        self.body_rcv = FixedStreamReceiver(self.content_length, SpooledBody(self.body_file))
        self.pace = None

    def get_body_stream(self):
        return BytesIO() if self.awaits_admission else super().get_body_stream()

    def close(self) -> None:
        """Called by waitress after each task. After an `Admission` the request stays open."""
        if not self.awaits_admission:
            super().close()

    def abandon(self) -> None:
        """Discard the request and its body."""
        self.close()
        if self.body_file:
            self.body_file.close()


class Task(WSGITask):
    """Runs the application for a request. For HEAD it sends no body, which waitress leaves to the application."""

    @property
    def is_head(self) -> bool:
        return self.request.command == "HEAD"

    def get_environment(self) -> dict:
        environment = super().get_environment()
        if self.is_head:
            environment.pop("wsgi.file_wrapper", None)  # it sends the file for any method
        return environment

    def write(self, data: bytes) -> None:
        super().write(b"" if self.is_head else data)
        if self.is_head:
            self.chunked_response = False


class Admission(Task):
    """Calls the application with only the header of a request. Status 100 admits the body, others refuse it."""

    @property
    def admitted(self) -> bool:
        return self.status.startswith("100") and bool(self.files)

    def get_environment(self) -> dict:
        return super().get_environment() | {BODY_KEY: self.files}

    def service(self) -> None:
        self.files: list = []
        try:
            super().service()
        finally:
            self.close_on_finish = not self.admitted
            if self.files:
                self.request.body_file = self.files[0]
            if self.close_on_finish:
                self.request.abandon()

    def build_response_header(self) -> bytes:
        self.set_close_on_finish()
        return super().build_response_header()

    def write(self, data: bytes) -> None:
        if not self.admitted:
            super().write(data)


class Progress:
    """Measures whether a transfer moves at least `min_bytes` in each `window`, against slow-drip clients."""

    def __init__(self, limits: Limits, now: float, count: int) -> None:
        self.limits, self.since, self.count = limits, now, count

    def is_too_slow(self, now: float, count: int) -> bool:
        if now - self.since < self.limits.window:
            return False
        moved, self.since, self.count = count - self.count, now, count
        return moved < self.limits.min_bytes


class Channel(HTTPChannel):
    """A connection with deadlines. All methods but `service` and `write_soon` run in the thread of the loop."""

    parser_class = Request
    discards_until = 0.0  # set after the last response; further data are discarded until this time
    unread = b""  # received bytes of the next request, which are parsed once the response before it is sent

    def __init__(self, server, sock: socket.socket, addr, adj, map=None) -> None:
        self.limits: Limits = adj.limits
        self.idle_since = time.monotonic()
        self.had_request = False
        self.sent = 0
        self.sending: Progress | None = None
        super().__init__(server, sock, addr, adj, map)
        self.sendbuf_len = min(self.sendbuf_len, 2**18)  # bytes of a file that are read for each send

    def task_class(self, channel: HTTPChannel, request: Request) -> Task:
        return (Admission if request.awaits_admission else Task)(channel, request)

    # In the thread of the loop

    def readable(self) -> bool:
        if self.discards_until:
            return True
        awaits_admission = self.request is not None and self.request.awaits_admission
        return not (awaits_admission or self.unread) and super().readable()

    def writable(self) -> bool:
        return not self.discards_until and bool(super().writable())

    def handle_read(self) -> None:
        if not self.discards_until:
            super().handle_read()
            return
        try:
            self.recv(self.adj.recv_bytes)  # closes the channel at the end of the stream
        except OSError:
            self.handle_close()

    def handle_write(self) -> None:
        ends, self.close_when_flushed = self.close_when_flushed, False
        super().handle_write()
        if ends and self.connected:
            if self.total_outbufs_len:
                self.close_when_flushed = True
            else:
                self.linger()

    def linger(self) -> None:
        """Shut down the sending side, and wait `limits.linger` for the client to close.

        If a connection is closed with unread data, TCP sends a reset, which can discard the response.
        """
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()
        self.discards_until = time.monotonic() + self.limits.linger

    def received(self, data: bytes) -> bool:
        self.unread += data
        return self.parse()

    def parse(self) -> bool:
        """Parse the received bytes up to the end of one request. A pipelined request waits in `unread`."""
        while not (self.requests or self.total_outbufs_len or self.will_close or self.close_when_flushed):
            if self.request is None and not self.unread:
                break
            request = self.request = self.request or Request(self.adj)
            if request.awaits_admission and request.body_file:
                request.admit()
            used = request.received(self.unread) if self.unread else 0
            self.unread = self.unread[used:]
            if request.expect_continue and request.headers_finished and not self.sent_continue:
                self.send_continue()
            if request.completed:
                self.request, self.sent_continue = None, False
            if request.awaits_admission or (request.completed and not request.empty):
                with self.requests_lock:
                    self.requests.append(request)
                self.server.add_task(self)
            elif not self.unread:
                break
        return True

    def send(self, data: bytes, do_close: bool = True) -> int:
        sent = super().send(data, do_close)
        if sent:
            self.sent += sent
            self.idle_since = time.monotonic()
        return sent

    def handle_close(self) -> None:
        super().handle_close()
        self.unread = b""
        request, self.request = self.request, None
        if request is not None:
            request.abandon()

    def add_channel(self, map=None) -> None:
        super().add_channel(map)
        self.server.busy.add(self)

    def del_channel(self, map=None) -> None:
        if self._fileno is not None:  # None at the second call, where both the end and an error are reported
            self.server.unregister(self._fileno)
        super().del_channel(map)

    def is_overdue(self, now: float) -> bool:
        """Whether a deadline has passed. A request that a thread works on has none."""
        limits, request = self.limits, self.request
        if self.discards_until:
            return now > self.discards_until
        if self.total_outbufs_len:
            self.sending = self.sending or Progress(limits, now, self.sent)
            return self.sending.is_too_slow(now, self.sent)
        self.sending = None
        if self.requests:
            return False
        if request is None:
            return now > self.idle_since + (limits.idle if self.had_request else limits.header)
        if not request.headers_finished:
            # The time in which earlier requests were served does not count.
            return now > max(request.began, self.idle_since) + limits.header
        request.pace = request.pace or Progress(limits, now, 0)
        return request.pace.is_too_slow(now, request.body_bytes_received)

    def names_user(self) -> bool:
        """Whether the header of the request has a session or a token, which may be invalid."""
        headers = self.requests[0].headers
        return f"{settings.SESSION_COOKIE_NAME}=" in headers.get("COOKIE", "") or "AUTHORIZATION" in headers

    # In a thread of the application

    def service(self) -> None:
        self.server.busy.add(self)
        request = self.requests[0]
        self.served_since, self.sent_before = time.monotonic(), self.sent
        super().service()
        self.had_request, self.idle_since = True, time.monotonic()
        if request.awaits_admission and not self.connected:
            request.abandon()

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Wait until the client has read. Meanwhile the server has one more thread."""
        if self.total_outbufs_len > self.adj.outbuf_high_watermark:
            with self.server.one_more_thread(self):
                super()._flush_outbufs_below_high_watermark()

    def bytes_per_second(self) -> float:
        """The bytes of this response that the client has read per second."""
        return (self.sent - self.sent_before) / (time.monotonic() - self.served_since + 1)
