"""The gate: whether a judge may be asked about more than its own sample."""

from ..models import Judge, JudgeRun

MEASURING_CHOICES = (JudgeRun.Choice.SAMPLE, JudgeRun.Choice.RATED, JudgeRun.Choice.AGAIN, JudgeRun.Choice.PROBES)


def refusal(judge: Judge, choice: str) -> str:
    """Why a run over this choice of pairs (of JudgeRun.Choice) may not begin, with the cure; "" if it may.

    Runs that measure a judge are always allowed: on its sample, on pairs that people rated, on pairs that it
    graded, and on probes. All others wait until people have rated every pair of its sample.
    """
    if choice in MEASURING_CHOICES:
        return ""
    sample = judge.samples.order_by("-pk").first()
    if sample is None:
        return (
            "This judge is not measured yet. Draw a sample and have people rate it, or take the pairs"
            " that people rated already, which are no random sample"
        )
    if unrated := sample.unrated():
        return f"{unrated} of the pairs of its sample have no rating by a person yet. Have them rated first"
    return ""
