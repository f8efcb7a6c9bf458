"""The sentences about expected values, word for word."""

import numpy as np
import pytest

from evaluation.expected import Estimate
from evaluation.record import Machine
from evaluation.scores.expected import Expected, Mean

from ...tests.fragments import fragment

FACTS = {"measure": "nDCG@5", "options": "est=design", "est": "design", "pairs": 9, "judged": 5}
FACTS |= {
    "drawn": 5,
    "skipped": 0,
    "queries": 3,
    "nothing_found": 0,
    "rounds": 1,
    "wrong": 0.2,
    "estimate": Estimate(np.zeros(2), np.eye(2)),
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


# Caveats


PREDICTING = (
    "The grades of a machine help to predict the missing judgments: <i>, version 2 (m). None of them counts as a "
    "judgment, and the judgments that were drawn correct them."
)
TRIAGE = (
    "Rounds drew pairs more readily where people are likely to grade otherwise than <j>; k. The chance of each "
    "pair is known, so that this favours no system."
)


def test_machines_are_named_as_plain_text_that_pages_escape():
    machine = Machine("<i>", 2, "m", "0" * 64)
    assert (expected().machines_in_words, expected(machines=[machine]).machines_in_words) == ("", PREDICTING)
    told = expected(machines=[machine], triage=["<j>", "k"])
    assert told.machines_in_words == f"{PREDICTING} {TRIAGE}"
    shown = told.machines_in_words.replace("<", "&lt;").replace(">", "&gt;")
    assert fragment("_expected_caveats", expected_means=told) == f'<p class="soft">{shown}</p>'
