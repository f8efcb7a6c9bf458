"""What a judge may be used for, by figures at each bound."""

from copy import deepcopy

import pytest

from evaluation.agreeing.verdicts import reasons, verdict
from evaluation.agreeing.worth import circular, use_of


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


def test_a_judge_at_every_bound_may_give_a_first_look():
    use = use_of(GOOD)
    assert use == {"verdict": "look", "reasons": [], "apart": 0.15}
    assert "less than 0.15 of a grade" in verdict(use)


@pytest.mark.parametrize(
    ("facts", "found", "reason"),
    [
        ({"drawn": False}, "unknown", "not drawn"),
        ({"compared": 99}, "unknown", "few"),
        ({"queries": 19}, "unknown", "few"),
        ({"compared": 200, "pairs": 211}, "unknown", "missing"),
        ({"figures": {"quadratic": span(0.0, 0.4)}}, "nothing", "chance"),
        ({"figures": {"quadratic": {"value": None, "low": None, "high": None}}}, "nothing", "chance"),
        ({"figures": {"alpha": span(0.66, 0.8)}}, "help", "alpha"),
        ({"circular": ["qwen-rerank"]}, "help", "circular"),
        ({"of_system": {"differs": True}}, "help", "differs"),
        ({"of_system": {"pairs": 19}}, "help", "few of system"),
        ({"of_system": {"apart": {"value": None, "low": None, "high": None}}}, "help", "few of system"),
        ({"of_system": {"apart": span(-0.16, 0.1)}}, "help", "wide"),
        ({"systems": []}, "help", "few of system"),
        ({"repeats": {"answers": 19}}, "help", "not asked again"),
        ({"repeats": {"share": span(0.89, 0.95)}}, "help", "not the same"),
        ({"probes": {"asked": 0}}, "help", "not probed"),
        ({"probes": {"through": 1}}, "help", "deceived"),
    ],
)  # fmt: skip
def test_a_step_beyond_a_bound_is_a_reason_for_less(facts, found, reason):
    use = use_of(changed(**facts))
    assert (use["verdict"], [each["reason"] for each in use["reasons"]]) == (found, [reason])
    assert verdict(use) != verdict(use_of(GOOD)) and all(said for _, said in reasons(use))


def test_a_favoured_system_is_named_whatever_the_verdict():
    """And with markup in its name it is escaped."""
    for facts in ({"drawn": False}, {"figures": {"quadratic": span(-0.1, 0.4)}}):
        use = use_of(changed(**facts, of_system={"differs": True, "system": "<i>"}, circular=["dense"]))
        assert [each["reason"] for each in use["reasons"]][1:] == ["differs", "circular"]
        assert "<b>&lt;i&gt;</b>" in reasons(use)[1][1]


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
