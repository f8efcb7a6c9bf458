"""A measure of one query, given as dict and list, and the query on which most measures are worked out by hand."""

from evaluation.measures import Options, evaluate
from evaluation.tests.packing import pack

# Seven judged documents; relevant from 1: D1 D2 D3 D5 D6 D7 D8; from 2: D1 D2 D3 D6 D7 D8. U is unjudged.
GRADES = {"D1": 3, "D2": 2, "D3": 3, "D4": 0, "D5": 1, "D6": 2, "D7": 3, "D8": 2}
RANKING = ["D1", "D2", "D3", "D4", "D5", "U", "D6"]


def value(measure: str, grades: dict, ranking: list | dict, **options) -> float:
    judgments, rankings = pack({"q": grades}, {"q": ranking})
    (values,) = evaluate([measure], judgments, rankings, Options(**options)).values.values()
    return values[0]
