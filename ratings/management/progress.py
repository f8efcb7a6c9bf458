"""The progress of a command, as a line of the terminal that is overwritten."""

import time

from django.core.management.base import OutputWrapper

EVERY = 0.2  # seconds between two updates


class Line:
    """Shows texts in one line, each in place of the last. Shows nothing if the stream is no terminal."""

    def __init__(self, stream: OutputWrapper) -> None:
        self.stream, self.is_terminal, self.shown_at = stream, stream.isatty(), 0.0

    def __enter__(self) -> "Line":
        return self

    def __call__(self, text: str) -> None:
        if self.is_terminal and time.monotonic() - self.shown_at >= EVERY:
            self.shown_at = time.monotonic()
            self.write(text)

    def __exit__(self, *about) -> None:
        self.clear()

    def clear(self) -> None:
        if self.shown_at:
            self.write("")

    def write(self, text: str) -> None:
        self.stream.write(f"\r\x1b[K{text}", lambda plain: plain, ending="")
        self.stream.flush()


class ProgressLine(Line):
    """Shows the share that is done, the rows and the speed of a step."""

    name, begun = "", 0.0

    def __call__(self, name: str, share: float | None, rows: int) -> None:
        now = time.monotonic()
        if name != self.name:
            self.name, self.begun = name, now
        percent = "" if share is None else f" {share:.0%}"
        speed = f", {rows / (now - self.begun):,.0f} a second" if now > self.begun else ""
        super().__call__(f"{name}:{percent} {rows:,} rows{speed}")
