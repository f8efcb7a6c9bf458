"""What the figures of a judge let its grades be used for. docs/judges.md says the bounds, and why.

None of them lets a grade stand for a person's: that no figure of a sample can show.
"""

import re
from collections.abc import Iterable

UNKNOWN, NOTHING, HELP, LOOK = "unknown", "nothing", "help", "look"
PAIRS, QUERIES = 100, 20  # of fewer an interval is wide, or wrong
COMPARED = 0.95  # of the sample: what is missing may differ from the rest
ALPHA = 2 / 3  # Krippendorff's least value for tentative conclusions
APART = 0.05  # of the scale, from its lowest to its highest grade
SAME = 0.9  # of the answers to pairs that were asked again
AGAIN = 20  # answers at least
OF_SYSTEM = 20  # pairs at least
FAMILY = re.compile("[a-z]*")  # qwen2.5:7b and Qwen/Qwen3-8B are both of qwen


def circular(systems: Iterable, model: str) -> list[str]:
    """The systems whose name has that of the model's family in it: a model prefers what is like it."""
    family = FAMILY.match(model.rpartition("/")[2].lower())[0]
    return [each.name for each in systems if family in each.name.lower()] if len(family) > 2 else []


def use_of(whole: dict) -> dict:
    """{"verdict", "reasons"} by the figures of `analyses.machine.document`.

    unknown: too little was compared. nothing: agreement that may be chance. help: where people's judgments correct
    it. look: as well, its own columns as a first look. `reasons` keep it from the next one, each {"reason": its
    name} and what it is about; a machine that favours a system is among them whatever the verdict.
    """
    favours, low = list(_favours(whole)), whole["figures"]["quadratic"]["low"]
    if reasons := list(_too_little(whole)):
        return {"verdict": UNKNOWN, "reasons": reasons + favours}
    if low is None or low <= 0:
        return {"verdict": NOTHING, "reasons": [{"reason": "chance", "low": low}, *favours]}
    reasons = [*_agreement(whole), *favours, *_of_systems(whole), *_answers(whole)]
    return {"verdict": HELP if reasons else LOOK, "reasons": reasons, "apart": _furthest(whole)}


def _too_little(whole: dict) -> Iterable[dict]:
    if not whole["drawn"]:
        yield {"reason": "not drawn"}
    if whole["compared"] < PAIRS or whole["queries"] < QUERIES:
        yield {"reason": "few", "pairs": whole["compared"], "queries": whole["queries"]}
    if whole["compared"] < COMPARED * whole["pairs"]:
        yield {"reason": "missing", "compared": whole["compared"], "pairs": whole["pairs"]}


def _agreement(whole: dict) -> Iterable[dict]:
    low = whole["figures"]["alpha"]["low"]
    if low is None or low < ALPHA:
        yield {"reason": "alpha", "low": low}


def _favours(whole: dict) -> Iterable[dict]:
    if differing := [row["system"] for row in whole["systems"] if row["differs"]]:
        yield {"reason": "differs", "systems": differing}
    if whole["circular"]:
        yield {"reason": "circular", "systems": whole["circular"]}


def _of_systems(whole: dict) -> Iterable[dict]:
    few = [row["system"] for row in whole["systems"] if _is_few(row)]
    if few or not whole["systems"]:
        yield {"reason": "few of system", "systems": few}
    furthest, scale = _furthest(whole), whole["confusion"]["grades"]
    if furthest is not None and furthest > APART * (scale[-1] - scale[0]):
        yield {"reason": "wide", "apart": furthest}


def _is_few(row: dict) -> bool:
    return row["pairs"] < OF_SYSTEM or row["apart"]["low"] is None


def _furthest(whole: dict) -> float | None:
    """How far the bias on a system's documents may be from that on all, by the intervals of all together."""
    ends = [abs(row["apart"][end]) for row in whole["systems"] if not _is_few(row) for end in ("low", "high")]
    return max(ends, default=None)


def _answers(whole: dict) -> Iterable[dict]:
    repeats, probes = whole["repeats"], whole["probes"]
    low = repeats["share"]["low"]
    if repeats["answers"] < AGAIN or low is None:
        yield {"reason": "not asked again", "answers": repeats["answers"]}
    elif low < SAME:
        yield {"reason": "not the same", "low": low}
    if not probes["asked"]:
        yield {"reason": "not probed"}
    elif probes["through"]:
        yield {"reason": "deceived", **probes}
