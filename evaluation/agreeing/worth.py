"""The uses of a judge that its figures support. docs/judges.md gives the thresholds and the reasons.

No use replaces a person's grade: no figure of a sample could support that.
"""

import re
from collections.abc import Iterable

UNKNOWN, NOTHING, HELP, LOOK = "unknown", "nothing", "help", "look"
PAIRS, QUERIES = 100, 20  # at least: with fewer an interval is wide, or wrong
COMPARED = 0.95  # of the sample, at least: missing pairs may differ from the rest
ALPHA = 2 / 3  # Krippendorff's least value for tentative conclusions
APART = 0.05  # of the range of the scale: the most by which the bias on a system may differ
SAME = 0.9  # of the answers to pairs that were asked again, at least
AGAIN = 20  # such answers, at least
OF_SYSTEM = 20  # pairs of a system, at least
FAMILY = re.compile("[a-z]*")  # the family of qwen2.5:7b and of Qwen/Qwen3-8B is qwen


def circular(systems: Iterable, model: str) -> list[str]:
    """Systems whose name contains the model's family: a model prefers results of its own kind."""
    family = FAMILY.match(model.rpartition("/")[2].lower())[0]
    return [each.name for each in systems if family in each.name.lower()] if len(family) > 2 else []


def use_of(whole: dict) -> dict:
    """{"verdict", "reasons"} from the figures of `analyses.machine.document`.

    Verdicts: unknown, too little was compared; nothing, agreement may be chance; help, only where people's
    judgments correct it; look, also columns of its own as a first look. `reasons` say why the verdict is not the
    next better one, each {"reason": name} with details; that a machine favours a system is always among them.
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
    """The largest distance between the bias on a system's documents and that on all, by their intervals."""
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
