"""A search engine on this machine, which answers as a test says."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class FakeEngine(ThreadingHTTPServer):
    """A search engine on this machine. `answer(handler, query, depth)` does what it does."""

    daemon_threads = True

    def __init__(self, answer) -> None:
        self.answer, self.asked = answer, []
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/search"

    def handle_error(self, request, client_address) -> None:
        """Who hangs up is no error here."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.raw = self.rfile.read(int(self.headers["Content-Length"]))
        self.body = json.loads(self.raw)
        self.do_GET()

    def do_GET(self) -> None:
        self.given = {name: value for name, (value,) in parse_qs(urlsplit(self.path).query).items()}
        self.server.asked.append(self)
        self.server.answer(self)

    def send(self, content: bytes | dict, status: int = 200, **headers: str) -> None:
        content = json.dumps(content).encode() if isinstance(content, dict) else content
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments) -> None:
        pass
