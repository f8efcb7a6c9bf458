"""Simulated raters: they sign in, claim, save and undo over HTTP as the desk does, and retry until they succeed.

Every answer that confirms an act goes to a ledger on disk: the record must hold what the ledger holds. Only the
standard library, so that the raters cost little beside the server that they ask.
"""

import json
import os
import queue
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlencode
from uuid import UUID

PASSWORD = "a pass phrase of the bench"
PATIENCE = 20  # seconds, as the desk has
SILENT = 25  # seconds; a server ends a connection that is not used for thirty or more
LONGEST = 60  # seconds between two tries
ENOUGH = 600  # seconds of tries without an answer, after which a rater gives up
AT_ONCE = 8  # tasks to ask for
SAVE, SKIP, UNDO = "save", "skip", "undo"


class Refused(Exception):
    """The server answered, and neither confirmed an act nor asked to send it later."""


class Busy(OSError):
    """The server asks to try again in some seconds."""


class Ledger:
    """A file with a line for each confirmed act, on the disk and not only on its way there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write)
        self._writer.start()

    def confirmed(self, **act) -> None:
        self._lines.put(json.dumps(act))

    def close(self) -> None:
        self._lines.put(None)
        self._writer.join()

    def _write(self) -> None:
        """What came while the disk was busy is written in one go."""
        with self.path.open("a") as file:
            ended = False
            while not ended:
                lines = [self._lines.get()]
                while not self._lines.empty():
                    lines.append(self._lines.get())
                ended = None in lines
                file.write("".join(f"{line}\n" for line in lines if line is not None))
                file.flush()
                os.fsync(file.fileno())


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Browser:
    """One connection that is kept, with its cookies."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.connection = HTTPConnection(*address, timeout=PATIENCE)
        self.cookies: dict[str, str] = {}
        self.csrf = ""
        self.used = 0.0

    def ask(self, path: str, fields: dict | None = None) -> tuple[int, dict, float]:
        """Status, body (empty where it is no JSON), and seconds to wait. Raises OSError, HTTPException."""
        headers = {"Accept": "application/json", "X-CSRFToken": self.csrf}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        body = None
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(fields)
        if time.monotonic() - self.used > SILENT:
            self.connection.close()
        try:
            self.connection.request("GET" if fields is None else "POST", path, body, headers)
            response = self.connection.getresponse()
            content = response.read()
        except (OSError, HTTPException):
            self.connection.close()
            self.connection = HTTPConnection(*self.address, timeout=PATIENCE)
            raise
        self.used = time.monotonic()
        for name, value in response.getheaders():
            if name.lower() == "set-cookie":
                kept, _, content_of = value.partition(";")[0].partition("=")
                self.cookies[kept] = content_of
        is_json = response.getheader("Content-Type", "").startswith("application/json")
        wait = float(response.getheader("Retry-After") or 0)
        return response.status, json.loads(content) if is_json else {}, wait

    def sign_in(self, name: str) -> str:
        """Sign in; the account's key."""
        self.csrf = self.ask("/accounts/session/")[1]["csrf"]
        status, *_ = self.ask("/accounts/sign-in/", {"username": name, "password": PASSWORD})
        if status == 503:
            raise Busy(f"Sign in as {name}: {status}")
        if status != 302:
            raise Refused(f"Sign in as {name}: {status}")
        seen = self.ask("/accounts/session/")[1]
        self.csrf = seen["csrf"]
        return seen["account"]


@dataclass(frozen=True)
class Habits:
    """What a rater does, and how fast."""

    pause: float  # mean seconds between two acts; 0: none
    undo: float = 0.04  # share of acts after which they take it back
    again: float = 0.02  # share of acts after which they change the grade
    skip: float = 0.03
    first_wait: float = 1.0  # seconds before the second try; doubled with each
    arrive: float = 0.0  # seconds within which all sign in: to check a password takes much of the processor


