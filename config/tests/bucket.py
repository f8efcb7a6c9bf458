"""A stand-in for an S3-compatible store, in a thread of this process. Keeps files in memory, checks no key."""

import hashlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


class Store(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.files: dict[str, tuple[bytes, datetime]] = {}  # "bucket/key" -> content, time
        self.asked: list[str] = []
        self.removed: set[str] = set()  # buckets; all others are there

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Store

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.files[self._key] = content, datetime.now(UTC)
        self._answer(200, ETag=_tag(content))

    def do_GET(self) -> None:
        if self._key.partition("/")[0] in self.server.removed:
            self._answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
            return
        if "/" not in self._key:
            self._list()
            return
        found = self.server.files.get(self._key)
        if found is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
            return
        content, at = found
        facts = {"ETag": _tag(content), "Last-Modified": f"{at:%a, %d %b %Y %H:%M:%S GMT}"}
        if wanted := self.headers.get("Range"):
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            part = content[int(first) : int(last) + 1 if last else None]
            end = int(first) + len(part) - 1
            self._answer(206, part, **facts, **{"Content-Range": f"bytes {first}-{end}/{len(content)}"})
        else:
            self._answer(200, content, **facts)

    do_HEAD = do_GET

    def do_DELETE(self) -> None:
        self.server.files.pop(self._key, None)
        self._answer(204)

    def _list(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        prefix, delimiter = (asked.get(name, [""])[0] for name in ("prefix", "delimiter"))
        within, files, folders = f"{self._key}/", [], set()
        for name, (content, at) in sorted(self.server.files.items()):
            key = name.removeprefix(within)
            if not name.startswith(within + prefix):
                continue
            if delimiter and delimiter in key[len(prefix) :]:
                folders.add(prefix + key[len(prefix) :].partition(delimiter)[0] + delimiter)
                continue
            files.append(
                f"<Contents><Key>{escape(key)}</Key><Size>{len(content)}</Size><ETag>{_tag(content)}</ETag>"
                f"<LastModified>{at:%Y-%m-%dT%H:%M:%S.000Z}</LastModified></Contents>"
            )
        listed = [f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in sorted(folders)]
        body = "".join(
            ["<ListBucketResult><IsTruncated>false</IsTruncated>", *files, *listed, "</ListBucketResult>"]
        )
        self._answer(200, body.encode())

    def _answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.server.asked.append(f"{self.command} {urlsplit(self.path).path} {status}")
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    @property
    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).strip("/")

    def log_message(self, *_) -> None:
        """Says nothing."""


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'


@contextmanager
def store() -> Iterator[Store]:
    with Store() as found:
        thread = Thread(target=found.serve_forever, args=[0.05], daemon=True)
        thread.start()
        try:
            yield found
        finally:
            found.shutdown()


class Silent:
    """A server that accepts connections and never answers, until `end` closes them."""

    def __init__(self) -> None:
        self.listener, self.accepted = socket.create_server(("127.0.0.1", 0)), []
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = Thread(target=self._accept)
        self.thread.start()

    def __enter__(self) -> "Silent":
        return self

    def __exit__(self, *_) -> None:
        self.end()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self.accepted.append(self.listener.accept()[0])

    def end(self) -> None:
        with suppress(OSError):  # it has ended
            self.listener.shutdown(socket.SHUT_RDWR)  # a close alone does not end the wait of `accept`
        self.thread.join()
        for each in (self.listener, *self.accepted):
            each.close()
