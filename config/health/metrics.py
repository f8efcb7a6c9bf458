"""The metrics at `/metrics`: the server counts requests and acts; the rest comes from the database.

No label contains the name of a person.
"""

import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Min, Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, Info, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from evaluation.models import Night, Watch
from evaluation.watching import lookup, trend
from ratings.desk import happenings
from ratings.importing import signs
from ratings.models import Assignment, Collection, Job

from . import checks, services

CONTENT_TYPE = CONTENT_TYPE_LATEST
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # seconds

registry = CollectorRegistry()
Info("idealist", "The version.", registry=registry).info({"version": settings.VERSION})
requests = Counter("idealist_requests", "Requests answered.", ["view", "status"], registry=registry)
latency = Histogram(
    "idealist_request_seconds", "From the request to its answer.", ["view"], buckets=BUCKETS, registry=registry
)
acts = Counter(
    "idealist_acts",
    "What raters and their outboxes did, such as save, claim, doubled.",
    ["act"],
    registry=registry,
)
for name in happenings.NAMES:
    acts.labels(name)  # so that each is exposed from the start, as 0


def count_act(name: str, number: int = 1) -> None:
    acts.labels(name).inc(number)


happenings.listeners.append(count_act)


def count_and_time(request: HttpRequest, get_response: Callable[[HttpRequest], HttpResponse]) -> HttpResponse:
    """The response, counted and timed by its view. Addresses would be too many, and some contain keys."""
    started = time.perf_counter()
    response = get_response(request)
    # There is none for static files, unknown addresses, and what a middleware answered.
    view = (request.resolver_match and request.resolver_match.view_name) or "other"
    requests.labels(view, response.status_code).inc()
    latency.labels(view).observe(time.perf_counter() - started)
    return response


class DatabaseCollector:
    """Collects the metrics of the database, the worker and the backups.

    If the database does not answer, it yields only this fact and the metric of the backups.
    """

    def collect(self) -> Iterator[Metric]:
        """The metrics at this moment, as Prometheus asks for them."""
        started = time.perf_counter()
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            seconds = time.perf_counter() - started
            # All are read before the first is yielded, since the database may fail at any of them.
            database_metrics = [
                *job_metrics(),
                queue_metric(),
                gauge("database_seconds", "One small query.", seconds),
                *worker_metrics(),
                *watch_metrics(),
            ]
        except DatabaseError:
            connection.close()  # so that the next query opens a new one
            yield gauge("database_up", "1 where the database answers.", 0)
        else:
            yield gauge("database_up", "1 where the database answers.", 1)
            yield from database_metrics
        yield backup_metric()


def gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(f"idealist_{name}", documentation, value)


def backup_metric() -> Metric:
    """Whether a backup is overdue. It waits for the store of backups as long as a check may."""
    (outcome,) = checks.outcomes([check for check in checks.CHECKS if check.run is services.backups])
    documentation = "1 where the last good backup is too old, or the store of backups does not tell."
    return gauge("backup_overdue", documentation, float(bool(outcome.problems)))


def worker_metrics() -> Iterator[Metric]:
    last_heartbeat_at = signs.last_of_worker()
    if last_heartbeat_at is not None:
        yield gauge(
            "worker_seconds", "Since the last heartbeat of a worker.", max(0.0, time.time() - last_heartbeat_at)
        )


def job_metrics() -> Iterator[Metric]:
    """Yields the number of imports and copies by state, and the age of the oldest that waits or runs."""
    counts = dict(Job.objects.order_by().values_list("state").annotate(n=Count("pk")))
    number_by_state = GaugeMetricFamily("idealist_jobs", "Imports and copies.", labels=["state"])
    for state in Job.State.values:
        number_by_state.add_metric([state], counts.get(state, 0))
    yield number_by_state
    started = dict(Job.objects.order_by().values_list("state").annotate(at=Min("created_at")))
    age_by_state = GaugeMetricFamily(
        "idealist_oldest_job_seconds", "Age of the oldest in its state.", labels=["state"]
    )
    for state in (Job.State.QUEUED, Job.State.RUNNING):
        since = (timezone.now() - started[state]).total_seconds() if state in started else 0
        age_by_state.add_metric([state], since)
    yield age_by_state


def queue_metric() -> Metric:
    """Wanted ratings by collection and state. The label is the id of the collection: its name can be secret."""
    waiting = (
        Assignment.objects.waiting()
        .order_by()
        .values_list("collection")
        .annotate(open=Count("pk", filter=Q(state="open")), leased=Count("pk", filter=Q(state="leased")))
    )
    counts_by_collection = {pk: counts for pk, *counts in waiting}
    metric = GaugeMetricFamily("idealist_queue", "Ratings that are wanted.", labels=["collection", "state"])
    for pk in Collection.objects.order_by("pk").values_list("pk", flat=True):
        open_number, leased_number = counts_by_collection.get(pk, (0, 0))
        metric.add_metric([str(pk), "open"], open_number)
        metric.add_metric([str(pk), "leased"], leased_number)
    return metric


def watch_metrics() -> Iterator[Metric]:
    """Yields four metrics of each watch: mean and time of its last night, whether that is a gap, and open alarms.

    The labels are ids: names can be secret.
    """
    labels = ["collection", "watch"]
    means = GaugeMetricFamily("idealist_watch_mean", "Mean of the last night that was told.", labels=labels)
    nights = GaugeMetricFamily("idealist_watch_night_seconds", "When that was, since 1970.", labels=labels)
    gaps = GaugeMetricFamily("idealist_watch_gap", "1 where the last night is a gap.", labels=labels)
    alarms = GaugeMetricFamily("idealist_watch_alarms", "Baselines than which it is worse.", labels=labels)
    for watch in Watch.objects.filter(collection__slug__isnull=False).order_by("pk"):
        label_values = [str(watch.collection_id), str(watch.pk)]
        alarms.add_metric(label_values, len(watch.open_alarms()))
        states = watch.nights.filter(state__in=trend.ENDED).order_by("-due_at").values_list("state", flat=True)
        gaps.add_metric(label_values, float(states.first() == Night.State.GAP))
        if night := lookup.last_night(watch):
            nights.add_metric(label_values, night.due_at.timestamp())
            if night.means["mean"] is not None:
                means.add_metric(label_values, night.means["mean"])
    yield from (means, nights, gaps, alarms)


registry.register(DatabaseCollector())


def exposition() -> bytes:
    """All metrics, in the format of Prometheus."""
    return generate_latest(registry)
