"""What lines of an archive about judges must hold: see `copies.rules`."""

from ..copies.rules import Line, is_list, text
from ..formats import values
from ..formats.values import quoted
from ..models import JudgeRun
from ..presentation.parts import Presented
from .versions import CONTENT_FIELDS, sha_of
from .wire import checked_sampling


def check_run(line: Line) -> None:
    if line["state"] in (JudgeRun.State.QUEUED, JudgeRun.State.RUNNING):
        raise ValueError("a run that is under way would make calls here")


def check_version(line: Line) -> None:
    """Raises ValueError for values that no JudgeVersion can have. Puts checked `sampling` and `parts` in place."""
    line["sampling"] = checked_sampling(line["sampling"])
    if line["parts"] != {}:  # {}, the default of the field, stays
        line["parts"] = Presented.read(line["parts"]).as_json()
    if not is_list(line["scale"], str):
        raise ValueError("the scale is no list of grades")
    for grade in line["scale"]:
        values.grade(grade)  # raises ValueError for what is no grade
    if text(line["endpoint"]) and not line["endpoint"].startswith(("http://", "https://")):
        raise ValueError(f"the address {quoted(line['endpoint'])} does not begin with http:// or https://")
    content = {name: line[name] for name in CONTENT_FIELDS}
    for name in ("price_in", "price_out"):
        # A price is checked by the rule of grades, which gives an exact Decimal and refuses NaN.
        content[name] = values.grade(text(line[name]))
    if sha_of(content) != line["fingerprint"]:
        raise ValueError("the fingerprint is not that of the version's content")
