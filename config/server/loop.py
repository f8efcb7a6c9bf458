"""The server of one process: event loop, threads, shutdown."""

import os
import resource
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from django.db import connections
from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher

from .channel import Channel, Limits

BUFFER_BYTES = 2**20  # of a response that are buffered in memory
HEADER_BYTES = 2**15  # largest header of a request
CLOSED_SHARE = 20  # at the limit of connections, 1 / CLOSED_SHARE of them are closed
MAX_ACCEPTED = 64  # connections that are accepted in one round of the loop
MAX_PASSED = 4  # requests of users that may overtake one of a stranger
TICK = 1.0  # seconds between two checks of deadlines


def open_files() -> int:
    """The limit of open files of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


class RequestQueue:
    """A queue of requests in which users overtake strangers, who still get at least every fifth turn.

    So a rater waits for few requests, even where hundreds of strangers come at once.
    """

    def __init__(self) -> None:
        self.users: deque[Channel] = deque()
        self.strangers: deque[Channel] = deque()
        self.passed = 0  # turns of users since the last turn of a stranger

    def append(self, channel: Channel) -> None:
        (self.users if channel.names_user() else self.strangers).append(channel)

    def popleft(self) -> Channel:
        if self.strangers and (self.passed >= MAX_PASSED or not self.users):
            self.passed = 0
            return self.strangers.popleft()
        self.passed += 1
        return self.users.popleft()

    def __len__(self) -> int:
        return len(self.users) + len(self.strangers)


class Threads(ThreadedTaskDispatcher):
    """The threads that serve requests from a RequestQueue. They close their database connections when they end."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = RequestQueue()

    def handler_thread(self, thread_no: int) -> None:
        try:
            super().handler_thread(thread_no)
        finally:
            connections.close_all()


class Server(TcpWSGIServer):
    """Serves an application on a socket.

    The loop of waitress checks each connection in each round for whether it reads or writes. This loop checks only
    those for which that can have changed: after an event, and while a thread works for them. A request that waits
    for a thread costs nothing.
    """

    channel_class = Channel

    def __init__(self, application: Callable, listener: socket.socket, limits: Limits, parent: int = 0) -> None:
        self.limits, self.parent = limits, parent
        # Each connection can open a file of its body and one of its response.
        self.connections = min(limits.connections, open_files() // 4)
        self.busy: set[Channel] = set()  # connections that are new, or for which a thread works
        self.readers: set[Channel] = set()  # connections for which a thread waits until the client has read
        self.lock = Lock()
        self.stops_at = self.next_tick = 0.0
        self.poller = select.poll()
        adjustments = Adjustments(
            threads=limits.threads,
            recv_bytes=limits.small_body,
            inbuf_overflow=limits.small_body * 2,
            outbuf_overflow=BUFFER_BYTES,
            outbuf_high_watermark=BUFFER_BYTES,
            max_request_header_size=HEADER_BYTES,
            max_request_body_size=2**62,  # the application decides: `channel.Admission`
            # config/proxies.py decides which headers of proxies are trusted.
            clear_untrusted_proxy_headers=False,
            log_socket_errors=False,
            ident="Idealist",
            backlog=1024,
        )
        adjustments.limits = limits
        self.threads = Threads()
        self.threads.set_thread_count(limits.threads)
        place = (listener.family, listener.type, listener.proto, listener.getsockname())
        super().__init__(application, {}, True, listener, self.threads, adjustments, place, bind_socket=False)
        for number in self._map:
            self.poller.register(number, select.POLLIN)

    # The loop

    def run(self) -> None:
        """Serve until `stop`, then finish open requests."""
        while self.keeps_running():
            for channel in list(self.busy):
                self.register(channel)
            for number, events in self.poller.poll(TICK * 1000):
                channel = self._map.get(number)
                if channel is None:
                    self.unregister(number)
                    continue
                wasyncore.readwrite(channel, events)
                if isinstance(channel, Channel) and self._map.get(number) is channel:
                    self.register(channel)
            now = time.monotonic()
            if now >= self.next_tick:
                self.next_tick = now + TICK / 2
                self.tick(now)

    def register(self, channel: Channel) -> None:
        """Register a connection for the events that it waits for now."""
        if not channel.requests:
            self.busy.discard(channel)
        try:
            channel.parse()
        except OSError as error:
            self.logger.error("The body of a request cannot be stored: %s", error)
            channel.will_close = True
        except Exception:
            channel.handle_error()  # closes only this connection
        if channel.will_close:
            channel.handle_close()
        elif channel.connected:
            events = (select.POLLIN if channel.readable() else 0) | (select.POLLOUT if channel.writable() else 0)
            self.poller.register(channel._fileno, events)  # poll reports a hang-up for 0, too
        else:
            self.busy.discard(channel)

    def unregister(self, number: int) -> None:
        try:
            self.poller.unregister(number)
        except KeyError:
            return

    def tick(self, now: float) -> None:
        for channel in list(self.active_channels.values()):
            if channel.is_overdue(now):
                channel.handle_close()
        if self.parent and os.getppid() != self.parent:
            self.stop()

    # Limits

    def handle_accept(self) -> None:
        """Accept up to MAX_ACCEPTED connections. One in each round would let them wait while the loop is busy."""
        for _ in range(MAX_ACCEPTED):
            try:
                pair = self.accept()
                if pair is None:
                    return
                connection, address = pair
                if len(self.active_channels) < self.connections or self.make_room():
                    self.set_socket_options(connection)
                    self.channel_class(self, connection, self.fix_addr(address), self.adj, map=self._map)
                else:
                    connection.close()
            except OSError as error:  # such as too many open files, or a client that is gone
                self.logger.debug("A connection was not accepted: %s", error)
                return

    def make_room(self) -> bool:
        """Whether there is room for another connection: closes those that are idle for longest."""
        idle = [each for each in self.active_channels.values() if not (each.requests or each.total_outbufs_len)]
        idle.sort(key=lambda channel: channel.idle_since)
        for channel in idle[: self.connections // CLOSED_SHARE + 1]:
            channel.handle_close()
        return bool(idle)

    @contextmanager
    def one_more_thread(self, channel: Channel) -> Iterator[None]:
        """Run one more thread while one waits for a client to read. If too many wait, close the slowest client."""
        with self.lock:
            self.readers.add(channel)
            if len(self.readers) > self.limits.readers:
                slowest = min(self.readers, key=Channel.bytes_per_second)
                slowest.will_close = True
                self.pull_trigger()
            self.threads.set_thread_count(self.limits.threads + len(self.readers))
        try:
            yield
        finally:
            with self.lock:
                self.readers.discard(channel)
                if not self.stops_at:
                    self.threads.set_thread_count(self.limits.threads + len(self.readers))

    # Stopping

    def stop(self) -> None:
        """Accept no more requests, and end when the open ones are answered."""
        self.stops_at = self.stops_at or time.monotonic() + self.limits.stop
        self.pull_trigger()

    def keeps_running(self) -> bool:
        if not self.stops_at:
            return True
        if self.accepting:
            self.accepting = False
            self.unregister(self.socket.fileno())
            self.del_channel()
            self.socket.close()
        for channel in list(self.active_channels.values()):
            if not (channel.requests or channel.total_outbufs_len):
                channel.handle_close()
        return bool(self.active_channels) and time.monotonic() < self.stops_at
