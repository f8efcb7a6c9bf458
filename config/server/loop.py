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

MEMORY = 2**20  # bytes of a response that are buffered in memory
HEADER = 2**15  # bytes
SHARE = 20  # at the limit of connections, 1 / SHARE of them are closed
ACCEPTED = 64  # connections in one round of the loop
PASSED = 4  # requests of users that are answered before one of a stranger who came earlier
TICK = 1.0  # seconds between two checks of deadlines


def open_files() -> int:
    """The limit of open files of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


class Turns:
    """A queue of two lines: requests that name a user, and those of strangers, who get every fifth turn at least.

    So hundreds of strangers at once keep a rater waiting for a few answers only.
    """

    def __init__(self) -> None:
        self.users: deque[Channel] = deque()
        self.strangers: deque[Channel] = deque()
        self.passed = 0  # turns of users since the last one of a stranger

    def append(self, channel: Channel) -> None:
        (self.users if channel.names_user() else self.strangers).append(channel)

    def popleft(self) -> Channel:
        if self.strangers and (self.passed >= PASSED or not self.users):
            self.passed = 0
            return self.strangers.popleft()
        self.passed += 1
        return self.users.popleft()

    def __len__(self) -> int:
        return len(self.users) + len(self.strangers)


class Threads(ThreadedTaskDispatcher):
    """Threads that take requests in turn, and close their database connections when they end."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = Turns()

    def handler_thread(self, thread_no: int) -> None:
        try:
            super().handler_thread(thread_no)
        finally:
            connections.close_all()


class Server(TcpWSGIServer):
    """Serves an application on a socket.

    The loop of waitress asks every connection in every round whether it reads or writes. This loop asks only
    those where that can have changed: after an event, and while a thread works for it. A request that waits for a
    thread costs nothing.
    """

    channel_class = Channel

    def __init__(self, application: Callable, listener: socket.socket, limits: Limits, parent: int = 0) -> None:
        self.limits, self.parent = limits, parent
        self.connections = min(limits.connections, open_files() // 4)  # each can have a body and a response file
        self.busy: set[Channel] = set()  # new, or a thread works for it
        self.readers: set[Channel] = set()  # a thread waits for the client to read
        self.lock = Lock()
        self.stops_at = self.next_tick = 0.0
        self.poller = select.poll()
        adjustments = Adjustments(
            threads=limits.threads,
            recv_bytes=limits.small,
            inbuf_overflow=limits.small * 2,
            outbuf_overflow=MEMORY,
            outbuf_high_watermark=MEMORY,
            max_request_header_size=HEADER,
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
        while self.goes_on():
            for channel in list(self.busy):
                self.follow(channel)
            for number, events in self.poller.poll(TICK * 1000):
                followed = self._map.get(number)
                if followed is None:
                    self.unfollow(number)
                    continue
                wasyncore.readwrite(followed, events)
                if isinstance(followed, Channel) and self._map.get(number) is followed:
                    self.follow(followed)
            now = time.monotonic()
            if now >= self.next_tick:
                self.next_tick = now + TICK / 2
                self.tick(now)

    def follow(self, channel: Channel) -> None:
        """Register a connection for the events that it waits for now."""
        if not channel.requests:
            self.busy.discard(channel)
        try:
            channel.go_on()
        except OSError as error:
            self.logger.error("What somebody sends cannot be kept: %s", error)
            channel.will_close = True
        except Exception:
            channel.handle_error()  # which closes this connection alone
        if channel.will_close:
            channel.handle_close()
        elif channel.connected:
            events = (select.POLLIN if channel.readable() else 0) | (select.POLLOUT if channel.writable() else 0)
            self.poller.register(channel._fileno, events)  # with 0 poll still reports a hang-up
        else:
            self.busy.discard(channel)

    def unfollow(self, number: int) -> None:
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

    # Too many

    def handle_accept(self) -> None:
        """Accept those who wait: one in each round of the loop would keep them waiting while it is busy."""
        for _ in range(ACCEPTED):
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
            except OSError as error:  # such as no more files, or a client that is gone already
                self.logger.debug("A connection was not accepted: %s", error)
                return

    def make_room(self) -> bool:
        """Close some of the connections without an open request, those that are idle for longest."""
        silent = [each for each in self.active_channels.values() if not (each.requests or each.total_outbufs_len)]
        silent.sort(key=lambda channel: channel.quiet_since)
        for channel in silent[: self.connections // SHARE + 1]:
            channel.handle_close()
        return bool(silent)

    @contextmanager
    def waiting(self, channel: Channel) -> Iterator[None]:
        """Have a thread more while one waits for a client to read; above the limit close the slowest client."""
        with self.lock:
            self.readers.add(channel)
            if len(self.readers) > self.limits.readers:
                slowest = min(self.readers, key=Channel.read_a_second)
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

    # The end

    def stop(self) -> None:
        """Accept no more requests, and end when the open ones are answered."""
        self.stops_at = self.stops_at or time.monotonic() + self.limits.stop
        self.pull_trigger()

    def goes_on(self) -> bool:
        if not self.stops_at:
            return True
        if self.accepting:
            self.accepting = False
            self.unfollow(self.socket.fileno())
            self.del_channel()
            self.socket.close()
        for channel in list(self.active_channels.values()):
            if not (channel.requests or channel.total_outbufs_len):
                channel.handle_close()
        return bool(self.active_channels) and time.monotonic() < self.stops_at
