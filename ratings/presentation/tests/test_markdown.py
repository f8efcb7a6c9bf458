"""Guidelines as HTML: no script, and a heading for each grade that can be found."""

import re

import pytest

from ratings.models import Grade
from ratings.presentation.guidelines.markdown import rendered, section_of
from ratings.tests.cast import make_collection

pytestmark = pytest.mark.django_db


@pytest.fixture
def scale() -> list[Grade]:
    """−1 Harmful, 0 Irrelevant, 1 Related, 2 Good, 3 Perfect."""
    return list(make_collection().grades.all())


def ids(text: str, scale=()) -> list[str]:
    return re.findall(r'<h\d id="([^"]+)"', rendered(text, scale))


@pytest.mark.parametrize(
    "heading, found",
    [
        ("3 Perfect", "guide-grade-3"),
        ("3: Perfect", "guide-grade-3"),
        ("3 – Perfect answers", "guide-grade-3"),
        ("**3** *Perfect*", "guide-grade-3"),
        ("Perfect", None),
        ("3", "guide-grade-3"),
        ("-1 Harmful", "guide-grade-minus-1"),
        ("−1 Harmful", "guide-grade-minus-1"),  # with a true minus
        ("0", "guide-grade-0"),
        ("1. Scope", None),  # the number of a chapter
        ("3rd party pages", None),
        ("4 Better than perfect", None),
        ("10 rules", None),
        ("When you cannot judge", None),
        ("水", None),
    ],
)
def test_a_heading_that_begins_with_a_grade_has_its_id_and_others_have_none(scale, heading, found):
    assert ids(f"## {heading}", scale) == ([found] if found else [])


def test_decimal_grades_have_sections_too():
    half = make_collection(scale={"0": "No", "0.5": "Half", "1": "Yes"}).grades.get(label="Half")
    assert ids("## 0.5 Half", [half]) == ids("## 0,5", [half]) == [section_of(half)] == ["guide-grade-0.5"]


def test_only_the_first_heading_of_a_grade_has_its_id(scale):
    assert ids("## Rules\n\n## 2 Good\n\n## Rules\n\n## 2 Good", scale) == ["guide-grade-2"]


def test_headings_go_one_level_down_below_that_of_the_page():
    assert rendered("# One") == "<h2>One</h2>\n"


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "# <img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "![x](https://example.org/x.png)",
        '# a" onmouseover="alert(1)',
        "<javascript:alert(1)>",
    ],
)
def test_no_text_becomes_a_script_or_calls_another_host(text):
    html = rendered(text)
    assert not re.search(r"<(script|img|svg|iframe)|<[^>]*\son\w+=|href=\"javascript", html), html
