"""Charts as pictures: in both themes, for who has no script, and the same as the page draws."""

import re
import threading
import time
import xml.etree.ElementTree as ET

import pytest
import vl_convert

from evaluation import charts
from evaluation.charts import pictures
from evaluation.charts.spec import ACCENT, EDGE, INK, PAPER, SHADES, SOFT, WARN
from evaluation.tests.hills import analyst, make_hills

ROWS = [
    {"system": "<b> & co", "mean": 0.5, "low": 0.4, "high": 0.6, "queries": 3, "leader": True},
    {"system": "dense", "mean": 0.3, "low": None, "high": None, "queries": 3, "leader": False},
]


def test_a_picture_is_whole_svg_in_the_colours_of_the_theme():
    for theme, paper, accent in (("light", "#f8faf9", "#0b5873"), ("dark", "#111516", "#84c7df")):
        words = {"title": "A <title>", "description": "words & more"}
        drawn = pictures.svg(charts.means(ROWS), theme=theme, width=500, **words)
        svg = ET.fromstring(drawn)
        assert svg.get("width") == "500" and svg.get("role") == "img"
        assert [child.text for child in svg][:2] == ["A <title>", "words & more"]
        assert accent in drawn and paper in drawn
        # The strict policy of the pages holds for pictures, too.
        assert "var(" not in drawn and "style=" not in drawn and "<script" not in drawn and "<style" not in drawn


def test_every_colour_of_the_charts_is_in_the_style_sheet():
    for theme in pictures.THEMES:
        known = pictures.palette()[theme]
        named = {INK, SOFT, ACCENT, WARN, PAPER, EDGE, *SHADES}
        assert {name[len("var(--") : -1] for name in named} <= known.keys()
        assert {"line", "n-a", "n-c"} <= known.keys()


@pytest.mark.parametrize("name", ["var(--primary-color)", "var(--ink)"])
def test_a_name_that_looks_like_a_colour_stays_a_name(name):
    means = [row | {"system": name} for row in ROWS]
    lines = [{"system": name, "cutoff": k, "value": 0.3, "leader": True} for k in (1, 10)]
    cells = [{"query": name, "system": name, "value": 0.1}]
    couples = [{"one": name, "other": name, "share": 1.0, "couples": 1}]
    told = {"label": name, "value": 0.1, "low": 0.0, "high": 0.2, "n": 9, "significant": True, "fill": name}
    for chart in (
        charts.means(means),
        charts.curves(lines),
        charts.heat_map(cells, [{"query": name, "text": name, "url": name}], systems=[name]),
        charts.confusion(couples, grades=[name]),
        charts.differences([told]),
    ):
        texts = [element.text for element in ET.fromstring(pictures.svg(chart)).iter() if element.text]
        assert name in texts or pictures.svg(chart).count("var(--") == 1
        resolved = pictures._resolved(chart, pictures.palette()["light"])
        assert resolved["datasets"] == chart["datasets"]


def test_hatches_are_drawn_and_no_link_is_kept():
    cells = [{"query": "q", "system": "a", "value": None}]
    cells.append({"query": "r", "system": "a", "value": 0.1, "below": True})
    queries = [{"query": key, "text": key, "url": f"/collections/hills/queries/{key}/"} for key in "qr"]
    drawn = pictures.svg(charts.heat_map(cells, queries, systems=["a"]))
    for hatch in ("neg", "unj"):
        assert f'<pattern id="{hatch}"' in drawn and f'fill="url(#{hatch})"' in drawn
    assert "/collections/" not in drawn and "<a " not in drawn


def test_the_same_chart_has_the_same_bytes_and_is_drawn_once(monkeypatch):
    first = pictures.svg(charts.means(ROWS), width=501)
    png, pdf = pictures.png(first), pictures.pdf(first)
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", None)
    assert pictures.svg(charts.means(ROWS), width=501) == first
    monkeypatch.undo()
    pictures._cached_svg.cache_clear()
    again = pictures.svg(charts.means(ROWS), width=501)
    assert (again, pictures.png(again), pictures.pdf(again)) == (first, png, pdf)


def test_several_are_drawn_one_after_the_other(monkeypatch):
    """Each takes some hundred megabytes."""
    now, most, results = [], [], {}

    def slow(spec):
        now.append(spec)
        time.sleep(0.05)
        most.append(len(now))
        now.pop()
        return '<svg width="1">'

    monkeypatch.setattr(vl_convert, "vegalite_to_svg", slow)

    def draw(width):
        results[width] = pictures.svg({}, width=width)

    threads = [threading.Thread(target=draw, args=[width]) for width in (310, 320, 330, 340)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == [1] * 4 and len(results) == 4


# Over the address of a page


@pytest.mark.django_db
def test_every_chart_of_a_page_is_a_picture_at_its_address(client):
    analyst(client, make_hills())
    page = client.get("/collections/hills/?measure=nDCG@5").content.decode()
    found = re.findall(r'<img src="([^"]+)" alt=""', page)
    assert len(found) == page.count('class="chart"') == 3
    for address in found:
        response = client.get(f"/collections/hills/{address.replace('&amp;', '&')}")
        assert response["Content-Type"] == "image/svg+xml" and "measure=nDCG%405" in address
        assert "'unsafe" not in response["Content-Security-Policy"]
        ET.fromstring(response.content)
    dark = re.findall(r'srcset="([^"]+theme=dark[^"]+)"', page)
    assert "#84c7df" in client.get(f"/collections/hills/{dark[0].replace('&amp;', '&')}").content.decode()


@pytest.mark.django_db
def test_a_picture_that_is_not_there_is_not_found(client):
    analyst(client, make_hills())
    means = {"chart": "means"}
    wrong = [{"chart": "no"}, {"chart": 'x" type="application/json">'}, means | {"theme": "pink"}]
    for asked in (*wrong, means | {"width": "x"}, means | {"width": "100"}, means | {"width": "99999"}):
        assert client.get("/collections/hills/", asked).status_code == 404


@pytest.mark.django_db
def test_a_refusal_stays_a_refusal(client):
    response = analyst(client, make_hills()).get("/collections/hills/", {"chart": "means", "measure": "x"})
    assert response.status_code == 400 and "text/html" in response["Content-Type"]
    response = client.get("/collections/hills/scores.csv", {"chart": "means"})
    assert response["Content-Type"].startswith("text/csv")
