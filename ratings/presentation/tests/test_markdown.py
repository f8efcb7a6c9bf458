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
        ("Perfect", "guide-perfect"),
        ("3", "guide-grade-3"),
        ("-1 Harmful", "guide-grade-minus-1"),
        ("−1 Harmful", "guide-grade-minus-1"),  # with a true minus
        ("0", "guide-grade-0"),
        ("1. Scope", "guide-1-scope"),  # the number of a chapter
        ("3rd party pages", "guide-3rd-party-pages"),
        ("4 Better than perfect", "guide-4-better-than-perfect"),
        ("10 rules", "guide-10-rules"),
        ("When you cannot judge", "guide-when-you-cannot-judge"),
        ("水", "guide-section"),
    ],
)
def test_a_heading_that_begins_with_a_grade_has_its_id_and_others_one_of_their_words(scale, heading, found):
    assert ids(f"## {heading}", scale) == [found]


def test_decimal_grades_have_sections_too():
    half = make_collection(scale={"0": "No", "0.5": "Half", "1": "Yes"}).grades.get(label="Half")
    assert ids("## 0.5 Half", [half]) == ids("## 0,5", [half]) == [section_of(half)] == ["guide-grade-0.5"]


def test_ids_are_unique_and_stay_when_text_is_added_elsewhere(scale):
    text = "## Rules\n\n## 2 Good\n\n## Rules\n\n## 2 Good"
    assert ids(text, scale) == ["guide-rules", "guide-grade-2", "guide-rules-2", "guide-2-good"]
    assert ids("A preface.\n\n" + text + "\n\nAn end.", scale) == ids(text, scale)


def test_headings_go_one_level_down_below_that_of_the_page():
    assert rendered("# One") == '<h2 id="guide-one">One</h2>\n'


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


def test_ids_of_equal_headings_have_numbers_that_no_other_heading_has():
    assert ids("# a\n# a 2\n# a\n# a\n# a 2") == ["guide-a", "guide-a-2", "guide-a-3", "guide-a-4", "guide-a-2-2"]
