"""The sentences about expected values, word for word."""

import pytest

from evaluation.deciding import Expected, Mean
from evaluation.deciding.sentences import named_machines
from evaluation.expected.order import APART

from ...tests.fragments import fragment

FACTS = {"measure": "nDCG@5", "options": "est=design", "est": "design", "without": "", "pairs": 9, "judged": 5}
FACTS |= {
    "drawn": 5,
    "skipped": 0,
    "queries": 3,
    "nothing_found": 0,
    "rounds": 1,
    "wrong": 0.2,
    "calibration": 1.0,
}


def mean(
    system: str, value: float | None, best: float | None = None, outside: int = 0, apart: float = 0.125
) -> Mean:
    ends = (None, None) if best is None else (value - apart, value + apart)
    return Mean(system, value, *ends, best, value, outside)


def expected(*means: Mean, **facts) -> Expected:
    return Expected(**(FACTS | {"means": means or (mean("a", 0.5, 0.7), mean("b", 0.25, 0.3))} | facts))


def number(digits: str, text: str) -> str:
    return f'<data value="{digits}" title="{digits}">{text}</data>'


# Which system is highest

FIRST = f"<b>a</b> has the highest expected mean nDCG@5, {number('0.5', '0.5000')}"
WITH_ENDS = f"{FIRST} ({number('0.375', '0.3750')} to {number('0.625', '0.6250')})"
OPEN = f"Which is the best <em>is not settled</em>: <b>a</b> with {number('0.7', '70 %')} and"


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ([mean("a", None)], "Nothing relevant is found yet, so that no mean nDCG@5 can be expected."),
        ([mean("a", 0.5)], f"{FIRST}."),
        ([mean("a", 0.5), mean("b", 0.25)], f"{FIRST}."),
        ([mean("a", 0.5, 0.99), mean("b", None)], f"{WITH_ENDS}."),
        ([mean("a", 0.5, 0.96), mean("b", 0.25, 0.04)],
         f"{WITH_ENDS}. It is the best with a chance of {number('0.96', '96 %')}."),
        ([mean("a", 0.5, 0.04), mean("<b>", 0.25, 0.96)],
         f"{WITH_ENDS}. <b>&lt;b&gt;</b> is the best with a chance of {number('0.96', '96 %')}."),
        ([mean("a", 0.5, 0.7), mean("b", 0.25, 0.1), mean("<c>", 0.125, 0.2)],
         f"{WITH_ENDS}. {OPEN} <b>&lt;c&gt;</b> with {number('0.2', '20 %')}."),
    ],
)  # fmt: skip
def test_the_highest_expected_mean_and_who_is_likely_the_best(means, said):
    assert fragment("_highest_expected", highest=expected(*means).highest) == said


def test_a_final_mean_needs_no_chance():
    means = [mean("<a>", 0.5, 0.96), mean("b", 0.25, 0.04)]
    said = f"<b>&lt;a&gt;</b> has the highest mean nDCG@5, {number('0.5', '0.5000')}. "
    said += "It is final: all of the pool is judged."
    assert fragment("_highest_expected", highest=expected(*means, judged=9).highest) == said
    open_ = expected(*means, mean("c", 0.125, 0.0, outside=1), judged=9)
    assert "highest expected mean" in fragment("_highest_expected", highest=open_.highest)


# Whether the order is settled


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"wrong": 0.1},
         "<p>Settled at 90 %: no two systems 0.02 apart or more are likely shown in the wrong order.</p>"),
        ({"wrong": 0.11}, "<p>Not settled: two systems 0.02 apart or more can be shown in the wrong order.</p>"),
        ({"wrong": None}, ""),
        ({"wrong": 0.0, "judged": 9}, ""),
    ],
)  # fmt: skip
def test_the_order_is_settled_or_not_while_means_are_open(facts, said):
    assert fragment("_expected_order", told=expected(**facts), apart=APART) == said


# Caveats


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, []),
        ({"means": (mean("a", 0.5, outside=1), mean("b", 0.25))},
         ["One document above the cutoff is not in the pool, will not be judged, and so gains nothing."]),
        ({"means": (mean("a", 0.5, outside=1200), mean("b", 0.25, outside=34))},
         ["1,234 documents above the cutoff are not in the pool, will not be judged, and so gain nothing."]),
        ({"nothing_found": 1},
         ["One query has nothing relevant found yet. The expected values include such a query in the draws in "
          "which a relevant document is found."]),
        ({"nothing_found": 2, "skipped": 1},
         ["Two queries have nothing relevant found yet. The expected values include such a query in the draws in "
          "which a relevant document is found.",
          "One drawn pair will not be judged. The model's prediction is used for it, on the assumption that "
          "skipping does not depend on the grade."]),
        ({"skipped": 13},
         ["13 drawn pairs will not be judged. The model's prediction is used for them, on the assumption that "
          "skipping does not depend on the grade."]),
    ],
)  # fmt: skip
def test_caveats_are_a_paragraph_each(facts, said):
    paragraphs = " ".join(f'<p class="soft">{each}</p>' for each in said)
    assert fragment("_expected_caveats", told=expected(**facts), machines="") == paragraphs


PREDICTING = (
    "The grades of a machine help to predict the missing judgments: <i>, version 2 (m). None of them counts as a "
    "judgment, and the judgments that were drawn correct them."
)
TRIAGE = (
    "Rounds drew pairs more readily where people are likely to grade otherwise than <j>; k. The chance of each "
    "pair is known, so that this favours no system."
)


def test_machines_are_named_as_plain_text_that_pages_escape():
    machine = {"judge": "<i>", "version": 2, "model": "m"}
    assert (named_machines({}), named_machines({"machines": [machine]})) == ("", PREDICTING)
    said = named_machines({"machines": [machine], "triage": ["<j>", "k"]})
    assert said == f"{PREDICTING} {TRIAGE}"
    shown = said.replace("<", "&lt;").replace(">", "&gt;")
    assert fragment("_expected_caveats", told=expected(), machines=said) == f'<p class="soft">{shown}</p>'


def test_plain_means_mislead():
    assert fragment("_misleads") == (
        "The plain means mislead until all pairs are judged: they count unjudged documents as gain 0, and this "
        "order of rating prefers documents that look relevant or that decide between systems."
    )
