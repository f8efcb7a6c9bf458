"""The charts of a page, and each as an SVG for browsers without script, at ?chart=ID."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from ..charts import pictures

NARROWEST, WIDEST = 200, 8_000  # pixels


@dataclass(frozen=True)
class Chart:
    """A chart with its id on the page."""

    id: str
    spec: dict
    alt_text: str
    least: int | None = None  # least width in pixels; the page scrolls


def charted(request: HttpRequest, template: str, context: dict) -> HttpResponse:
    """The page; with ?chart=ID that one of the context's `charts` as SVG, in ?theme= and ?width=."""
    if "chart" in request.GET:
        return picture(request, context.get("charts", {}).values())
    return render(request, template, context)


def picture(request: HttpRequest, charts: Iterable[Chart]) -> HttpResponse:
    """The chart as SVG. Raises Http404 for a chart that the page does not have."""
    theme = request.GET.get("theme", pictures.THEMES[0])
    found = next((chart for chart in charts if chart.id == request.GET["chart"]), None)
    if not found or theme not in pictures.THEMES:
        raise Http404("The page has no such chart.")
    return HttpResponse(pictures.svg(found.spec, theme=theme, width=width(request)), content_type="image/svg+xml")


def width(request: HttpRequest) -> int:
    asked = request.GET.get("width", str(pictures.WIDTH))
    if not re.fullmatch("[0-9]{1,5}", asked) or not NARROWEST <= int(asked) <= WIDEST:
        raise Http404("No such width.")
    return int(asked)
