"""Any chart of a page as a picture, for who has no script: the page's own address with ?chart=."""

import json
import re
from collections.abc import Callable
from functools import wraps

from django.http import Http404, HttpRequest, HttpResponse

from .. import pictures

NARROWEST, WIDEST = 200, 8_000  # pixels


def drawable(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """With ?chart=ID the view answers with that chart of its page as SVG, in ?theme= and ?width=."""

    @wraps(view)
    def answered(request: HttpRequest, *args, **kwargs) -> HttpResponse:
        response = view(request, *args, **kwargs)
        is_page = response.status_code == 200 and response["Content-Type"].startswith("text/html")
        return picture(request, response) if is_page and "chart" in request.GET else response

    return answered


def picture(request: HttpRequest, page: HttpResponse) -> HttpResponse:
    """The chart as the page has it for its script. Raises Http404 for one that it does not have."""
    name, theme = re.escape(request.GET["chart"]), request.GET.get("theme", pictures.THEMES[0])
    block = rf'<script id="{name}" type="application/json">(.*?)</script>'
    found = re.search(block, page.content.decode(), re.S)
    if not found or theme not in pictures.THEMES:
        raise Http404("The page has no such chart.")
    drawn = pictures.svg(json.loads(found[1]), theme=theme, width=width(request))
    return HttpResponse(drawn, content_type="image/svg+xml")


def width(request: HttpRequest) -> int:
    asked = request.GET.get("width", str(pictures.WIDTH))
    if not re.fullmatch("[0-9]{1,5}", asked) or not NARROWEST <= int(asked) <= WIDEST:
        raise Http404("No such width.")
    return int(asked)
