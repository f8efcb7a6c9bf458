"""What a judge may be used for, by figures at each bound."""

from copy import deepcopy

import pytest

from evaluation.agreeing import worth
from evaluation.agreeing.worth import circular, use_of

from ...tests.fragments import fragment


def span(low: float, high: float) -> dict:
    return {"value": (low + high) / 2, "low": low, "high": high}


GOOD = {
    "drawn": True, "compared": 100, "pairs": 100, "queries": 20, "circular": [],
    "figures": {"quadratic": span(0.7, 0.8), "alpha": span(0.67, 0.8)},
    "confusion": {"grades": [0.0, 1.0, 2.0, 3.0]},
    "systems": [
        {"system": name, "pairs": 20, "apart": span(-0.15, 0.1), "differs": False} for name in ("bm25", "dense")
    ],
    "repeats": {"answers": 20, "share": span(0.9, 1.0)},
    "probes": {"asked": 20, "through": 0},
}  # fmt: skip


def changed(**facts) -> dict:
    """GOOD with other facts; `of_system` are those of its first system."""
    whole = deepcopy(GOOD)
    whole["systems"][0] |= facts.pop("of_system", {})
    for name, value in facts.items():
        whole[name] = whole[name] | value if isinstance(value, dict) else value
    return whole


HELPS = "It may help people: to predict missing judgments, and to choose what rounds draw first."
VERDICTS = {
    "unknown": "Too little is known of this version to say. Leave its own columns off until more is known.",
    "nothing": "It is of no use by these figures: its agreement with people may be no more than chance.",
    "help": f"{HELPS} There people’s judgments of pairs drawn at random correct it. "
    "Do not compare systems by its own grades.",
    "look": f"{HELPS} Its own columns may give a first look at systems, before people have rated. "
    "A difference of less than 0.15 of a grade per document may be due to the machine’s bias alone.",
}


def reasons(use: dict) -> list[str]:
    return [fragment("_use_reason", each=each, worth=worth) for each in use["reasons"]]


def test_a_judge_at_every_bound_may_give_a_first_look():
    use = use_of(GOOD)
    assert use == {"verdict": "look", "reasons": [], "apart": 0.15}
    assert fragment("_use", use=use) == VERDICTS["look"]


NOT_DRAWN = (
    "The pairs were not drawn at random, so the figures speak for these pairs, not for the pool. "
    "To know of the pool, draw a sample on the page of the judge and let people rate it."
)
CIRCULAR = (
    "The name of <b>qwen-rerank</b> contains the name of this model’s family. "
    "A model tends to favour results of its own kind."
)
DIFFERS = (
    "Its bias on the documents of <b>bm25</b> differs significantly from that on all pairs, "
    "so its grades could change the order of the systems."
)
WIDE = (
    "Its bias on the documents of a system may differ from that on all by 0.16 of a grade. "
    "Either the sample is too small to exclude that, or the bias does differ."
)
NOT_SAME = (
    'Asked again it gave other grades: the interval of the same grade begins at <data value="0.89" title="0.89">'
    '89.0 %</data>, below <data value="0.9" title="0.9">90.0 %</data>.'
)


@pytest.mark.parametrize(
    ("facts", "found", "reason", "said"),
    [
        ({"drawn": False}, "unknown", "not drawn", NOT_DRAWN),
        ({"compared": 99}, "unknown", "few",
         "It was compared on 99 pairs of 20 queries. At least 100 pairs of 20 queries are needed."),
        ({"queries": 19}, "unknown", "few",
         "It was compared on 100 pairs of 19 queries. At least 100 pairs of 20 queries are needed."),
        ({"compared": 2000, "pairs": 2110}, "unknown", "missing",
         "Of the sample 2,000 of 2,110 pairs are compared. What is missing may differ from the rest."),
        ({"figures": {"quadratic": span(0.0, 0.4)}}, "nothing", "chance",
         "The interval of quadratic κ begins at 0.00, not above 0."),
        ({"figures": {"alpha": span(0.66, 0.8)}}, "help", "alpha",
         "The interval of Krippendorff’s α begins at 0.66, below 0.67."),
        ({"circular": ["qwen-rerank"]}, "help", "circular", CIRCULAR),
        ({"of_system": {"differs": True}}, "help", "differs", DIFFERS),
        ({"of_system": {"pairs": 19}}, "help", "few of system", "Fewer than 20 pairs are of <b>bm25</b>."),
        ({"of_system": {"apart": span(-0.16, 0.1)}}, "help", "wide", WIDE),
        ({"systems": []}, "help", "few of system", "There is no system to compare."),
        ({"repeats": {"answers": 19}}, "help", "not asked again",
         "It was asked again about 19 pairs. At least 20 are needed."),
        ({"repeats": {"share": span(0.89, 0.95)}}, "help", "not the same", NOT_SAME),
        ({"probes": {"asked": 0}}, "help", "not probed", "It was not probed."),
        ({"probes": {"through": 1}}, "help", "deceived", "Of 20 probes 1 got through."),
    ],
)  # fmt: skip
def test_a_step_beyond_a_bound_is_a_reason_for_less(facts, found, reason, said):
    use = use_of(changed(**facts))
    assert (use["verdict"], [each["reason"] for each in use["reasons"]]) == (found, [reason])
    assert (fragment("_use", use=use), reasons(use)) == (VERDICTS[found], [said])


def test_a_favoured_system_is_named_whatever_the_verdict():
    """And with markup in its name it is escaped."""
    for facts in ({"drawn": False}, {"figures": {"quadratic": span(-0.1, 0.4)}}):
        use = use_of(changed(**facts, of_system={"differs": True, "system": "<i>"}, circular=["dense"]))
        assert [each["reason"] for each in use["reasons"]][1:] == ["differs", "circular"]
        assert "<b>&lt;i&gt;</b>" in reasons(use)[1]


def test_a_family_is_the_letters_that_a_model_begins_with():
    class System:
        def __init__(self, name: str) -> None:
            self.name = name

    systems = [System("Qwen-rerank"), System("bm25")]
    assert circular(systems, "Qwen/Qwen3-8B") == ["Qwen-rerank"] and circular(systems, "llama3") == []
    assert circular([System("o1")], "o1") == []
    # Two letters are in too many names.
    assert circular([System("high-yield"), System("yi-rerank")], "01-ai/Yi-34B") == []
    assert circular([System("phi-rerank")], "phi3:mini") == ["phi-rerank"]
