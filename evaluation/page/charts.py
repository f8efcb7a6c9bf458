"""The charts of a page, and each chart at ?chart=ID: as SVG for browsers without scripts, and as a file."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from threading import Semaphore

from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import json_script
from django.utils.safestring import SafeString

from ratings.web.downloads import busy

from ..charts import pictures
from .downloads import saved

NARROWEST, WIDEST = 200, 8_000  # pixels
# A process draws one chart at a time, and the requests that wait for it must leave threads to pages. A browser
# without scripts asks for all charts of a page at once.
PICTURES_AT_ONCE = 4
PICTURE_TYPES = {"png": "image/png", "svg": "image/svg+xml"}  # of picture files, by their ending
_turns = Semaphore(PICTURES_AT_ONCE)  # a request has a turn while it draws, or waits for the one that draws


@dataclass(frozen=True)
class Chart:
    """A chart with its id on the page."""

    id: str
    spec: dict
    alt_text: str
    least_width: int | None = None  # in pixels, on a page that scrolls
    # Of a chart that can be taken away as a file, which says what it shows.
    title: str = ""
    caption: str = ""
    file: str = ""  # its name, without the ending

    def titled(self, title: str, caption: str, file: str) -> "Chart":
        """The chart with what its picture file says."""
        return replace(self, title=title, caption=caption, file=f"{file}-{self.id}")

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
    """The chart that ?chart= names: as SVG for a page, or as a file of the type that ?picture= names.

    Raises Http404 for an address that names no such chart, theme, width or type.
    """
    theme = request.GET.get("theme", pictures.THEMES[0])
    chart_id = request.GET["chart"]  # `charted` calls this only where the address has it
    chart = next((chart for chart in charts if chart.id == chart_id), None)
    if not chart or theme not in pictures.THEMES:
        raise Http404("The page has no such chart.")
    pixels = width(request)
    ending = request.GET.get("picture", "")  # of the file; "" for a page
    # A chart without a title cannot be a file, since nothing beside a file says what it shows.
    if ending and (not chart.title or ending not in PICTURE_TYPES):
        raise Http404("No such picture.")
    # PICTURES_AT_ONCE requests draw a chart or wait for one already: more would take the threads of pages.
    if not _turns.acquire(blocking=False):
        return busy(request, "The server is drawing charts for others now.")
    try:
        if ending:
            return picture_file(chart, ending, pixels)
        return HttpResponse(pictures.svg(chart.spec, theme=theme, width=pixels), content_type="image/svg+xml")
    finally:
        _turns.release()


def picture_file(chart: Chart, ending: str, width: int) -> HttpResponse:
    """The chart as a file with its title and caption, on white."""
    spec = pictures.titled(chart.spec, chart.title, chart.caption, width)
    svg = pictures.svg(spec, width=width, title=chart.title, description=chart.alt_text, paper=True)
    content = svg if ending == "svg" else pictures.png(svg)
    return saved(content, PICTURE_TYPES[ending], f"{chart.file}.{ending}")


def width(request: HttpRequest) -> int:
    """The width that the address asks for, in pixels. Raises Http404 for one outside NARROWEST to WIDEST."""
    pixels = request.GET.get("width", str(pictures.WIDTH))
    if not re.fullmatch("[0-9]{1,5}", pixels) or not NARROWEST <= int(pixels) <= WIDEST:
        raise Http404("No such width.")
    return int(pixels)
