"""The server: who is silent or slow keeps nobody waiting, and what may not come is not read."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPException, HTTPResponse
from pathlib import Path

import pytest
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.test import Client
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser

from config.server.channel import Channel, Limits, Request
from config.server.loop import Server
from ratings.imports import uploads
from ratings.models import Job, Role
from ratings.people import tokens
from ratings.tests.cast import make_collection, make_member

MANY = 40
THREADS = 2
PATIENCE = 60  # seconds for what must happen
BIG = 200  # blocks of a large answer: more than the system keeps for who does not read
BLOCK = b"x" * 2**16


class App:
    """A WSGI application that notes what happens to it."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.closed = threading.Event()
        self.may_end = threading.Event()
        self.entered = threading.Event()

    def __call__(self, environ: dict, start_response: Callable):
        body = environ["wsgi.input"].read()
        path = environ["PATH_INFO"]
        self.paths.append(path)
        if path == "/big":
            start_response("200 OK", [("Content-Type", "text/plain")])
            return self.blocks()
        if path == "/wait":
            self.entered.set()
            assert self.may_end.wait(PATIENCE)
        answer = f"{environ['REQUEST_METHOD']} {path} {len(body)}".encode()
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(answer)))])
        return [answer]

    def blocks(self) -> Iterator[bytes]:
        try:
            for _ in range(BIG):
                yield BLOCK
        finally:
            self.closed.set()


@contextmanager
def serving(application: Callable, **limits) -> Iterator[Server]:
    door = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = Server(application, door, Limits(**{"threads": THREADS, "linger": 0.5, "stop": 5} | limits))
    thread = threading.Thread(target=server.run)
    thread.start()
    server.address = ("127.0.0.1", int(server.effective_port))
    try:
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE)
        server.threads.shutdown()
        assert not thread.is_alive()


@pytest.fixture
def app() -> App:
    return App()


class Connection(socket.socket):
    """Has one file of all its answers, which would keep it open."""

    file = None

    def close(self) -> None:
        if self.file:
            self.file.close()
        super().close()


def connected(server: Server, said: bytes = b"", buffer: int = 0) -> Connection:
    client = Connection()
    if buffer:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    client.settimeout(PATIENCE)
    client.connect(server.address)
    client.sendall(said)
    return client


class Kept(HTTPResponse):
    """Leaves what follows an answer on its connection for the next one."""

    def __init__(self, client: Connection, method: str) -> None:
        super().__init__(client, method=method)
        self.fp.close()
        client.file = client.file or client.makefile("rb")
        self.fp = client.file

    def _close_conn(self) -> None:
        self.fp = None


def answer(client: Connection, method: str = "GET") -> tuple[int, bytes]:
    response = Kept(client, method)
    response.begin()
    return response.status, response.read()


def asked(server: Server, said: bytes, method: str = "GET") -> tuple[int, bytes]:
    with connected(server, said) as client:
        return answer(client, method)


