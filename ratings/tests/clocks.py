"""A clock that nearly stands still, for what counts by the minute."""

import time

from allauth.core.internal import ratelimit
from django.core.cache import cache
from ninja.throttling import SimpleRateThrottle

from ratings.people import pages, throttle


class Clock:
    """Add to `now` to go on."""

    monotonic, sleep = time.monotonic, time.sleep

    def __init__(self, now: float) -> None:
        self.now = now

    def time(self) -> float:
        self.now += 1e-6  # a count that is given back is known by its time
        return self.now


def stopped(monkeypatch, minutes: int) -> Clock:
    """The clock of all limits, at the beginning of a minute; no try is counted yet."""
    clock = Clock(minutes * throttle.MINUTE)
    monkeypatch.setattr(ratelimit, "time", clock)
    monkeypatch.setattr(pages, "time", clock)
    monkeypatch.setattr(SimpleRateThrottle, "timer", lambda self: clock.now)
    cache.clear()
    return clock
