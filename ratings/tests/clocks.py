"""A clock that stands still, for what counts tries by the minute."""

from django.core.cache import caches

from ratings.people import throttle


class Clock:
    """Add to `now` to go on."""

    def __init__(self, now: float) -> None:
        self.now = now

    def time(self) -> float:
        return self.now


def stopped(monkeypatch, windows: int) -> Clock:
    """The clock of `throttle`, at the beginning of a window; no try is counted yet."""
    clock = Clock(windows * throttle.WINDOW)
    monkeypatch.setattr(throttle, "time", clock)
    caches["tries"].clear()
    return clock
