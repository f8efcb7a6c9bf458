"""`/livez`, `/readyz` and `/metrics`, answered before anything else is asked.

A probe comes by the address of a container and without TLS. So these three do not check the name of the host and
redirect nowhere: they use no name, set no cookie and know no account. All that anybody can read is whether each
check passes; why, and the figures, are for those who may see the figures.
"""

import time
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from secrets import compare_digest
from threading import Lock

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse

from . import metrics
from .checks import CHECKS, Outcome, outcomes

KEPT = 2.0  # seconds for which an answer holds: who asks often costs nothing


class Health:
    """Middleware that answers the three addresses, and counts and times all other requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.answers = {"/livez": livez, "/readyz": readyz, "/metrics": figures}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self.answers.get(request.path_info)
        if answer is None:
            return metrics.measured(request, self.get_response)
        if request.method not in ("GET", "HEAD"):
            return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
        response = answer(request)
        response["Cache-Control"], response["X-Content-Type-Options"] = "no-store", "nosniff"
        return response


def livez(request: HttpRequest) -> HttpResponse:
    """200: the process answers. Nothing else is looked at, so that nobody restarts it for its database."""
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> JsonResponse:
    """503 where pages cannot be served now; each check by name, and why to those who may see it."""
    found = ready.now()
    told = {"ready": not any(o.problems and o.check.serves for o in found)}
    told["checks"] = {o.check.name: state_of(o) for o in found}
    if may_see(request):
        told["problems"] = [{"check": o.check.name, **p._asdict()} for o in found for p in o.problems]
    return JsonResponse(told, status=200 if told["ready"] else 503)


def state_of(outcome: Outcome) -> str:
    return "not looked at" if not outcome.looked else "wrong" if outcome.problems else "ok"


class Ready:
    """The outcomes of the checks of /readyz, at most KEPT seconds old. One thread looks, others wait for it."""

    def __init__(self) -> None:
        self.lock, self.at, self.found = Lock(), -KEPT, []

    def now(self) -> list[Outcome]:
        with self.lock:
            if time.monotonic() - self.at >= KEPT:
                self.found = outcomes([check for check in CHECKS if check.ready])
                self.at = time.monotonic()
            return self.found


ready = Ready()


def figures(request: HttpRequest) -> HttpResponse:
    """The metrics as Prometheus reads them; 404 for who may not see them."""
    if not may_see(request):
        return HttpResponse("Not Found\n", status=404, content_type="text/plain")
    return HttpResponse(metrics.exposed(), content_type=metrics.CONTENT_TYPE)


def may_see(request: HttpRequest) -> bool:
    """Whether the request has the token of IDEALIST_METRICS_TOKEN, or comes from IDEALIST_METRICS_FROM."""
    token = settings.METRICS_TOKEN
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if token and scheme.lower() == "bearer" and compare_digest(sent.strip().encode(), token.encode()):
        return True
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    return any(address in ip_network(network) for network in settings.METRICS_FROM)
