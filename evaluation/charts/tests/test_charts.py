"""The charts are valid Vega-Lite and hold the numbers that they were given."""

from html import unescape

import altair as alt
import pytest
import vl_convert

from evaluation import charts
from evaluation.charts import pictures
from evaluation.charts.over_time import over_time
from evaluation.charts.spec import EDGE, score_domain, spread_labels


def checked(spec: dict) -> dict:
    """The same document, after Altair has held it against the schema."""
    alt.Chart.from_dict(spec, validate=True)
    return spec


def mean_row(system="good", mean=0.5, low=0.4, high=0.6, leader=False) -> dict:
    return {"system": system, "mean": mean, "low": low, "high": high, "queries": 9, "leader": leader}


def test_what_a_mean_can_still_become_is_a_whisker_behind_its_interval():
    known = mean_row() | {"lowest": 0.3, "highest": 1.2}
    unknown = mean_row("b") | {"lowest": None, "highest": None}
    spec, without = checked(charts.means([known, unknown])), checked(charts.means([mean_row(), unknown]))
    whisker = spec["layer"][: len(spec["layer"]) - len(without["layer"])]
    assert [layer["mark"]["type"] for layer in whisker] == ["rule", "tick", "tick"]  # first, so behind
    assert all(layer["transform"] == [{"filter": "isValid(datum.lowest)"}] for layer in whisker)
    assert whisker[0]["mark"]["strokeWidth"] == 1
    assert whisker[0]["encoding"]["x"]["scale"]["domain"] == [0, 1.2]


def test_the_heat_map_tells_below_undefined_and_shaded_cells_apart_by_more_than_colour():
    cells = [
        {"query": "q1", "system": "a", "value": 0.5},
        {"query": "q2", "system": "a", "value": 0.1, "below": True},
        {"query": "q3", "system": "a", "value": None},
    ]
    queries = [{"query": key, "text": f"text {key}", "url": f"/{key}/"} for key in ("q1", "q2", "q3")]
    spec = checked(charts.heat_map(cells, queries, systems=["a"]))
    fills = [layer["mark"].get("fill") for layer in spec["layer"][:3]]
    assert fills == [None, "url(#neg)", "url(#unj)"]
    assert spec["datasets"]["cells"] == cells


@pytest.mark.parametrize(("url", "to"), [("/q1/", "/q1/?"), ("/q1/?measure=P", "/q1/?measure=P&")])
def test_a_cell_of_the_heat_map_leads_to_its_query_with_its_system(url, to):
    cells = [{"query": "q1", "system": name, "value": 0.5} for name in ("a", "b & c")]
    spec = charts.heat_map(cells, [{"query": "q1", "text": "t", "url": url}], systems=["a", "b & c"])
    drawn = unescape(vl_convert.vegalite_to_svg(spec))
    assert f'{to}system=a"' in drawn and f'{to}system=b+%26+c"' in drawn


def test_a_curve_has_a_band_where_an_interval_is_known_and_of_many_systems_only_the_leaders():
    def banded(count: int) -> list[tuple[str, int]]:
        rows = [
            {"system": f"s{number}", "cutoff": k, "value": 0.5, "low": low, "high": 0.95, "leader": number == 0}
            for number in range(count)
            for k, low in ((1, 0.2), (10, 0.4), (20, None))
        ]
        spec = checked(charts.curves(rows))
        assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"][1] >= 0.95
        return [(row["system"], row["cutoff"]) for row in spec["datasets"]["bands"]]

    assert banded(2) == [("s0", 1), ("s0", 10), ("s1", 1), ("s1", 10)]
    assert banded(5) == [("s0", 1), ("s0", 10)]


def test_means_over_time_have_an_interval_where_one_is_known_and_a_line_at_each_change():
    rows = [
        mean_row("a", 0.2, None, None) | {"place": 1, "name": "before"},
        mean_row("a", 0.3, 0.1, 0.7) | {"place": 2, "name": "after"},
        mean_row("b", 0.6, 0.5, 0.83, leader=True) | {"place": 2, "name": "after"},
    ]
    marks = [{"place": 1.5, "what": "judgments"}]
    spec = checked(over_time(rows, marks))
    assert (spec["datasets"]["means"], spec["datasets"]["marks"]) == (rows, marks)
    assert {row["system"]: row["place"] for row in spec["datasets"]["names"]} == {"a": 0.3, "b": 0.6}
    line, _, interval, *_ = spec["layer"]
    assert line["mark"]["type"] == interval["mark"]["type"] == "rule"
    assert interval["transform"] == [{"filter": "isValid(datum.low)"}] and interval["mark"]["opacity"] < 0.5
    x, y = interval["encoding"]["x"], interval["encoding"]["y"]
    assert (x["scale"]["domain"], x["axis"]["values"]) == ([0.75, 2.25], [1, 2])
    assert y["scale"]["domain"] == [0.0, 0.9]


def test_the_running_sum_keeps_negative_sums_on_its_axis():
    rows = [
        {"system": "a", "cutoff": rank, "value": value, "leader": True, "ideal": False}
        for rank, value in enumerate((-1.0, 0.5), 1)
    ]
    spec = checked(charts.running(rows))
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [-1.0, 0.5]


