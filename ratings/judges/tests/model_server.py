"""A server of the chat-completions convention on loopback, which does what each pair's document says."""

import json
import re
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FENCED = re.compile(r"(-----[0-9a-f]{24}-----)\n(.*?)\n\1", re.DOTALL)


class ModelServer(ThreadingHTTPServer):
    """`answer(handler, document)` answers; `asked` counts the calls of each query and document."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, answer, port: int = 0) -> None:
        self.answer, self.asked, self.bodies, self.heads = answer, Counter(), [], []
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def handle_error(self, request, client_address) -> None:
        """Who hangs up is no error here."""

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        query, document = (found[1] for found in FENCED.findall(body["messages"][0]["content"]))
        with self.server.lock:
            self.server.asked[query, document] += 1
            self.number = self.server.asked[query, document]
            self.server.bodies.append(body)
            self.server.heads.append(dict(self.headers))
        self.body = body
        self.server.answer(self, document)

    def say(self, content: str | None, *, model: str = "", ended: str = "stop", refusal=None) -> None:
        """A chat completion with this content."""
        message = {"role": "assistant", "content": content, "refusal": refusal}
        choice = {"index": 0, "message": message, "finish_reason": ended}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        self.send({"model": model or self.body["model"], "choices": [choice], "usage": usage})

    def send(self, content: bytes | dict, status: int = 200, **headers: str) -> None:
        content = json.dumps(content).encode() if isinstance(content, dict) else content
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def hang(self, seconds: float = 5.0) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.server._BaseServer__shutdown_request:
            time.sleep(0.02)

    def cut(self) -> None:
        """Headers that promise a body, and no body."""
        self.send_response(200)
        self.send_header("Content-Length", "500")
        self.end_headers()
        self.close_connection = True

    def log_message(self, *arguments) -> None:
        pass
