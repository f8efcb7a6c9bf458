"""The server: who is silent, drips or does not read keeps nobody waiting, and bodies are stored only with room."""

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from django.test import Client

from config import server as server_module
from config import wsgi
from config.server import LIMITS, Server, server_on
from ratings.importing import uploads
from ratings.models import Job, Role
from ratings.tests.cast import make_collection, make_member

ROOT = Path(__file__).resolve().parents[2]
MANY = 40
PATIENCE = 60  # seconds for what must happen
BIG = 200  # blocks of a large answer: more than the system keeps for who does not read
BLOCK = b"x" * 2**16


class App:
    """A WSGI application that notes what happens to it."""

    def __init__(self) -> None:
        self.seen: list[dict] = []
        self.closed = threading.Event()
        self.may_end = threading.Event()
        self.entered = threading.Event()

    def __call__(self, environ: dict, start_response: Callable):
        body = environ["wsgi.input"].read()
        path = environ["PATH_INFO"]
        self.seen.append(environ)
        if path.startswith("/big"):
            start_response("200 OK", [("Content-Type", "text/plain")])
            return self.blocks(int(path[4:] or BIG))
        if path == "/wait":
            self.entered.set()
            assert self.may_end.wait(PATIENCE)
        answer = f"{environ['REQUEST_METHOD']} {path} {len(body)}".encode()
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(answer)))])
        return [answer]

    def blocks(self, number: int) -> Iterator[bytes]:
        try:
            for _ in range(number):
                yield BLOCK
        finally:
            self.closed.set()


@contextmanager
def serving(application: Callable, **limits) -> Iterator[Server]:
    door = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = server_on(door, application)
    for name, value in ({"cleanup_interval": 0} | limits).items():
        setattr(server.adj, name, value)
    server.address = ("127.0.0.1", int(server.effective_port))
    server.thread = thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        if server.accepting:
            server.stop()
        server.pull_trigger()  # it would wait for a second before it looks
        thread.join(PATIENCE)
        server.task_dispatcher.shutdown()
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2**13, hard % 2**63), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


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
BIG_ONE = b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n"
SILENT = {
    "a header": b"GET /plain HTTP/1.1\r\nHost: a",
    "a body": b"POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nfirst",
    "chunks": b"POST /plain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n",
    "reading": BIG_ONE,
}


@pytest.mark.parametrize("what", SILENT)
def test_who_is_silent_or_does_not_read_keeps_nobody_waiting(app, what):
    with serving(app) as server, ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(connected(server, SILENT[what], buffer=2**12))
        assert asked(server, PLAIN) == (200, b"GET /plain 0")
        assert what != "reading" or app.closed.wait(PATIENCE)


def test_below_the_largest_answer_readers_that_stop_hold_the_threads(app):
    """The twin of the test above: it would see the fault."""
    with serving(app, outbuf_high_watermark=2**20) as server, ExitStack() as stack:
        for _ in range(LIMITS["threads"]):
            stack.enter_context(connected(server, BIG_ONE, buffer=2**12))
        until(lambda: sum(each.total_outbufs_len > 2**20 for each in list(server.active_channels.values())) == 8)
        client = stack.enter_context(connected(server, PLAIN))
        client.settimeout(1)
        with pytest.raises(TimeoutError):
            client.recv(1)


@pytest.mark.parametrize("what", ["a header", "a body"])
def test_a_connection_that_drips_is_cut(app, monkeypatch, what):
    """However often a byte comes: a deadline begins with the first."""
    monkeypatch.setattr(server_module, "TIMEOUT", 0.5)
    with serving(app) as server, connected(server, SILENT[what]) as client, suppress(OSError):
        client.settimeout(0.05)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(TimeoutError):
                if not client.recv(1):
                    break
            client.sendall(b"x")
        else:
            pytest.fail("it was not cut")


def test_a_reader_who_stops_is_cut(app, monkeypatch):
    monkeypatch.setattr(server_module, "TIMEOUT", 0.5)
    with serving(app) as server, connected(server, BIG_ONE, buffer=2**12) as client:
        until(lambda: server.active_channels)
        until(lambda: not server.active_channels)
        assert is_cut(client)


def test_a_connection_that_was_silent_is_kept_for_its_next_request(app):
    with serving(app) as server, connected(server, PLAIN) as client:
        assert answer(client) == (200, b"GET /plain 0")
        time.sleep(1.5)
        client.sendall(PLAIN)
        assert answer(client) == (200, b"GET /plain 0")


