"""Several raters, or several tabs of one, at the same moment."""

import threading
import time
from collections.abc import Callable, Sequence

from django.db import connection
from django.db.models import QuerySet

from ratings.database.prepared import Prepared
from ratings.models import Rater


def race(raters: Sequence[Rater], act: Callable[[Rater], object]) -> list:
    """Run `act(rater)` in one thread each, all starting together; the results in the order of raters."""
    barrier, results = threading.Barrier(len(raters)), [None] * len(raters)

    def run(i: int) -> None:
        try:
            if connection.vendor == "sqlite":  # forty writers of a busy machine wait longer than people would
                options = {**connection.settings_dict["OPTIONS"], "timeout": 120}
                connection.settings_dict = {**connection.settings_dict, "OPTIONS": options}
            barrier.wait()
            results[i] = act(raters[i])
        except Exception as error:
            results[i] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(raters))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def until(true: Callable[[], object], seconds: float = 120) -> None:
    """Wait until it is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def unqueued(act: Callable) -> Callable:
    """The act without the transaction that on SQLite lets one writer in at a time and so hides a race.

    PostgreSQL lets them run side by side as they are.
    """
    return act if connection.vendor == "postgresql" else act.__wrapped__


def unlocked(look: Prepared) -> Prepared:
    """The look at the rater that an act begins with, and locks nothing."""

    def make() -> QuerySet:
        rows = look._make()
        rows.query.select_for_update = False
        return rows

    return Prepared(make)


def all_have_looked(look: Callable, parties: int) -> Callable:
    """`look`, after which everybody waits for the others before they write."""
    barrier, first = threading.Barrier(parties), threading.local()

    def wait(*arguments, **given):
        found = look(*arguments, **given)
        if not getattr(first, "done", False):
            first.done = True
            barrier.wait(timeout=60)
        return found

    return wait
