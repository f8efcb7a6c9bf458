"""The charts of a page, and each chart as SVG at ?chart=ID, for browsers without scripts."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Semaphore

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import json_script
from django.utils.safestring import SafeString

from ratings.web.downloads import busy

from ..charts import pictures

NARROWEST, WIDEST = 200, 8_000  # pixels
# A process draws one chart at a time, and the requests that wait for it must leave threads to pages. A browser
# without scripts asks for all charts of a page at once.
AT_ONCE = 4
_turns = Semaphore(AT_ONCE)


@dataclass(frozen=True)
class Chart:
    """A chart with its id on the page."""

    id: str
    spec: dict
    alt_text: str
    least: int | None = None  # least width in pixels, on a page that scrolls

    @property
    def script(self) -> SafeString:
        """The document as a <script> of JSON. ValueError for nan, which browsers refuse with the whole chart."""
        return json_script(self.spec, self.id, _Strict)


class _Strict(DjangoJSONEncoder):
    def __init__(self, **options) -> None:
        super().__init__(**options | {"allow_nan": False})


def dot(label: str, value: float | None, low: float | None, high: float | None, n: int, **more) -> dict:
    """A row of `charts.differences`."""
    return {"label": label, "value": value, "low": low, "high": high, "n": n, **more}


def charted(request: HttpRequest, template: str, context: dict) -> HttpResponse:
    """The page, or with ?chart=ID that chart of the context's `charts` as SVG."""
    if "chart" in request.GET:
        return picture(request, context.get("charts", {}).values())
    return render(request, template, context)


def picture(request: HttpRequest, charts: Iterable[Chart]) -> HttpResponse:
    """The chart of the address as SVG, in its ?theme= and ?width=. Raises Http404 where there is no such chart."""
    theme = request.GET.get("theme", pictures.THEMES[0])
    chart = next((chart for chart in charts if chart.id == request.GET["chart"]), None)
    if not chart or theme not in pictures.THEMES:
        raise Http404("The page has no such chart.")
    asked = width(request)
    if not _turns.acquire(blocking=False):
        return busy(request, "The server is drawing charts for others now.")
    try:
        return HttpResponse(pictures.svg(chart.spec, theme=theme, width=asked), content_type="image/svg+xml")
    finally:
        _turns.release()


def width(request: HttpRequest) -> int:
    """The width of the address in pixels. Raises Http404 for one outside NARROWEST to WIDEST."""
    asked = request.GET.get("width", str(pictures.WIDTH))
    if not re.fullmatch("[0-9]{1,5}", asked) or not NARROWEST <= int(asked) <= WIDEST:
        raise Http404("No such width.")
    return int(asked)