@pytest.mark.parametrize(
    ("values", "bounded", "whole", "domain"),
    [
        ([0.2, 0.4], True, True, [0.0, 1.0]),
        ([0.2, 0.43], True, False, [0.0, 0.5]),
        ([-2.0, 0.4], True, True, [-2.0, 1.0]),
        ([4.0, None], False, True, [0.0, 4.2]),
        ([], False, True, [0.0, 1.0]),
    ],
)
def test_a_score_axis_always_has_its_zero(values, bounded, whole, domain):
    assert score_domain(values, bounded, whole) == pytest.approx(domain)


def test_labels_stay_apart_where_blocks_meet():
    places = sorted(spread_labels([0.1, 0.12, 0.2, 0.24, 0.9], 0.1))
    assert min(b - a for a, b in zip(places, places[1:], strict=False)) >= 0.1 - 1e-12


def difference(label="a", value=-0.1, low=-0.2, high=0.05, significant=False) -> dict:
    return {"label": label, "value": value, "low": low, "high": high, "n": 40, "significant": significant}


def test_pictures_beside_each_other_share_a_scale_that_few_queries_do_not_stretch():
    sure = difference("a", 0.1, 0.0, 0.2)
    few = difference("b", 0.3, -5.0, 5.6) | {"few": True}
    spec = checked(charts.differences([sure], scale_with=[sure, few], overall=0.15))
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == pytest.approx([-0.024, 0.324])
    assert spec["datasets"]["whole"] == [{"value": 0.15}]
    grey = {"test": "datum.few", "value": EDGE}
    assert checked(charts.differences([few]))["layer"][1]["encoding"]["stroke"]["condition"][0] == grey


def test_confusion_has_every_grade_and_hatches_what_nobody_gave():
    cells = [
        {"one": one, "other": other, "share": share, "couples": 2}
        for one, other, share in [("0", "0", 0.5), ("0", "1", 0.5), ("1", "0", None), ("1", "1", None)]
    ]
    spec = checked(charts.confusion(cells, grades=["0", "1"]))
    assert spec["datasets"]["cells"] == cells
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["0", "1"]
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == ["0", "1"]
    assert spec["layer"][1]["mark"]["fill"] == "url(#unj)"
    assert spec["layer"][1]["transform"] == [{"filter": "!isValid(datum.share)"}]


@pytest.mark.parametrize("name", ["it's", '"a"', "a\\b", "var(--accent)", "</script>"])
def test_over_rounds_any_name_is_drawn(name):
    rows = [round_row(each, judged) for each in (name, "b") for judged in (10, 25)]
    svg = pictures.svg(charts.over_rounds(rows))
    plain = pictures.svg(charts.over_rounds([{**row, "system": row["system"].replace(name, "a")} for row in rows]))
    # As many lines, dots and bars as with a plain name.
    assert svg.count("<path") == plain.count("<path") and svg.count("<line") == plain.count("<line") > 3
    assert "<script" not in svg


def round_row(system: str, judged: int, low=0.3, barred=True) -> dict:
    return {
        "system": system,
        "judged": judged,
        "expected": 0.5,
        "low": low,
        "high": None if low is None else 0.7,
        "when": "now",
        "leader": False,
        "barred": barred,
    }


@pytest.mark.parametrize("draw", [charts.curves, charts.running])
def test_no_two_of_thirty_systems_share_a_look_and_the_ideal_list_has_its_own(draw):
    """They differ without colours: on grey paper, and for who sees none."""
    names = [f"s{number:02}" for number in range(30)]
    rows = [
        {"system": name, "cutoff": rank, "value": 0.5, "leader": name == "s07", "ideal": name == "ideal"}
        for name in ["ideal", *names]
        for rank in (1, 2)
    ]
    if draw is charts.curves:
        rows = rows[2:]
    line, dots = checked(draw(rows))["layer"][:2]
    dash, shape = line["encoding"]["strokeDash"]["scale"], dots["encoding"]["shape"]["scale"]
    assert dash["domain"] == shape["domain"] and set(dash["domain"]) == {row["system"] for row in rows}
    looks = dict(zip(dash["domain"], zip(map(tuple, dash["range"]), shape["range"], strict=True), strict=True))
    assert len(set(looks.values())) == len(looks) and looks["s07"] == ((1, 0), "circle")
    assert not any(dash == (2, 3) for name, (dash, _) in looks.items() if name != "ideal")


def test_a_few_queries_are_named_below_the_heat_map():
    def axis(count: int):
        queries = [{"query": f"q{n}", "text": f'say "{n}"', "url": ""} for n in range(count)]
        cells = [{"query": query["query"], "system": "a", "value": 0.5} for query in queries]
        return checked(charts.heat_map(cells, queries, systems=["a"]))["layer"][0]["encoding"]["x"]["axis"]

    assert '["say \\"0\\"", "say \\"1\\""]' in axis(2)["labelExpr"]
    assert axis(25) is None
