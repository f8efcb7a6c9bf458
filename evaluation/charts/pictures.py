"""Charts as pictures without a script: SVG for pages, PNG and PDF for files. No network access."""

import json
import re
import textwrap
from collections.abc import Mapping
from functools import cache, lru_cache
from html import escape
from threading import Lock

from django.conf import settings

from .spec import shortened

THEMES = ("light", "dark")
WIDTH = 760  # pixels, by default
SHARPNESS = 2  # pixels of the PNG for each pixel of the picture

# As in static/charts.js, which draws the same charts on a page.
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

# The hatches for values below the neutral point and for undefined values, which a chart refers to by id.
HATCHES = (
    '<defs><pattern id="neg" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path fill="{n-a}" d="M0 0h5v5H0z"/><path fill="{n-c}" d="M0 0h2v5H0z"/></pattern>'
    '<pattern id="unj" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">'
    '<path stroke="{edge}" d="M0 0v6"/></pattern></defs>'
)

# Members of a specification with colours, and members with data, where "var(--x)" may be the name of a system.
PAINTS = {
    "background",
    "color",
    "fill",
    "gridColor",
    "labelColor",
    "range",
    "stroke",
    "subtitleColor",
    "titleColor",
}
DATA = {"datasets", "domain"}
LINKS = {"href", "url"}  # a picture must not name addresses of the server

LETTER_WIDTH = 8  # pixels, of an axis label in a wide font

CACHED_PICTURES = 64


def svg(
    spec: Mapping,
    *,
    theme: str = "light",
    width: int = WIDTH,
    title: str = "",
    description: str = "",
    paper: bool = False,
) -> str:
    """The chart as SVG, in the colours of the theme. The same arguments give the same bytes.

    theme: one of THEMES; width: in pixels; title, description: the text alternative; paper: on a white background.
    """
    return _cached_svg(json.dumps(spec), theme, width, title, description, paper)


def titled(spec: Mapping, title: str, caption: str, width: int) -> dict:
    """The specification with a title above the chart, and the lines of a caption between title and chart.

    Title and caption are broken to fit the width, which is in pixels.
    """
    title_size, caption_size = 17, 13  # pixels, of letters
    # How many fit in a line. A letter is about half as wide as its size, in the bold title a little wider.
    letters_of_caption, letters_of_title = int(width / (0.5 * caption_size)), int(width / (0.6 * title_size))
    text = {
        "text": textwrap.wrap(title, letters_of_title),
        "subtitle": [part for line in caption.splitlines() for part in textwrap.wrap(line, letters_of_caption)],
        "color": "var(--ink)",
        "subtitleColor": "var(--soft)",
        "fontSize": title_size,
        "subtitleFontSize": caption_size,
        "fontWeight": "bold",
        "subtitlePadding": 6,
        "anchor": "start",
        "frame": "bounds",
        "offset": 16,
    }
    return {**spec, "title": text}


def png(svg: str) -> bytes:
    """The picture as PNG, SHARPNESS times as wide in pixels."""
    from vl_convert import svg_to_png

    return svg_to_png(svg, scale=SHARPNESS)


def pdf(svg: str) -> bytes:
    from vl_convert import svg_to_pdf

    return svg_to_pdf(svg)


@lru_cache(CACHED_PICTURES)
def _cached_svg(spec: str, theme: str, width: int, title: str, description: str, paper: bool) -> str:
    """The SVG of the specification, as `svg` describes it. spec: JSON text, which the cache can hash."""
    from vl_convert import vegalite_to_svg  # its script engine takes two seconds to start

    colours = palette()[theme] | ({"paper": "#ffffff"} if paper else {})
    # Names on the y axis get about a third of the picture, from 90 to 220 pixels. Longer names are cut.
    label_width = max(90, min(220, width * 0.34))
    y_axis = {"labelLimit": label_width, "labelExpr": shortened("datum.label", int(label_width / LETTER_WIDTH))}
    # The reader's font may be wider than the one with which labels are measured here: a seventh more is free.
    padding = {"left": round(label_width / 7), "top": 8, "right": 26, "bottom": 4}
    document = {
        **json.loads(spec),
        "config": LOOK | {"axisY": y_axis, "padding": padding},
        "width": width,
        "autosize": {"type": "fit-x", "contains": "padding"},
    }
    with _one_at_a_time:
        picture = vegalite_to_svg(_resolved(document, colours))
    # The text alternative, the hatches and the background belong first into the <svg> element.
    opening_tag, content = picture.split(">", 1)
    alternative = f"<title>{escape(title)}</title>" if title else ""
    alternative += f"<desc>{escape(description)}</desc>" if description else ""
    background = f'<rect width="100%" height="100%" fill="{colours["paper"]}"/>' if paper else ""
    return f'{opening_tag} role="img">{alternative}{HATCHES.format(**colours)}{background}{content}'


_one_at_a_time = Lock()  # drawing a picture takes some hundred megabytes


@cache
def palette() -> dict[str, dict[str, str]]:
    """The colours of the style sheet, by theme and by name."""
    sheet = (settings.BASE_DIR / "static" / "site.css").read_text(encoding="utf-8")
    variables = re.findall(r"--([\w-]+): light-dark\(([^,()]+), ([^,()]+)\)", sheet)
    return {
        "light": {name: light for name, light, _ in variables},
        "dark": {name: dark for name, _, dark in variables},
    }


def _resolved(part, colours: Mapping[str, str], paints: bool = False):
    """A part of a specification as it is drawn: each colour "var(--name)" has its value, and links are left out.

    A part is a text, a list, an object with members, or a number. Members that DATA names stay as they are: there
    "var(--name)" can be the name of a system. LINKS names the members that are left out. paints: whether the part
    is within a member that PAINTS names; only there a text is a colour.
    """
    if isinstance(part, str):
        variable = re.fullmatch(r"var\(--([\w-]+)\)", part) if paints else None
        return colours[variable[1]] if variable else part  # [1]: the name
    if isinstance(part, list):
        return [_resolved(item, colours, paints) for item in part]
    if isinstance(part, dict):
        return {
            key: value if key in DATA else _resolved(value, colours, paints or key in PAINTS)
            for key, value in part.items()
            if key not in LINKS
        }
    return part
