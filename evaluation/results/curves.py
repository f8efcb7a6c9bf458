"""The means of systems at every cutoff."""

from .answer import Answer
from .standings import Standing


def curves_of(answer: Answer) -> tuple[list[int], list[tuple[str, list[Standing]]]]:
    """The context of the curves: the cutoffs down to the deepest ranking, and each system's mean at them."""
    deepest = max((int(answer.record.rankings[name].length.max(initial=0)) for name in answer.systems), default=0)
    within = [measure for measure in answer.asked.at_cutoffs if measure.cutoff <= max(deepest, 2)]
    table = [(name, [answer.standing(name, measure) for measure in within]) for name in answer.names]
    return [measure.cutoff for measure in within], table
