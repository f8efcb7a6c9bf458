"""The charts are valid Vega-Lite and hold the numbers that they were given."""

import altair as alt
import pytest

from evaluation import charts


def checked(spec: dict) -> dict:
    """The same document, after Altair has held it against the schema."""
    alt.Chart.from_dict(spec, validate=True)
    return spec


def mean_row(system="good", mean=0.5, low=0.4, high=0.6, leader=False) -> dict:
    return {"system": system, "mean": mean, "low": low, "high": high, "queries": 9, "leader": leader}


def test_means_hold_every_system_in_the_order_given():
    spec = checked(charts.means([mean_row("b", 0.7, leader=True), mean_row("a", 0.5)]))
    assert [(row["system"], row["mean"]) for row in spec["datasets"]["means"]] == [("b", 0.7), ("a", 0.5)]


def test_the_neutral_point_is_drawn_only_where_it_is_given():
    without, with_it = charts.means([mean_row()]), checked(charts.means([mean_row()], neutral=0.25))
    assert len(with_it["layer"]) == len(without["layer"]) + 1
    assert with_it["datasets"]["means"][0]["neutral"] == 0.25


def test_a_mean_without_an_interval_can_be_drawn():
    checked(charts.means([mean_row(low=None, high=None)]))


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


def test_the_heat_map_has_five_equal_steps_up_to_the_top():
    cells = [{"query": "q", "system": "a", "value": 4.0}]
    spec = charts.heat_map(cells, [], systems=["a"], top=10)
    scale = spec["layer"][0]["encoding"]["fill"]["scale"]
    assert scale["domain"] == [2, 4, 6, 8]
    assert len(scale["range"]) == 5


def test_the_curve_names_each_system_at_its_end():
    rows = [
        {"system": name, "cutoff": k, "value": value, "leader": name == "b"}
        for name, values in {"a": (0.2, 0.3), "b": (0.4, 0.6)}.items()
        for k, value in zip((1, 10), values, strict=True)
    ]
    spec = checked(charts.curves(rows))
    assert {row["system"]: row["place"] for row in spec["datasets"]["names"]} == {"a": 0.3, "b": 0.6}
    assert spec["layer"][0]["encoding"]["x"]["axis"]["values"] == [1, 10]


def test_the_running_sum_keeps_negative_sums_on_its_axis():
    rows = [
        {"system": "a", "cutoff": rank, "value": value, "leader": True, "ideal": False}
        for rank, value in enumerate((-1.0, 0.5), 1)
    ]
    spec = checked(charts.running(rows))
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == [-1.0, 0.5]


def test_bars_keep_the_order_given():
    rows = [
        {"query": q, "text": q, "value": v, "below": v < 0.2, "url": "/"} for q, v in (("q9", 0.9), ("q1", 0.1))
    ]
    spec = checked(charts.by_query(rows))
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["q9", "q1"]


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
    assert charts.score_domain(values, bounded, whole) == pytest.approx(domain)


def test_labels_that_would_touch_are_spread_around_their_middle():
    assert charts.spread([0.50, 0.90, 0.51], 0.1) == pytest.approx([0.455, 0.90, 0.555])


def test_labels_stay_apart_where_blocks_meet():
    places = sorted(charts.spread([0.1, 0.12, 0.2, 0.24, 0.9], 0.1))
    assert min(b - a for a, b in zip(places, places[1:], strict=False)) >= 0.1 - 1e-12


def difference(label="a", value=-0.1, low=-0.2, high=0.05, told=False) -> dict:
    return {"label": label, "value": value, "low": low, "high": high, "n": 40, "told": told}


def test_differences_stand_beside_the_line_of_none_in_the_order_given():
    spec = checked(charts.differences([difference("b", 0.1, 0.02, 0.2, told=True), difference("a")]))
    assert [row["label"] for row in spec["datasets"]["differences"]] == ["b", "a"]
    assert spec["datasets"]["none"] == [{"value": 0}]
    low, high = spec["layer"][2]["encoding"]["x"]["scale"]["domain"]
    assert low < -0.2 and high > 0.2


def test_what_is_told_from_nought_is_filled_and_not_only_coloured():
    dots = charts.differences([difference()])["layer"][2]
    assert dots["mark"]["type"] == "point"
    assert dots["encoding"]["fill"]["condition"] == {"test": "datum.told", "value": charts.ACCENT}
    assert dots["encoding"]["fill"]["value"] == charts.PAPER


@pytest.mark.parametrize("value", [0.0, 0.3])
def test_a_difference_without_an_interval_can_be_drawn_and_the_line_of_none_is_inside(value):
    spec = checked(charts.differences([difference(value=value, low=None, high=None)]))
    low, high = spec["layer"][2]["encoding"]["x"]["scale"]["domain"]
    assert low < 0 < high


def test_confusion_has_every_grade_and_hatches_what_nobody_gave():
    cells = [
        {"one": one, "other": other, "share": share, "couples": 2}
        for one, other, share in [("0", "0", 0.5), ("0", "1", 0.5), ("1", "0", None), ("1", "1", None)]
    ]
    spec = checked(charts.confusion(cells, grades=["0", "1"]))
    assert spec["datasets"]["cells"] == cells
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["0", "1"]
    assert spec["layer"][0]["encoding"]["y"]["scale"]["domain"] == ["1", "0"]
    assert spec["layer"][1]["mark"]["fill"] == "url(#unj)"
    assert spec["layer"][1]["transform"] == [{"filter": "!isValid(datum.share)"}]
