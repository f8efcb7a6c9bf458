"""How time grows with queries, depth and systems, ten times at a time: a row must cost the same.

The exponent is that of the line through all sizes: 1 says that ten times the rows take ten times as long. The
fixed cost of a call keeps it below 1 for few rows.
"""

import statistics
from collections.abc import Callable

import numpy as np

from bench._collection import Shape, Synthetic, synthetic
from bench._rounds import Side, arguments, goal, machine, measure, shown
from evaluation.measures import PROFILES, Judgments, Options, Rankings, evaluate

MEASURES = ["nDCG@10", "nDCG@100", "nDCG"]
BY_SCORE = PROFILES["trec_eval -c"]
STEPS = {
    "queries": [Shape(70, 1_000, 1), Shape(700, 1_000, 1), Shape(7_000, 1_000, 1)],
    "depth": [Shape(700, 100, 1), Shape(700, 1_000, 1), Shape(700, 10_000, 1)],
    "systems": [Shape(700, 100, 1), Shape(700, 100, 10), Shape(700, 100, 100)],
}
SMALL_STEPS = {
    "queries": [Shape(7, 60, 1), Shape(70, 60, 1)],
    "depth": [Shape(7, 60, 1), Shape(7, 600, 1)],
    "systems": [Shape(7, 60, 1), Shape(7, 60, 10)],
}


def by_rank(made: Synthetic) -> list[Rankings]:
    return [Rankings(made.offsets, made.documents(system).ravel()) for system in range(made.shape.systems)]


def by_score(made: Synthetic) -> list[Rankings]:
    """The rows of each query in another order than that of their scores."""
    rng = np.random.default_rng(1)
    rankings = []
    for system in range(made.shape.systems):
        documents, scores = made.documents(system), made.scores(system)
        order = rng.permuted(np.tile(np.arange(made.shape.depth), (made.shape.queries, 1)), axis=1)
        documents, scores = (np.take_along_axis(array, order, 1).ravel() for array in (documents, scores))
        rankings.append(Rankings(made.offsets, documents, scores, tiebreak=documents))
    return rankings


def side(name: str, made: Synthetic, rankings: Callable, options: Options) -> Side:
    def build() -> tuple[Judgments, list[Rankings]]:
        shape = made.shape
        return Judgments(shape.queries, made.judged_query, made.judged_document, made.grade), rankings(made)

    def run(ready) -> np.ndarray:
        found = [evaluate(MEASURES, ready[0], each, options) for each in ready[1]]
        return np.array([list(scores.values.values()) for scores in found])

    return Side(name, build, run, again=True)


def exponent(rows: list[int], times: list[float]) -> float:
    return float(np.polyfit(np.log(rows), np.log(times), 1)[0])


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    chosen = parser.parse_args()
    print(machine(chosen.rounds))
    ways = {"by rank": (by_rank, BY_SCORE.revised(ties="rank")), "by score, shuffled": (by_score, BY_SCORE)}
    for what, shapes in (SMALL_STEPS if chosen.small else STEPS).items():
        print(f"More {what}\n\n|  | rows | median | a row |\n| --- | ---: | ---: | ---: |")
        goals = ""
        for way, how in ways.items():
            sides = [side(str(shape), synthetic(shape, chosen.data), *how) for shape in shapes]
            measure(sides, chosen.rounds, tolerance=0)
            times = [statistics.median(each.took) for each in sides]
            rows = [shape.rows for shape in shapes]
            for each, count, took in zip(sides, rows, times, strict=True):
                print(f"| {way}, {each.name} | {count:,} | {shown(took)} | {took / count * 1e9:.1f} ns |")
            goals += goal(f"{way}: exponent", exponent(rows, times), "<= 1.05")
        print(f"\n{goals}", flush=True)


if __name__ == "__main__":
    main()
