"""Charts as pictures that need no script: for pages SVG, for files also PNG and PDF. Nothing is fetched."""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from threading import Lock

from django.conf import settings

from .charts import shortened

THEMES = ("light", "dark")
WIDTH = 760  # pixels, where nobody asks for another
SHARPNESS = 2  # pixels of a PNG for each of the picture

# As in static/charts.js, which draws the same on a page.
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
LOOK = {
    "background": None,
    "mark": {"aria": False},
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "ticks": False,
        "labelPadding": 8,
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "labelColor": "var(--soft)",
        "titleColor": "var(--soft)",
        "gridColor": "var(--line)",
        "tickCount": 5,
    },
    "text": {"fontSize": 13, "color": "var(--ink)"},
    "rule": {"strokeCap": "butt"},
}

# The page's hatches for harm and for "no value", which a chart names by their ids.
HATCHES = (
    '<defs><pattern id="neg" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path fill="{n-a}" d="M0 0h5v5H0z"/><path fill="{n-c}" d="M0 0h2v5H0z"/></pattern>'
    '<pattern id="unj" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">'
    '<path stroke="{edge}" d="M0 0v6"/></pattern></defs>'
)

LETTER = 8  # pixels, of an axis label in a wide font

DRAWN = 64  # pictures that are kept
_drawn: dict[str, str] = {}
_lock = Lock()


def svg(
    spec: Mapping,
    *,
    theme: str = "light",
    width: int = WIDTH,
    title: str = "",
    description: str = "",
    paper: bool = False,
) -> str:
    """A chart of `charts` as SVG, `width` pixels wide, in the colours of the style sheet; `paper`: on white.

    `title` and `description` are for who cannot see it. The same chart gives the same bytes.
    """
    asked = json.dumps([spec, theme, width, title, description, paper], sort_keys=True)
    key = hashlib.sha256(asked.encode()).hexdigest()
    if key not in _drawn:
        drawn = _draw(spec, theme, width, title, description, paper)
        with _lock:
            while len(_drawn) >= DRAWN:
                del _drawn[next(iter(_drawn))]
            _drawn[key] = drawn
    return _drawn[key]


def png(drawn: str) -> bytes:
    from vl_convert import svg_to_png

    return svg_to_png(drawn, scale=SHARPNESS)


def pdf(drawn: str) -> bytes:
    from vl_convert import svg_to_pdf

    return svg_to_pdf(drawn)


def _draw(spec: Mapping, theme: str, width: int, title: str, description: str, paper: bool) -> str:
    from vl_convert import vegalite_to_svg  # its script engine takes two seconds to start

    colours = palette()[theme] | ({"paper": "#ffffff"} if paper else {})
    limit = max(90, min(220, width * 0.34))
    names = {"labelLimit": limit, "labelExpr": shortened("datum.label", int(limit / LETTER))}
    # More room at the sides than there, for a reader whose fonts are wider than the one that is measured here.
    room = {"left": round(limit / 7), "top": 8, "right": 26, "bottom": 4}
    whole = _without_links(spec) | {"config": LOOK | {"axisY": names, "padding": room}}
    whole |= {"width": width, "autosize": {"type": "fit-x", "contains": "padding"}}
    with _drawing:
        drawn = vegalite_to_svg(_resolved(whole, colours))
    begin, end = drawn.split(">", 1)
    words = f"<title>{escape(title)}</title>" if title else ""
    words += f"<desc>{escape(description)}</desc>" if description else ""
    ground = f'<rect width="100%" height="100%" fill="{colours["paper"]}"/>' if paper else ""
    return f'{begin} role="img">{words}{HATCHES.format(**colours)}{ground}{end}'


# One at a time: each takes some hundred megabytes.
_drawing = Lock()


@cache
def palette() -> dict[str, dict[str, str]]:
    """The colours of the style sheet by theme and name."""
    sheet = (settings.BASE_DIR / "static" / "site.css").read_text(encoding="utf-8")
    found = re.findall(r"--([\w-]+): light-dark\(([^,()]+), ([^,()]+)\)", sheet)
    return {theme: {name: both[place] for name, *both in found} for place, theme in enumerate(THEMES)}


def _resolved(part, colours: Mapping[str, str]):
    """Every "var(--name)" as the colour that it is."""
    if isinstance(part, str):
        name = re.fullmatch(r"var\(--([\w-]+)\)", part)
        return colours[name[1]] if name else part
    if isinstance(part, list):
        return [_resolved(item, colours) for item in part]
    if isinstance(part, dict):
        return {key: _resolved(value, colours) for key, value in part.items()}
    return part


def _without_links(part):
    """A picture cannot be clicked, and a file must not name addresses of this server."""
    if isinstance(part, list):
        return [_without_links(item) for item in part]
    if isinstance(part, dict):
        return {key: _without_links(value) for key, value in part.items() if key not in ("href", "url")}
    return part
