"""The uses of a judge that its figures support. docs/judges.md gives the thresholds and the reasons.

No use replaces a person's grade: no figure of a sample could support that.
"""

import re
from collections.abc import Iterable

UNKNOWN, NOTHING, HELP, LOOK = "unknown", "nothing", "help", "look"
LEAST_PAIRS, LEAST_QUERIES = 100, 20  # that were compared: with fewer an interval is wide, or wrong
LEAST_SHARE_COMPARED = 0.95  # of the pairs of the sample: missing ones may differ from the rest
LEAST_ALPHA = 2 / 3  # Krippendorff's least value for tentative conclusions
MOST_APART = 0.05  # how far the bias on a system may be from that on all, as a share of the range of the scale
LEAST_SHARE_SAME = 0.9  # of the answers to pairs that were asked again, those with the same grade
LEAST_REPEATS = 20  # answers to pairs that were asked again
LEAST_PAIRS_OF_SYSTEM = 20
FAMILY = re.compile("[a-z]*")  # the family of qwen2.5:7b and of Qwen/Qwen3-8B is qwen


def circular(systems: Iterable, model: str) -> list[str]:
    """Systems whose name contains the model's family: a model prefers results of its own kind."""
    family = FAMILY.match(model.rpartition("/")[2].lower())[0]
    return [each.name for each in systems if family in each.name.lower()] if len(family) > 2 else []


def use_of(whole: dict) -> dict:
    """What a judge, a language model that grades pairs, can be used for: a verdict with reasons.

    whole: the JSON document of `machine.document`. Returns {"verdict", "reasons"}; the verdicts, worst first:

    UNKNOWN: too little was compared.
    NOTHING: the agreement may be due to chance.
    HELP: its grades help only where people's judgments correct them.
    LOOK: systems may also be scored by its grades alone, as a first look.

    A reason is {"reason": its name} with details. The reasons say why the verdict is not the next better one; that
    the model favours a system is always among them. HELP and LOOK also have "apart", the largest distance between
    the bias on one system and that on all.
    """
    favours = list(_favours(whole))
    if too_little := list(_too_little(whole)):
        return {"verdict": UNKNOWN, "reasons": too_little + favours}
    # The low end of the interval of the weighted kappa, which is 0 for agreement by chance.
    kappa_low = whole["figures"]["quadratic"]["low"]
    if kappa_low is None or kappa_low <= 0:
        return {"verdict": NOTHING, "reasons": [{"reason": "chance", "low": kappa_low}, *favours]}
    reasons = [*favours, *_of_systems(whole), *_answers(whole)]
    alpha_low = whole["figures"]["alpha"]["low"]
    if alpha_low is None or alpha_low < LEAST_ALPHA:
        reasons = [{"reason": "alpha", "low": alpha_low}, *reasons]
    return {"verdict": HELP if reasons else LOOK, "reasons": reasons, "apart": _furthest(whole)}


def _too_little(whole: dict) -> Iterable[dict]:
    if not whole["drawn"]:
        yield {"reason": "not drawn"}
    if whole["compared"] < LEAST_PAIRS or whole["queries"] < LEAST_QUERIES:
        yield {"reason": "few", "pairs": whole["compared"], "queries": whole["queries"]}
    if whole["compared"] < LEAST_SHARE_COMPARED * whole["pairs"]:
        yield {"reason": "missing", "compared": whole["compared"], "pairs": whole["pairs"]}


def _favours(whole: dict) -> Iterable[dict]:
    if differing := [row["system"] for row in whole["systems"] if row["differs"]]:
        yield {"reason": "differs", "systems": differing}
    if whole["circular"]:
        yield {"reason": "circular", "systems": whole["circular"]}


def _of_systems(whole: dict) -> Iterable[dict]:
    few = [row["system"] for row in whole["systems"] if _is_few(row)]
    if few or not whole["systems"]:
        yield {"reason": "few of system", "systems": few}
    furthest = _furthest(whole)
    scale = whole["confusion"]["grades"]
    if furthest is not None and furthest > MOST_APART * (scale[-1] - scale[0]):
        yield {"reason": "wide", "apart": furthest}


def _is_few(row: dict) -> bool:
    return row["pairs"] < LEAST_PAIRS_OF_SYSTEM or row["apart"]["low"] is None


def _furthest(whole: dict) -> float | None:
    """The largest distance between the bias on a system's documents and that on all, by their intervals."""
    ends = [abs(row["apart"][end]) for row in whole["systems"] if not _is_few(row) for end in ("low", "high")]
    return max(ends, default=None)


def _answers(whole: dict) -> Iterable[dict]:
    repeats, probes = whole["repeats"], whole["probes"]
    low = repeats["share"]["low"]
    if repeats["answers"] < LEAST_REPEATS or low is None:
        yield {"reason": "not asked again", "answers": repeats["answers"]}
    elif low < LEAST_SHARE_SAME:
        yield {"reason": "not the same", "low": low}
    if not probes["asked"]:
        yield {"reason": "not probed"}
    elif probes["through"]:
        yield {"reason": "deceived", **probes}
