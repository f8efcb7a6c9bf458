"""`python -m config.server HOST:PORT` or `fd://NUMBER`: waitress, with deadlines and a limit of all bodies.

A loop reads and writes for all connections; one of eight threads gets a request once it is complete, and writes
its answer into a buffer. So a client that is silent, drips, or does not read costs a connection and no thread. For
more processes, start the command once for each, behind a proxy.
"""

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread

import django
from django.conf import settings
from django.core.management import CommandError, call_command
from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.buffers import OverflowableBuffer
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import FixedStreamReceiver
from waitress.server import TcpWSGIServer
from waitress.utilities import RequestEntityTooLarge

from . import worker

MANAGE = [sys.executable, str(Path(__file__).parents[1] / "manage.py")]
CONNECTIONS_PER_ROUND = 50  # that the loop accepts, and that it closes where there are too many
TIMEOUT = 30  # seconds without a sign of life, for a header, and for open requests when the server stops
LIMITS = {"threads": 8, "channel_timeout": TIMEOUT, "cleanup_interval": 5, "max_request_header_size": 2**15}
# In bytes. What is above the overflow goes into a temporary file. An answer above the watermark holds a thread
# until its client has read.
BUFFERS = {"recv_bytes": 2**16, "inbuf_overflow": 2**17, "outbuf_overflow": 2**20, "outbuf_high_watermark": 2**30}
# `Request` limits bodies, and config/proxies.py decides which headers of proxies count.
OFF = {"max_request_body_size": 2**62, "clear_untrusted_proxy_headers": False, "log_socket_errors": False}


class Discarded(OverflowableBuffer):
    def append(self, data: bytes) -> None:
        """Keep nothing."""


class Request(HTTPRequestParser):
    """A request whose large body is stored only where the application has room for it.

    What is not stored is read nevertheless: a client that still sends would not see the answer.
    """

    def parse_header(self, header_plus: bytes) -> None:
        super().parse_header(header_plus)
        self.headers.pop("IDEALIST_UNREAD", None)  # a client's own would take its body out of the sum
        # Only HTTP/1.1 knows Transfer-Encoding, and waitress removes it there.
        if "TRANSFER_ENCODING" in self.headers or (self.chunked and "CONTENT_LENGTH" in self.headers):
            raise ParsingError("The length of the body is ambiguous")
        if self.content_length > settings.SMALL_BODY and not self.adj.server.has_room(self):
            self.headers["IDEALIST_UNREAD"] = "1"  # for ratings/importing/uploads.py
            self.body_rcv = FixedStreamReceiver(self.content_length, Discarded(0))

    def received(self, data: bytes) -> int:
        used = super().received(data)
        if self.chunked and self.body_bytes_received > settings.SMALL_BODY:
            self.error, self.completed = RequestEntityTooLarge("A large body needs a Content-Length."), True
        if self.completed and not self.empty and used < len(data):  # of requests in one go the first is answered
            self.headers["CONNECTION"], used = "close", len(data)
        return used


class Channel(HTTPChannel):
    parser_class = Request
    began = 0.0  # when the first byte of the present request came

    def received(self, data: bytes) -> bool:
        self.began = self.began if self.request else time.time()
        return super().received(data)

    def is_busy(self) -> bool:
        return bool(self.requests or self.total_outbufs_len)

    def is_late(self, now: float) -> bool:
        """Whether the client drips, or does not read. waitress closes only connections that are silent."""
        if self.request:
            return now > self.began + TIMEOUT + self.request.body_bytes_received / 4_096  # bytes a second
        return self.total_outbufs_len > 0 and now > self.last_activity + TIMEOUT