def test_where_there_are_too_many_who_is_silent_for_the_longest_time_makes_room(app, monkeypatch):
    monkeypatch.setattr(server_module, "CONNECTIONS_PER_ROUND", 2)
    with serving(app, connection_limit=14) as server, ExitStack() as stack:
        clients = []
        while len(clients) < 10:
            clients.append(stack.enter_context(connected(server, SILENT["a header"])))
            until(lambda: len(server.active_channels) == len(clients))
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
        413,
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n" + b"y" * 0x20000 + b"\r\n",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_could_be_understood_in_two_ways_or_is_too_long_ends_the_connection(app, what):
    status, said = REFUSED[what]
    with serving(app) as server, connected(server, said) as client:
        assert answer(client)[0] == status
        assert is_cut(client)


UNREADABLE = {
    "length": b"POST /plain HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "address": b"GET http://[::1/ HTTP/1.1\r\nHost: a\r\n\r\n",
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_understood_ends_that_connection_alone(app, what):
    with serving(app) as server, connected(server, UNREADABLE[what]) as client:
        assert is_cut(client)
        assert asked(server, PLAIN) == (200, b"GET /plain 0")


def test_of_requests_in_one_go_the_first_is_answered_and_the_client_asks_again(app):
    """Their answers could otherwise fill the disk, for a client that reads none."""
    with serving(app) as server, connected(server, PLAIN * 1000) as client:
        response = Kept(client, "GET")
        response.begin()
        assert (response.status, response.getheader("Connection")) == (200, "close")
        assert is_cut(client) and len(app.seen) == 1


# Its start and its end


def test_open_requests_are_answered_before_the_server_ends(app):
    """Also an answer that is larger than what the system keeps for who reads late."""
    with (
        serving(app) as server,
        connected(server, b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n") as client,
        connected(server, BIG_ONE, buffer=2**12) as reader,
        connected(server) as idle,
    ):
        assert app.entered.wait(PATIENCE) and app.closed.wait(PATIENCE)
        server.stop()
        assert is_cut(idle)
        with pytest.raises(OSError):
            connected(server)
        app.may_end.set()
        assert answer(client) == (200, b"GET /wait 0")
        assert len(answer(reader)[1]) == BIG * len(BLOCK)


def test_a_second_signal_ends_the_server_at_once(app):
    with serving(app) as server, connected(server, b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"):
        assert app.entered.wait(PATIENCE)
        server.stop()
        assert server.stops_at > time.time() + 20
        server.stop()
        server.thread.join(15)  # not after the 20 seconds and more that the open request still had
        has_ended = not server.thread.is_alive()
        app.may_end.set()
        assert has_ended


# As it runs, with an application that takes no time to begin.
PROCESS = """
import resource, sys, types, time

def application(environ, start_response):
    if environ["PATH_INFO"] == "/wait":
        print("entered", flush=True)
        time.sleep(1)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]

sys.modules["config.wsgi"] = types.SimpleNamespace(application=application)
from django.conf import settings
OFF = {"DEMO": False, "KEEPS_WORKER": False}
settings.configure(**OFF, DATA_DIR=__import__("pathlib").Path(sys.argv[2]), SMALL_BODY=2**16, FOR_OTHERS=True)
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
from config import server
server.main(sys.argv[1])
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.slow
def test_a_signal_ends_the_process_after_its_requests(tmp_path, how):
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.set_inheritable(True)
        place = f"fd://{door.fileno()}"
        address = type("Address", (), {"address": door.getsockname()})
        command = [sys.executable, "-c", PROCESS, place, str(tmp_path)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, pass_fds=[door.fileno()])
    with process, connected(address, b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n") as client:
        assert process.stdout.readline().startswith(b"Idealist is at http://127.0.0.1:")
        assert process.stdout.readline() == b"entered\n"
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (min(2**14, hard), hard)
        process.send_signal(how)
        assert answer(client) == (200, b"ok")
        assert process.wait(PATIENCE) == 0


def test_a_setting_that_cannot_be_is_one_line(tmp_path):
    environment = {**os.environ, "IDEALIST_DATA": str(tmp_path), "IDEALIST_LARGEST_UPLOAD": "abc"}
    command = [sys.executable, "-m", "config.server", "127.0.0.1:0"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1 and "IDEALIST_LARGEST_UPLOAD" in line


def test_a_failed_preparation_ends_the_start_with_the_one_line_that_says_why(tmp_path):
    (tmp_path / "db.sqlite3").write_bytes(b"no database" * 1_000)
    environment = {**os.environ, "IDEALIST_DATA": str(tmp_path), "DATABASE_URL": ""}
    command = [sys.executable, "-m", "config.server", "127.0.0.1:0", "--prepare"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    (line,) = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "") and line.endswith("manage doctor")


@contextmanager
def started(folder: Path, *, prepared_with: str) -> Iterator[tuple[subprocess.Popen, dict]]:
    """A server with IDEALIST_DEMO=1 after `prepare` with the value given, and the environment of both."""
    of_others = {"DATABASE_URL", "IDEALIST_HOSTS", "IDEALIST_HTTPS"}
    own = {name: value for name, value in os.environ.items() if name not in of_others}
    own |= {"IDEALIST_DATA": str(folder), "IDEALIST_DEMO": prepared_with}
    subprocess.run([sys.executable, "manage.py", "prepare"], check=True, env=own, cwd=ROOT)
    own["IDEALIST_DEMO"] = "1"
    command = [sys.executable, "-m", "config.server", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own, cwd=ROOT) as process:
        try:
            yield process, own
        finally:
            process.terminate()


@pytest.mark.slow
def test_with_the_sample_it_prints_a_link_for_each_role_and_a_refused_start_ends_none(tmp_path):
    with started(tmp_path, prepared_with="1") as (process, environment):
        lines = [process.stdout.readline().split() for _ in range(5)]
        assert [words[1] for words in lines[2:]] == ["rater", "analyst", "admin"]
        link = lines[-1][-1]
        # One for others would close the accounts of the sample, and this one is refused: its port is taken.
        command = [sys.executable, "run.py", "--port", str(urlsplit(link).port)]
        environment["IDEALIST_HOSTS"] = "ratings.example.org"
        assert subprocess.run(command, env=environment, cwd=ROOT, timeout=PATIENCE).returncode == 1
        with urlopen(link, timeout=PATIENCE) as page:
            assert page.status == 200


@pytest.mark.slow
def test_the_first_start_serves_the_static_files_that_it_collected_meanwhile(tmp_path):
    of_others = {"DATABASE_URL", "IDEALIST_HOSTS", "IDEALIST_HTTPS"}
    own = {name: value for name, value in os.environ.items() if name not in of_others}
    own |= {"IDEALIST_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-m", "config.server", "127.0.0.1:0", "--prepare"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own, cwd=ROOT) as process:
        try:
            site = re.search(r"http://\S+", process.stdout.readline())[0]
            with urlopen(site, timeout=PATIENCE) as page:
                (sheet,) = re.findall(r'href="/(static/site\.[0-9a-f]+\.css)"', page.read().decode())
            with urlopen(site + sheet, timeout=PATIENCE) as answer:
                assert answer.status == 200
        finally:
            process.terminate()


@pytest.mark.slow
def test_without_the_sample_it_starts_and_says_how_to_look_around(tmp_path):
    with started(tmp_path, prepared_with="0") as (process, _):
        process.stdout.readline()  # the address
        assert "IDEALIST_DATA=another-folder" in process.stdout.readline()


# Large bodies

LARGE = 300 * 2**20
OTHERS = [
    ("/collections/ada/rate/", 413),
    ("/collections/other/import/send/", 404),
    ("/archives/send/", 404),
    ("/nowhere/", 404),
    ("/static/nowhere.css", 404),
]


@pytest.fixture
def place(transactional_db, settings, tmp_path, monkeypatch) -> Path:
    """The folder of bodies on their way."""
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr("tempfile.tempdir", str(uploads.spool()))
    return uploads.spool()


@pytest.fixture
def django(place) -> Iterator[Server]:
    with serving(wsgi.application) as server:
        yield server


def cookies_of(username: str) -> str:
    client = Client()
    client.force_login(make_member(make_collection(username), username, Role.ADMIN))
    return "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())


def header(path: str, size: int, cookies: str = "") -> bytes:
    kind = "Content-Type: multipart/form-data; boundary=-\r\n"
    more = f"Cookie: {cookies}\r\n" if cookies else ""
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {size}\r\n{more}\r\n".encode()


def written(place: Path) -> int:
    """The bytes in the folder, also in files that have no name."""
    sizes = [
        each.stat().st_size for each in Path("/proc/self/fd").iterdir() if str(place) in os.path.realpath(each)
    ]
    return sum(sizes)


@pytest.mark.parametrize("path, status", OTHERS)
def test_a_large_body_where_none_belongs_is_refused(django, path, status):
    make_collection("other")
    with connected(django, header(path, 3 * 2**20, cookies_of("ada")) + bytes(3 * 2**20)) as client:
        found, body = answer(client)
        assert (found, b"<html" in body) == (status, True)


@pytest.mark.parametrize("path, status", [("/accounts/sign-in/", 413), ("/api/v1/collections/ada/queries", 401)])
def test_what_who_is_not_signed_in_sends_is_not_stored(django, place, path, status):
    with connected(django, header(path, 2**24)) as client:
        client.sendall(bytes(2**24 - 1))
        (channel,) = django.active_channels.values()
        until(lambda: channel.request and channel.request.body_bytes_received == 2**24 - 1)
        assert written(place) == 0
        client.sendall(b"x")
        assert answer(client)[0] == status


@pytest.mark.slow
def test_two_hundred_senders_who_made_up_a_cookie_do_not_fill_the_folder(django, place, settings, monkeypatch):
    """With room for three, of small bodies: a busy machine reads them before the deadline of a silent client."""
    whole, last = 2 * 2**20, 2**18
    settings.LARGEST_UPLOAD = settings.LARGEST_LOG = whole
    monkeypatch.setattr(uploads, "BODIES_AT_ONCE", 3)
    with ExitStack() as stack:
        said = header("/archives/send/", whole, "sessionid=made-up")
        clients = [stack.enter_context(connected(django, said)) for _ in range(200)]
        until(lambda: len(django.active_channels) == 200)
        for client in clients:
            client.sendall(bytes(whole - last))
        until(lambda: all(each.request for each in django.active_channels.values()))
        until(lambda: written(place) > 2 * whole)  # the system may hold what was sent for a moment
        assert written(place) <= 3 * whole
        assert asked(django, b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n") == (200, b"ok\n")
        for client in clients:
            client.sendall(bytes(last))
        assert {answer(client)[0] for client in clients} == {413}


def test_no_header_of_a_client_takes_its_body_out_of_the_sum(django, monkeypatch):
    sums = []
    monkeypatch.setattr(uploads, "has_room", lambda headers, size, stored: sums.append(stored) or True)
    said = header("/archives/send/", 3 * 2**20).replace(b"Host:", b"Idealist-Unread: 1\r\nHost:")
    with connected(django, said), connected(django, said):
        until(lambda: len(sums) == 2)
    assert sums == [3 * 2**20, 6 * 2**20]


def form(size: int, token: str) -> bytes:
    parts = [("csrfmiddlewaretoken", "", token), ("kind", "", "queries")]
    parts += [("files", '; filename="q.tsv"', "q1\tone\n" + "#" * size)]
    disposition = "---\r\nContent-Disposition: form-data; name="
    said = "".join(f'{disposition}"{name}"{more}\r\n\r\n{value}\r\n' for name, more, value in parts)
    return f"{said}-----\r\n".encode()


def test_a_file_of_an_admin_comes_in_and_leaves_nothing_behind(django, place):
    token = "a" * 32
    cookies, body = f"{cookies_of('ada')}; csrftoken={token}", form(3 * 2**20, token)
    with connected(django, header("/collections/ada/import/send/", len(body), cookies) + body) as client:
        assert answer(client)[0] == 302
    (file,) = Job.objects.get().files
    assert file["size"] == 3 * 2**20 + 7
    assert not list(place.iterdir())


@pytest.mark.parametrize("lacks", ["bodies", "disk"])
def test_without_room_the_answer_is_to_send_it_again(django, settings, monkeypatch, lacks):
    if lacks == "disk":
        monkeypatch.setattr(uploads, "disk_usage", lambda path: type("Usage", (), {"free": 5 * 2**20}))
    else:
        settings.LARGEST_LOG = 0
        monkeypatch.setattr(uploads, "BODIES_AT_ONCE", 0)
    said = header("/collections/ada/import/send/", 3 * 2**20, cookies_of("ada"))
    with connected(django, said + bytes(3 * 2**20)) as client:
        response = Kept(client, "POST")
        response.begin()
        assert (response.status, response.getheader("Retry-After")) == (503, "60")


def test_a_body_above_the_limit_names_the_limit_and_the_command(django, settings):
    settings.LARGEST_UPLOAD = 3 * 2**20
    said = header("/collections/ada/import/send/", 4 * 2**20, cookies_of("ada"))
    status, body = asked(django, said + bytes(4 * 2**20))
    assert status == 413 and b"The limit is 3 MB" in body and b"import commands" in body