def until(happened: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_cut(client: socket.socket) -> bool:
    """Whether they hang up before our patience ends; what comes before that is read."""
    try:
        while client.recv(2**16):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


PLAIN = b"GET /plain HTTP/1.1\r\nHost: a\r\n\r\n"
SILENT = {
    "a header": b"GET /plain HTTP/1.1\r\nHost: a",
    "a body": b"POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nfirst",
    "chunks": b"POST /plain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n",
    "reading": b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n",
}


@pytest.mark.parametrize("what", SILENT)
def test_who_is_silent_or_does_not_read_keeps_nobody_waiting(app, what):
    with serving(app) as server, ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(connected(server, SILENT[what], buffer=2**12))
        if what == "reading":
            until(lambda: len(server.readers) >= THREADS)
        assert asked(server, PLAIN) == (200, b"GET /plain 0")


def test_without_another_thread_for_each_that_waits_readers_stop_the_server(app, monkeypatch):
    """The twin of the test above: it would see the fault."""
    base = HTTPChannel._flush_outbufs_below_high_watermark
    waiting = []

    def wait(channel: HTTPChannel) -> None:
        waiting.append(channel)
        base(channel)

    monkeypatch.setattr(Channel, "_flush_outbufs_below_high_watermark", wait)
    with serving(app) as server, ExitStack() as stack:
        for _ in range(THREADS + 1):
            stack.enter_context(connected(server, SILENT["reading"], buffer=2**12))
        until(lambda: sum(each.total_outbufs_len > 2**20 for each in set(waiting)) == THREADS)
        client = stack.enter_context(connected(server, PLAIN))
        client.settimeout(1)
        with pytest.raises(TimeoutError):
            client.recv(1)


def test_of_too_many_readers_the_slowest_goes(app):
    with serving(app, readers=1) as server, ExitStack() as stack:
        slow = stack.enter_context(connected(server, SILENT["reading"], buffer=2**12))
        until(lambda: server.readers)
        (channel,) = server.readers
        channel.served_since -= 1000  # it has read for long
        fast = stack.enter_context(connected(server, SILENT["reading"], buffer=2**12))
        assert is_cut(slow)
        status, body = answer(fast)
        assert (status, len(body)) == (200, BIG * len(BLOCK))
        until(lambda: not server.readers)


BEGUN = [b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n"]


@pytest.mark.parametrize("begins", BEGUN)
def test_a_connection_that_drips_is_cut(app, begins):
    """However often a byte comes: a deadline begins with the first."""
    with (
        serving(app, header=0.5, window=0.5, min_bytes=1000, small_body=10**6) as server,
        connected(server, begins) as client,
        suppress(OSError),
    ):
        client.settimeout(0.05)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(TimeoutError):
                if not client.recv(1):
                    break
            if begins:
                client.sendall(b"x")
        else:
            pytest.fail("it was not cut")


@pytest.mark.parametrize("reads", [True, False])
def test_an_answer_that_drips_out_is_cut_and_its_generator_closed(app, reads):
    with serving(app, window=0.5, min_bytes=2**16) as server:
        with connected(server, SILENT["reading"], buffer=2**12) as client:
            while not app.closed.wait(0.05):
                if reads:
                    client.recv(10)
        assert not server.readers


def test_a_reader_who_goes_away_closes_the_generator(app):
    with serving(app) as server:
        with connected(server, SILENT["reading"], buffer=2**12):
            until(lambda: server.readers)
        assert app.closed.wait(PATIENCE)


def test_a_connection_is_kept_longer_than_a_header_may_take(app):
    with serving(app, header=0.3) as server, connected(server, PLAIN) as client:
        assert answer(client) == (200, b"GET /plain 0")
        time.sleep(1.5)
        client.sendall(PLAIN)
        assert answer(client) == (200, b"GET /plain 0")


def test_where_there_are_too_many_who_is_silent_for_the_longest_time_makes_room(app):
    with serving(app, connections=10) as server, ExitStack() as stack:
        clients = [stack.enter_context(connected(server, SILENT["a header"])) for _ in range(10)]
        until(lambda: len(server.active_channels) == 10)
        assert asked(server, PLAIN) == (200, b"GET /plain 0")
        assert is_cut(clients[0])
        clients[-1].sendall(b"\r\n\r\n")
        assert answer(clients[-1]) == (200, b"GET /plain 0")


# HTTP

REFUSED = {
    "two lengths": (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
    "a length and chunks": (
        400,
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "chunks in 1.0": (400, b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "another encoding": (501, b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
    "a bare newline": (400, b"GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n"),
    "a negative length": (400, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n"),
    "a long header": (431, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 2**16),
    "large chunks": (
        411,
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n" + b"y" * 0x20000 + b"\r\n",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_could_be_understood_in_two_ways_or_is_too_long_ends_the_connection(app, what):
    status, said = REFUSED[what]
    with serving(app) as server, connected(server, said + PLAIN) as client:
        assert answer(client)[0] == status
        assert client.recv(1) == b""


def test_requests_in_one_go_are_answered_in_their_order(app):
    posted = b"POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    with serving(app) as server, connected(server, b"HEAD" + PLAIN[3:] + posted + PLAIN) as client:
        assert answer(client, "HEAD") == (200, b"")
        assert answer(client) == (200, b"POST /chunks 3")
        assert answer(client) == (200, b"GET /plain 0")


UNREADABLE = {
    "length": b"POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "address": b"GET http://[::1/ HTTP/1.1\r\nHost: a\r\n\r\n",
}


@pytest.mark.parametrize("before", [b"", PLAIN], ids=["first", "second"])
@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_understood_is_refused_and_ends_nothing_else(app, what, before):
    """Also in a request that waited for the one before it: the loop itself comes upon it then."""
    with serving(app) as server, connected(server, before + UNREADABLE[what]) as client:
        if before:
            assert answer(client)[0] == 200
        assert answer(client)[0] == 400
        assert asked(server, PLAIN) == (200, b"GET /plain 0")


def test_an_error_of_the_server_itself_ends_that_connection_alone(app, monkeypatch):
    def fails(self, data: bytes) -> int:
        if data.startswith(b"POST"):
            raise LookupError
        return HTTPRequestParser.received(self, data)

    monkeypatch.setattr(Request, "received", fails)
    with serving(app) as server, connected(server, PLAIN + SILENT["a body"]) as client:
        assert answer(client)[0] == 200
        assert is_cut(client)
        assert asked(server, PLAIN) == (200, b"GET /plain 0")


@pytest.mark.slow
def test_who_asks_again_before_the_answer_is_read_waits_and_holds_no_thread(app):
    asking = b"GET /one HTTP/1.1\r\nHost: a\r\n\r\n"
    with serving(app) as server, ExitStack() as stack:
        clients = [stack.enter_context(connected(server, asking * 1000, buffer=2**12)) for _ in range(MANY)]
        until(lambda: len(server.active_channels) == MANY)
        assert asked(server, PLAIN) == (200, b"GET /plain 0")
        assert all(len(each.requests) <= 1 for each in list(server.active_channels.values()))
        for _ in range(1000):
            assert answer(clients[0]) == (200, b"GET /one 0")


def behind_strangers(app: App) -> int:
    """How many strangers, who came before, are answered before a rater."""
    asks, rater = "GET {} HTTP/1.1\r\nHost: a\r\n{}\r\n", f"Cookie: {settings.SESSION_COOKIE_NAME}=abc\r\n"
    with serving(app, threads=1) as server, ExitStack() as stack:
        clients = [stack.enter_context(connected(server, asks.format("/wait", "").encode()))]
        assert app.entered.wait(PATIENCE)
        clients += [
            stack.enter_context(connected(server, asks.format("/stranger", "").encode())) for _ in range(MANY)
        ]
        until(lambda: len(server.threads.queue) == MANY)
        clients.append(stack.enter_context(connected(server, asks.format("/rater", rater).encode())))
        until(lambda: len(server.threads.queue) == MANY + 1)
        app.may_end.set()
        assert [answer(client)[0] for client in clients] == [200] * (MANY + 2)
    assert len(app.paths) == MANY + 2
    return app.paths.index("/rater") - 1


def test_a_rater_waits_for_few_of_the_strangers_who_came_before(app):
    assert behind_strangers(app) <= 1


def test_with_one_line_for_all_a_rater_waits_for_every_stranger(app, monkeypatch):
    """The twin of the test above: it would see the fault."""
    monkeypatch.setattr(Channel, "names_user", lambda channel: False)
    assert behind_strangers(app) == MANY


def test_all_who_wait_are_accepted_in_one_round(app):
    with socket.create_server(("127.0.0.1", 0), backlog=512) as door, ExitStack() as stack:
        server = Server(app, door, Limits(threads=1))
        for _ in range(MANY):
            stack.enter_context(socket.create_connection(door.getsockname()))
        server.handle_accept()
        assert len(server.active_channels) == MANY
        for channel in list(server.active_channels.values()):
            channel.handle_close()
        server.threads.shutdown()
        server.trigger.close()


def test_head_of_a_stream_has_no_body(app):
    with serving(app) as server, connected(server, b"HEAD /big HTTP/1.1\r\nHost: a\r\n\r\n") as client:
        assert answer(client, "HEAD") == (200, b"")
        assert client.recv(1) == b""


def test_a_body_that_waits_for_100_gets_it(app):
    expecting = b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
    with serving(app) as server, connected(server, expecting) as client:
        assert client.recv(2**10).startswith(b"HTTP/1.1 100")
        client.sendall(b"abc")
        assert answer(client) == (200, b"POST /p 3")


def test_the_address_that_a_proxy_tells_does_not_stand_for_that_of_the_connection():
    seen = {}

    def application(environ, start_response):
        seen.update(environ)
        start_response("204 No Content", [])
        return []

    with serving(application) as server:
        told = b"X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\r\n"
        asked(server, b"GET / HTTP/1.1\r\nHost: a\r\n" + told)
    assert (seen["REMOTE_ADDR"], seen["HTTP_X_FORWARDED_FOR"]) == ("127.0.0.1", "192.0.2.7")
    assert (seen["wsgi.url_scheme"], seen["HTTP_X_FORWARDED_PROTO"]) == ("http", "https")


# Its end, and its processes


def test_a_request_under_way_is_answered_before_the_server_ends(app):
    with serving(app) as server, connected(server, b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n") as client:
        assert app.entered.wait(PATIENCE)
        server.stop()
        until(lambda: not server.accepting)
        app.may_end.set()
        assert answer(client) == (200, b"GET /wait 0")


# As it runs, with an application that takes no time to begin.
PROCESSES = """
import sys
from config.server import __main__ as program

def application(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]

program.load_application = lambda: application
sys.exit(program.main(f"127.0.0.1:{sys.argv[1]}"))
"""


def processes_of(server: subprocess.Popen) -> set[int]:
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    return {int(each) for each in children.read_text().split()}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux tells the children of a process")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.slow
def test_a_process_that_died_is_replaced_and_all_end_together(tmp_path, how):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()
    server = type("Address", (), {"address": address})
    environment = {**os.environ, "IDEALIST_DATA": str(tmp_path), "WEB_CONCURRENCY": "2"}
    command = [sys.executable, "-c", PROCESSES, str(address[1])]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(command, env=environment, cwd=root, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: len(processes_of(process)) == 2 and answers(server))
            first = processes_of(process)
            os.kill(min(first), signal.SIGKILL)
            until(lambda: len(processes_of(process)) == 2 and processes_of(process) != first)
            assert answers(server)
            ours = processes_of(process)
            process.send_signal(how)
            assert process.wait(PATIENCE) == (0 if how == signal.SIGTERM else -signal.SIGKILL)
        finally:
            process.kill()
        until(lambda: not any(Path(f"/proc/{each}").exists() for each in ours))


@pytest.mark.parametrize("number", ["abc", "0", "-1"])
def test_a_number_of_processes_that_cannot_be_is_one_line(tmp_path, number):
    environment = {**os.environ, "IDEALIST_DATA": str(tmp_path), "WEB_CONCURRENCY": number}
    command = [sys.executable, "-m", "config.server", "127.0.0.1:0"]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, timeout=PATIENCE)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1 and "WEB_CONCURRENCY" in line


def answers(server) -> bool:
    with suppress(OSError, HTTPException):
        return asked(server, PLAIN) == (200, b"ok")
    return False


# What may come


@pytest.fixture
def place(transactional_db, settings, tmp_path) -> Path:
    """The folder of bodies on their way."""
    settings.DATA_DIR = tmp_path
    return uploads.spool()


@pytest.fixture
def django(place) -> Iterator[Server]:
    with serving(get_wsgi_application(), linger=PATIENCE) as server:  # what a slow client still sends is read
        yield server


def cookies_of(username: str) -> str:
    client = Client()
    client.force_login(make_member(make_collection(username), username, Role.ADMIN))
    return "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())


def header(path: str, size: int, cookies: str = "", more: str = "") -> bytes:
    kind = "Content-Type: multipart/form-data; boundary=-\r\n"
    more = (f"Cookie: {cookies}\r\n" if cookies else "") + more
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {size}\r\n{more}\r\n".encode()


LARGE = 300 * 2**20
OTHERS = [
    ("/collections/ada/rate/", 413),
    ("/collections/other/import/send/", 404),
    ("/archives/send/", 404),
    ("/nowhere/", 404),
    ("/static/nowhere.css", 404),
]


@pytest.mark.parametrize("path, status", OTHERS)
def test_a_large_body_where_none_belongs_is_refused_before_it_is_read(django, place, monkeypatch, path, status):
    make_collection("other")
    cookies = cookies_of("ada")
    monkeypatch.setattr(uploads, "reserved", lambda *sent: pytest.fail("it would be kept"))
    with connected(django, header(path, LARGE, cookies, "Expect: 100-continue\r\n")) as client:
        found, body = answer(client)
        assert (found, b"<html" in body) == (status, True)
    with connected(django, header(path, LARGE, cookies)) as client:
        # It is sent all the same: the answer comes, and the connection ends.
        with suppress(OSError):
            for _ in range(100):
                client.sendall(BLOCK)
        assert answer(client)[0] == status
        assert is_cut(client)
    assert not list(place.iterdir())


def test_who_is_not_signed_in_sends_nothing_large(django, place):
    assert asked(django, header("/accounts/sign-in/", 10**6))[0] == 413
    assert asked(django, header("/api/v1/collections/ada/queries", 10**6))[0] == 401
    assert not list(place.iterdir())


def form(size: int, token: str) -> bytes:
    parts = [("csrfmiddlewaretoken", "", token), ("kind", "", "queries")]
    parts += [("files", '; filename="q.tsv"', "q1\tone\n" + "#" * size)]
    disposition = "---\r\nContent-Disposition: form-data; name="
    said = "".join(f'{disposition}"{name}"{more}\r\n\r\n{value}\r\n' for name, more, value in parts)
    return f"{said}-----\r\n".encode()


@pytest.mark.parametrize("expects", [True, False])
def test_a_file_of_an_admin_comes_in_and_leaves_nothing_behind(django, place, expects):
    token = "a" * 32
    cookies, body = f"{cookies_of('ada')}; csrftoken={token}", form(3 * 2**20, token)
    more = "Expect: 100-continue\r\n" if expects else ""
    with connected(django, header("/collections/ada/import/send/", len(body), cookies, more)) as client:
        if expects:
            assert client.recv(2**10).startswith(b"HTTP/1.1 100")
        client.sendall(body[: 2**20])
        until(lambda: [each.stat().st_size for each in place.iterdir()] == [len(body)])
        client.sendall(body[2**20 :] + PLAIN.replace(b"Host: a", b"Host: localhost"))
        assert answer(client)[0] == 302
        assert answer(client)[0] == 404
    (file,) = Job.objects.get().files
    assert file["size"] == 3 * 2**20 + 7
    assert not list(place.iterdir())


@pytest.mark.parametrize("how", ["gone", "silent"])
@pytest.mark.slow
def test_what_is_broken_off_is_removed_at_once(place, how):
    said = header("/collections/ada/import/send/", LARGE, cookies_of("ada"))
    window = 0.5 if how == "silent" else 60
    with serving(get_wsgi_application(), window=window) as server, connected(server, said) as client:
        client.sendall(BLOCK * 30)
        until(lambda: list(place.iterdir()))
        if how == "gone":
            client.close()
        until(lambda: not list(place.iterdir()))


def test_there_is_room_for_so_much_and_no_more(django, place, settings):
    settings.MOST_UPLOADS = LARGE + 10
    said = header("/collections/ada/import/send/", LARGE, cookies_of("ada"))
    with connected(django, said):
        until(lambda: list(place.iterdir()))
        assert asked(django, said)[0] == 503
    until(lambda: not list(place.iterdir()))
    with connected(django, said):
        until(lambda: list(place.iterdir()))


def test_an_account_that_sends_slowly_keeps_no_other_from_sending(place, settings):
    """Of each kind, an account has a share; bodies of forms and of the API have space of their own."""
    settings.MOST_UPLOADS, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 4_000, 100
    with uploads.reserved(900, 1):
        with pytest.raises(uploads.NoRoom):
            uploads.reserved(101, 1)
        with uploads.reserved(3_000, 2), pytest.raises(uploads.NoRoom):
            uploads.reserved(101, 3)
        with uploads.reserved(3_000, 2), uploads.reserved(100, 1), uploads.reserved(100, 3):
            pass
        with uploads.reserved(900, 2), uploads.reserved(900, 12), uploads.reserved(900, 3):
            pass
    with ExitStack() as forms:
        for _ in range(uploads.FORMS):
            forms.enter_context(uploads.reserved(100, 1))
        with pytest.raises(uploads.NoRoom):
            uploads.reserved(1, 1)
        uploads.reserved(100, 2).close()


def test_a_call_without_room_is_told_so(django, place, settings):
    settings.MOST_UPLOADS = 10
    collection = make_collection()
    ada = make_member(collection, "ada", Role.ADMIN)
    _, key = tokens.make(ada, collection, name="build", scopes=["import"], days=7)
    more = f"Authorization: Bearer {key}\r\n"
    status, body = asked(django, header("/api/v1/collections/hills/queries", 10**6, more=more))
    assert status == 503
    assert "urn:idealist:problem:no-room" in body.decode() and "database" not in body.decode()


def test_what_a_killed_process_left_is_removed_and_takes_no_room(place, settings):
    settings.MOST_UPLOADS, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000, 400
    (place / "left").write_bytes(b"x" * 900)
    with uploads.reserved(500):
        assert not (place / "left").exists()
        with pytest.raises(uploads.NoRoom):
            uploads.reserved(501)
    uploads.reserved(1000).close()
