"""The figures at `/metrics`: of requests and acts as each process counts them, of the rest as the database has it.

The processes of a server write what they count into files of one folder, and whichever is asked adds them up. What
the database knows is asked for once, and labelled with no name of a person.
"""

import os
import time
from collections.abc import Callable, Iterator

from django.db import DatabaseError, connection
from django.db.models import Count, Min, Q
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector

from ratings import happenings
from ratings.imports import jobs
from ratings.models import Assignment, Collection, Job

from . import checks, services

CONTENT_TYPE = CONTENT_TYPE_LATEST
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # seconds

own = CollectorRegistry()
requests = Counter("idealist_requests", "Requests answered.", ["view", "status"], registry=own)
latency = Histogram(
    "idealist_request_seconds", "From the request to its answer.", ["view"], buckets=BUCKETS, registry=own
)
acts = Counter(
    "idealist_acts", "What raters and their outboxes did, such as save, claim, doubled.", ["act"], registry=own
)
for name in happenings.NAMES:
    acts.labels(name)  # so that each begins with 0


def heard(name: str, number: int = 1) -> None:
    acts.labels(name).inc(number)


happenings.listeners.append(heard)


def measured(request: HttpRequest, get_response: Callable[[HttpRequest], HttpResponse]) -> HttpResponse:
    """The answer, counted and timed by the name of its view: addresses have keys and would be too many."""
    begun = time.perf_counter()
    response = get_response(request)
    view = name_of(request)
    requests.labels(view, response.status_code).inc()
    latency.labels(view).observe(time.perf_counter() - begun)
    return response


def name_of(request: HttpRequest) -> str:
    """The view's name; "other" for files and for what no view has, of which strangers can ask any number."""
    match = request.resolver_match
    if match is None:  # a middleware answered
        try:
            match = resolve(request.path_info)
        except Resolver404:
            return "other"
    return match.view_name or "other"


def exposed() -> bytes:
    """All figures, of all processes of this server."""
    everything = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(everything)
    else:
        everything.register(own)
    everything.register(Stored())
    return generate_latest(everything)


class Stored:
    """The figures that the database and the worker have. Without the database: that it is away."""

    def collect(self) -> Iterator[Metric]:
        begun = time.perf_counter()
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            took = time.perf_counter() - begun
            families = [*of_jobs(), of_queues(), gauge("database_seconds", "One small query.", took)]
            families += of_worker()
        except DatabaseError:
            connection.close()
            yield gauge("database_up", "1 where the database answers.", 0)
        else:
            yield gauge("database_up", "1 where the database answers.", 1)
            yield from families
        yield of_backups()


def gauge(name: str, said: str, value: float) -> Metric:
    return GaugeMetricFamily(f"idealist_{name}", said, value)


def of_backups() -> Metric:
    """Waits for the store of backups as long as a check may."""
    (outcome,) = checks.outcomes([check for check in checks.CHECKS if check.look is services.backups])
    said = "1 where the last good backup is too old, or the store of backups does not tell."
    return gauge("backup_overdue", said, float(bool(outcome.problems)))


def of_worker() -> Iterator[Metric]:
    heard_at = jobs.last_heartbeat()
    if heard_at is not None:
        yield gauge("worker_seconds", "Since a worker was heard of.", max(0.0, time.time() - heard_at))


def of_jobs() -> Iterator[Metric]:
    """Imports and copies by state, and the age of the oldest that waits or runs."""
    states = dict(Job.objects.order_by().values_list("state").annotate(n=Count("pk")))
    count = GaugeMetricFamily("idealist_jobs", "Imports and copies.", labels=["state"])
    for state in Job.State.values:
        count.add_metric([state], states.get(state, 0))
    yield count
    begun = dict(Job.objects.order_by().values_list("state").annotate(at=Min("created_at")))
    age = GaugeMetricFamily("idealist_oldest_job_seconds", "Age of the oldest in its state.", labels=["state"])
    for state in (Job.State.QUEUED, Job.State.RUNNING):
        since = (timezone.now() - begun[state]).total_seconds() if state in begun else 0
        age.add_metric([state], since)
    yield age


def of_queues() -> Metric:
    """Ratings that wait for somebody, by collection. Its number stands there: a name can tell a secret."""
    waiting = (
        Assignment.objects.waiting()
        .order_by()
        .values_list("collection")
        .annotate(open=Count("pk", filter=Q(state="open")), leased=Count("pk", filter=Q(state="leased")))
    )
    by = {pk: counts for pk, *counts in waiting}
    depth = GaugeMetricFamily("idealist_queue", "Ratings that are wanted.", labels=["collection", "state"])
    for pk in Collection.objects.order_by("pk").values_list("pk", flat=True):
        for state, number in zip(("open", "leased"), by.get(pk, (0, 0)), strict=True):
            depth.add_metric([str(pk), state], number)
    return depth
