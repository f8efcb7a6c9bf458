"""The endpoints `/livez`, `/readyz` and `/metrics`, answered before all other middleware.

A probe uses the address of a container, without TLS. So these three do not check the name of the host, do not
redirect, set no cookie and use no account. Everybody can read whether each check passes. The problems and the
metrics are only for those who may see the metrics.
"""

import time
from collections.abc import Callable
from secrets import compare_digest
from threading import Lock

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from . import metrics
from .checks import CHECKS, Outcome, outcomes

MAX_AGE_SECONDS = 2.0  # for which results are reused, so that frequent probes cost nothing


class Health:
    """Middleware that answers the three endpoints, and counts and times all other requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.endpoints = {"/livez": livez, "/readyz": readyz, "/metrics": metrics_page}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        endpoint = self.endpoints.get(request.path_info)
        if endpoint is None:
            return metrics.count_and_time(request, self.get_response)
        if request.method not in ("GET", "HEAD"):
            return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
        response = endpoint(request)
        response["Cache-Control"], response["X-Content-Type-Options"] = "no-store", "nosniff"
        return response


def livez(request: HttpRequest) -> HttpResponse:
    """200. It checks nothing, so that nobody restarts the process because of its database."""
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> JsonResponse:
    """200, or 503 where pages cannot be served: the state of each check and, for those who may, its problems."""
    results = readiness.current()
    ready = not any(result.problems and result.check.blocks_pages for result in results)
    body = {"ready": ready, "checks": {result.check.name: state_text(result) for result in results}}
    if may_see(request):
        body["problems"] = [
            {"check": result.check.name, **problem._asdict()} for result in results for problem in result.problems
        ]
    return JsonResponse(body, status=200 if ready else 503)


def state_text(outcome: Outcome) -> str:
    return "not looked at" if not outcome.ran else "wrong" if outcome.problems else "ok"


class Readiness:
    """The outcomes of the checks of /readyz, at most MAX_AGE_SECONDS old. One thread runs them; others wait."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.checked_at = -MAX_AGE_SECONDS  # by time.monotonic
        self.outcomes: list[Outcome] = []

    def current(self) -> list[Outcome]:
        with self.lock:
            if time.monotonic() - self.checked_at >= MAX_AGE_SECONDS:
                self.outcomes = outcomes([check for check in CHECKS if check.in_readyz])
                self.checked_at = time.monotonic()
            return self.outcomes


readiness = Readiness()


def metrics_page(request: HttpRequest) -> HttpResponse:
    """The metrics in the format of Prometheus; 404 for those who may not see them."""
    if not may_see(request):
        return HttpResponse("Not Found\n", status=404, content_type="text/plain")
    return HttpResponse(generate_latest(metrics.registry), content_type=CONTENT_TYPE_LATEST)


def may_see(request: HttpRequest) -> bool:
    """Whether the request has the token of IDEALIST_METRICS_TOKEN."""
    token = settings.METRICS_TOKEN
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    return bool(token) and scheme.lower() == "bearer" and compare_digest(sent.strip().encode(), token.encode())