class Server(TcpWSGIServer):
    channel_class = Channel

    def has_room(self, request: Request) -> bool:
        from ratings.importing import uploads

        requests = [each for one in self.active_channels.values() for each in (one.request, *one.requests) if each]
        stored = sum(each.content_length for each in requests if "IDEALIST_UNREAD" not in each.headers)
        return uploads.has_room(request.headers, request.content_length, stored)

    def handle_accept(self) -> None:
        """Accept those who wait. If there are too many, those close of whom nothing was heard for longest."""
        for _ in range(CONNECTIONS_PER_ROUND):
            super().handle_accept()
        if len(self.active_channels) > self.adj.connection_limit - 2 * CONNECTIONS_PER_ROUND:
            channels = sorted(self.active_channels.values(), key=lambda each: (each.is_busy(), each.last_activity))
            for channel in channels[:CONNECTIONS_PER_ROUND]:
                channel.handle_close()

    def maintenance(self, now: float) -> None:
        super().maintenance(now)
        for channel in list(self.active_channels.values()):
            if channel.is_late(now) or not (self.accepting or channel.is_busy()):
                channel.handle_close()

    def run(self) -> None:
        """Serve until `stop`, and then until the open requests are answered, for TIMEOUT seconds at most."""
        while self.accepting or (self.active_channels and time.time() < self.stops_at):
            wasyncore.loop(1, use_poll=True, map=self._map, count=1)
            if not self.accepting:
                self.maintenance(time.time())

    def stop(self, *_) -> None:
        self.stops_at = time.time() + (TIMEOUT if self.accepting else 0)  # at a second signal, at once
        wasyncore.dispatcher.close(self)  # accepts no more


def server_on(listener: socket.socket, application: Callable) -> Server:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]  # a connection, a large body and an answer take one each
    adj = Adjustments(**LIMITS, **BUFFERS, **OFF, connection_limit=min(2_000, files // 4), ident="Idealist")
    adj.server = Server(application, {}, _sock=listener, adj=adj, bind_socket=False)
    return adj.server


def prepared(environment: Mapping[str, str]) -> None:
    """Load the pages while another process prepares the database and files. Raises SystemExit if that one fails.

    The application is made later: it serves the static files that are there when it is made.
    """
    with subprocess.Popen([*MANAGE, "prepare"], stdin=subprocess.DEVNULL, env=environment) as preparing:
        try:
            from .loading import load_late

            django.setup()
            load_late()
        finally:
            if preparing.wait():  # not 0: it failed, and has printed why
                raise SystemExit(preparing.returncode)


def say_where(listener: socket.socket) -> None:
    """Print the address, and the links into the sample where there is one."""
    host, port = listener.getsockname()[:2]
    print(f"Idealist is at http://{f'[{host}]' if ':' in host else host}:{port}/ (Ctrl-C stops it)")
    if settings.DEMO:  # here, since a command would load all pages once more
        try:
            call_command("sign_in_link", sample=True)
        except CommandError as problem:  # there is no sample, which ends no start
            print(problem)
    sys.stdout.flush()


def main(place: str, *options: str) -> None:
    """Serve at HOST:PORT, or on the socket that is open as fd://NUMBER, until a signal. Raises SystemExit.

    With --prepare the tables, the sample and the static files are made first.
    """
    # Let 2**14 files be open, or as many as the system allows: each connection takes some.
    most_files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    files = 2**14 if most_files == resource.RLIM_INFINITY else min(2**14, most_files)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, most_files))
    # The processes that are started below get this copy. It is made before `config.loading` is imported, which
    # sets IDEALIST_SHORT_WAITS here: pages wait for the database only shortly, but an import may wait longer.
    environment_of_others = dict(os.environ)
    host, _, port = place.rpartition(":")
    try:
        if "--prepare" in options:
            prepared(environment_of_others)
        # Imported only now: config.wsgi imports `config.loading`, and finds the static files that `prepared` made.
        from config.wsgi import application
        from ratings.importing import uploads

        tempfile.tempdir = str(uploads.spool())
        # fd://3 was parted into "fd" and "//3", of which [2:] leaves the number.
        listener = socket.socket(fileno=int(port[2:])) if host == "fd" else socket.create_server((host, int(port)))
        if settings.KEEPS_WORKER:
            arguments = [[*MANAGE, "work"], settings.DATA_DIR, environment_of_others]
            Thread(target=worker.keep_alive, args=arguments, daemon=True).start()
        if not settings.FOR_OTHERS:  # no host is set, so links of commands lead to this address
            from ratings.people import mail

            mail.note_site(*listener.getsockname()[:2])
        say_where(listener)
        server = server_on(listener, application)
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    except Exception as error:
        raise SystemExit(f"The server cannot start: {error}") from error
    signal.signal(signal.SIGTERM, server.stop)
    signal.signal(signal.SIGINT, server.stop)
    server.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