@dataclass(eq=False)
class Rater:
    """Rates until told to stop, and then until what is on its way is confirmed."""

    address: tuple[str, int]
    slug: str
    name: str
    grades: list[str]
    ledger: Ledger
    habits: Habits
    stopping: threading.Event
    seed: int = 0
    statuses: dict[str, int] = field(default_factory=dict)  # what answers there were, silence too
    last_confirmed: float = 0.0  # by time.monotonic
    failure: Exception | None = None

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.chance = random.Random(f"{self.seed} {self.name}")
        self.browser = Browser(self.address)
        self.base = f"/collections/{self.slug}/rate/"

    def run(self) -> None:
        try:
            self.stopping.wait(self.chance.uniform(0, self.habits.arrive))
            self.account = self.enter()
            while not self.stopping.is_set():
                tasks = self.insist(f"{self.base}next/", {"count": AT_ONCE})[0]["tasks"]
                for task in tasks:
                    if self.stopping.is_set():
                        return
                    self.do(task)
                if not tasks:
                    self.stopping.wait(max(0.3, self.habits.pause))
        except Exception as failure:
            self.failure = failure

    def enter(self) -> str:
        end = time.monotonic() + ENOUGH
        while True:
            try:
                return self.browser.sign_in(self.name)
            except (OSError, HTTPException):
                if time.monotonic() > end:
                    raise
                time.sleep(self.habits.first_wait)  # the server is not there yet, or not any more

    def do(self, task: dict) -> None:
        self.think()
        if self.chance.random() < self.habits.skip:
            self.act(SKIP, task["token"], {})
            return
        key, answer = self.rate(task["token"], task["base_revision"])
        if self.chance.random() < self.habits.again:
            self.think()
            key, answer = self.rate(task["token"], answer["revision"])
        if self.chance.random() < self.habits.undo:
            self.think()
            self.act(UNDO, task["token"], {"act": key})

    def think(self) -> None:
        if self.habits.pause:
            self.stopping.wait(self.chance.expovariate(1 / self.habits.pause))

    def rate(self, token: str, base_revision: int) -> tuple[str, dict]:
        return self.act(SAVE, token, {"grade": self.chance.choice(self.grades), "base_revision": base_revision})

    def act(self, kind: str, token: str, fields: dict) -> tuple[str, dict]:
        """Send one act until it is confirmed, each time with its key. Returns that and the answer."""
        key = str(UUID(int=self.chance.getrandbits(128), version=4))
        path = f"{self.base}undo/" if kind == UNDO else f"{self.base}{token}/{kind}/"
        first = time.time()
        answer, tries, seconds, sent = self.insist(path, {**fields, "client_key": key})
        if answer.get("key") != key:
            raise Refused(f"{path}: the answer is about another act: {answer}")
        self.last_confirmed = time.monotonic()
        self.ledger.confirmed(
            rater=self.name,
            kind=kind,
            token=token,
            key=key,
            **{name: value for name, value in fields.items() if name != "base_revision"},
            tries=tries,
            seconds=round(seconds, 5),
            sent=sent,
            first=first,
        )
        return key, answer

    def insist(self, path: str, fields: dict) -> tuple[dict, int, float, float]:
        """The answer, tries, seconds that the last of them took, and when it was sent, by the clock of the day."""
        tries, pause, end = 0, self.habits.first_wait, time.monotonic() + ENOUGH
        while True:
            tries += 1
            sent, begun, wait = time.time(), time.monotonic(), 0.0
            try:
                status, body, wait = self.browser.ask(path, {**fields, "account": self.account})
            except (OSError, HTTPException) as silence:
                status, body = type(silence).__name__, {}
            self.statuses[str(status)] = self.statuses.get(str(status), 0) + 1
            if status == 200:
                return body, tries, time.monotonic() - begun, sent
            if isinstance(status, int) and status not in (500, 502, 503, 504):
                raise Refused(f"{path}: {status} {body}")
            if time.monotonic() > end:
                raise Refused(f"{path}: {status} for {ENOUGH} seconds, at {tries} tries")
            time.sleep(max(min(LONGEST, pause) * self.chance.uniform(0.75, 1.25), wait))
            pause = min(LONGEST, 2 * pause)


@contextmanager
def rating(raters: list[Rater]) -> Iterator[None]:
    """The raters at work. On leaving they come to rest; what one of them could not do is raised."""
    for rater in raters:
        rater.thread.start()
    try:
        yield
    finally:
        for rater in raters:
            rater.stopping.set()
        for rater in raters:
            rater.thread.join()
            rater.browser.connection.close()
    failures = [rater.failure for rater in raters if rater.failure]
    if failures:
        raise failures[0]
