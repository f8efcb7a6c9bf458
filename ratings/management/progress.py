"""The progress of a command, as a line of the terminal that is overwritten."""

import time

from django.core.management.base import OutputWrapper

SECONDS_BETWEEN_UPDATES = 0.2


class ProgressLine:
    """Shows a step, its share that is done and its rows; nothing if the stream is no terminal."""

    def __init__(self, stream: OutputWrapper) -> None:
        self.stream = stream
        self.is_terminal = stream.isatty()
        self.shown_at = 0.0

    def __enter__(self) -> "ProgressLine":
        return self

    def __call__(self, name: str, share: float | None = None, rows: int = 0) -> None:
        now = time.monotonic()
        if self.is_terminal and now - self.shown_at >= SECONDS_BETWEEN_UPDATES:
            self.shown_at = now
            percent = "" if share is None else f": {share:.0%}"
            self.write(f"{name}{percent}, {rows:,} rows" if rows else f"{name}{percent}")

    def __exit__(self, *about) -> None:
        if self.shown_at:
            self.write("")

    def write(self, text: str) -> None:
        self.stream.write(f"\r\x1b[K{text}", lambda plain: plain, ending="")
        self.stream.flush()
