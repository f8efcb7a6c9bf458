"""Connections that are silent or read slowly, in any number, and replaced when the server closes them.

    python -m bench._strangers PORT silent|slow NUMBER PATH

A separate process, so that they cost the measuring side nothing. It writes a line when all are connected.
"""

import selectors
import socket
import sys
import time
from contextlib import suppress

LATE = 20  # seconds; a server that its readers stop answers some of them never
HEADER = b"GET / HTTP/1.1\r\nHost: localhost"
# To a page that reads what is sent.
BODY = b"POST /accounts/sign-in/ HTTP/1.1\r\nHost: localhost\r\nCookie: csrftoken=" + b"a" * 32
BODY += b"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nusername="


def opened(port: int, said: bytes, buffer: int) -> socket.socket:
    stranger = socket.socket()
    if buffer:
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    stranger.setblocking(False)
    stranger.connect_ex(("127.0.0.1", port))
    return stranger


def main(port: str, kind: str, number: str, path: str) -> None:
    # One file would fit into what the system keeps for who does not read.
    reading = 20 * f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    says = [reading] if kind == "slow" else [HEADER, BODY]
    waiting = selectors.DefaultSelector()
    late = time.monotonic() + LATE
    counted, told, answered = 0, False, set()
    while True:
        while len(waiting.get_map()) < int(number):
            said = says[counted % len(says)]
            stranger = opened(int(port), said, 4096 if kind == "slow" else 0)
            waiting.register(stranger, selectors.EVENT_WRITE, said)
            counted += 1
        for key, events in waiting.select(0.5):
            stranger = key.fileobj
            if events & selectors.EVENT_WRITE:
                with suppress(OSError):
                    stranger.send(key.data)
                    waiting.modify(stranger, selectors.EVENT_READ, key.data)
                    continue
            try:
                gone = not stranger.recv(16)
                answered.add(stranger)
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            if gone:
                waiting.unregister(stranger)
                stranger.close()
        all_said = all(key.events == selectors.EVENT_READ for key in waiting.get_map().values())
        # To make the answers that are read slowly is work like any other, and not what is measured.
        if not told and all_said and (kind == "silent" or len(answered) >= int(number) or time.monotonic() > late):
            told = True
            print("there", flush=True)
        time.sleep(0.5)  # what came meanwhile is read some bytes at a time


if __name__ == "__main__":
    main(*sys.argv[1:])
