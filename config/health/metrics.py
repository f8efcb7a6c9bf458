"""The metrics at `/metrics`: the server counts requests and acts; the rest comes from the database.

No label contains the name of a person.
"""

import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Min
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CollectorRegistry, Counter, Histogram, Info
from prometheus_client.core import GaugeMetricFamily, Metric

from evaluation.models import Watch
from evaluation.watching import lookup
from ratings.desk import happenings
from ratings.importing import signs
from ratings.models import Assignment, Collection, Job

from . import checks, services

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
        seconds = max(0.0, time.time() - last_heartbeat_at)
        yield gauge("worker_seconds", "Since the last heartbeat of a worker.", seconds)


def job_metrics() -> Iterator[Metric]:
    """Yields the number of imports and copies by state, and the age of the oldest that waits or runs."""
    counts = dict(Job.objects.order_by().values_list("state").annotate(n=Count("pk")))
    number_by_state = GaugeMetricFamily("idealist_jobs", "Imports and copies.", labels=["state"])
    for state in Job.State.values:
        number_by_state.add_metric([state], counts.get(state, 0))
    yield number_by_state
    oldest = dict(Job.objects.order_by().values_list("state").annotate(at=Min("created_at")))
    age_by_state = GaugeMetricFamily(
        "idealist_oldest_job_seconds", "Age of the oldest in its state.", labels=["state"]
    )
    for state in (Job.State.QUEUED, Job.State.RUNNING):
        seconds = (timezone.now() - oldest[state]).total_seconds() if state in oldest else 0
        age_by_state.add_metric([state], seconds)
    yield age_by_state


def queue_metric() -> Metric:
    """Wanted ratings by collection and state. The label is the id of the collection: its name can be secret."""
    waiting = Assignment.objects.waiting().order_by().values_list("collection", "state").annotate(n=Count("pk"))
    numbers = {(pk, state): number for pk, state, number in waiting}
    metric = GaugeMetricFamily("idealist_queue", "Ratings that are wanted.", labels=["collection", "state"])
    for pk in Collection.objects.order_by("pk").values_list("pk", flat=True):
        for state in ("open", "leased"):
            metric.add_metric([str(pk), state], numbers.get((pk, state), 0))
    return metric


# By watch, and by watch and kind of baseline: name -> documentation. The night is the last one that was told.
OF_WATCH = {
    "mean": "Mean of the night.",
    "judged": "Share of its results above the cutoff that are judged.",
    "queries": "Queries that count in its mean.",
    "night_seconds": "When it was, since 1970.",
    "gap": "1 where a gap came after it.",
    "alarms": "Baselines than which the search is worse.",
}
OF_BASELINE = {
    "difference": "Mean of the night minus that of the baseline.",
    "difference_low": "Lower one-sided 95 % limit of the difference.",
    "difference_high": "Upper one-sided 95 % limit of the difference.",
}


def watch_metrics() -> Iterator[Metric]:
    """Yields the metrics of watches. A number that has no value is left out.

    The labels are the ids of collection and watch, since names can be secret, and for OF_BASELINE the kind of
    baseline. A collection that an import still writes, or that is deleted, has no slug and no metrics.
    """
    families = {}
    for name, text in (OF_WATCH | OF_BASELINE).items():
        labels = ["collection", "watch", *(["baseline"] if name in OF_BASELINE else [])]
        families[name] = GaugeMetricFamily(f"idealist_watch_{name}", text, labels=labels)
    for watch in Watch.objects.filter(collection__slug__isnull=False).order_by("pk"):
        for name, baselines, value in watch_values(watch):  # one baseline or none
            if value is not None:
                families[name].add_metric([str(watch.collection_id), str(watch.pk), *baselines], value)
    yield from families.values()


def watch_values(watch: Watch) -> Iterator[tuple[str, list[str], float | None]]:
    """Yields (name, [kind of baseline], value) of each metric of the watch; [] for one that has no baseline.

    A gap is a last night in which the search gave no answer. A verdict compares a night with one baseline.
    """
    yield "gap", [], float(lookup.gap_at_end(watch) is not None)
    yield "alarms", [], len(watch.open_alarms())
    night = lookup.last_night(watch)
    if night is None:
        return
    yield "night_seconds", [], night.due_at.timestamp()
    for name in ("mean", "judged", "queries"):
        yield name, [], night.means[name]
    for verdict in night.verdicts.all():
        yield "difference", [verdict.baseline], verdict.numbers["difference"]
        yield "difference_low", [verdict.baseline], verdict.numbers["low"]
        yield "difference_high", [verdict.baseline], verdict.numbers["high"]


registry.register(DatabaseCollector())
