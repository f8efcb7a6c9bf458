"""How often the gate says worse, not worse, cannot tell, beside a threshold on the difference of two means.

The differences of touched queries have the standard deviation of two variants of BM25 on Cranfield, .134. They are
symmetric (Laplace), or few large gains beside many small losses (skewness 2). A release touches a share of the
queries and loses `drop` on the mean of all.
"""

import argparse
from collections.abc import Callable

import numpy as np

from evaluation.significance.gate import NOT_WORSE, UNDECIDED, WORSE, limits

QUERIES, DROPS, TOUCHED = (50, 200, 1_000), (0.0, 0.02, 0.05, 0.10), (0.1, 0.5, 1.0)
SPREAD = 0.134
KINDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "symmetric": lambda generator, n: generator.laplace(0, SPREAD / np.sqrt(2), n),
    "few large gains": lambda generator, n: SPREAD * (generator.gamma(1, 1, n) - 1),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="run.py bench simulations.gate", description=__doc__)
    parser.add_argument("--draws", type=int, default=4_000, help="releases of each row (4,000)")
    parser.add_argument("--margin", type=float, default=0.02, help="of the gate and of the threshold (.02)")
    parser.add_argument("--alpha", type=float, default=0.05, help="of the gate (.05)")
    chosen = parser.parse_args()
    print(f"margin {chosen.margin:g}, alpha {chosen.alpha:g}, {chosen.draws:,} releases a row\n")
    print("| differences | queries | touched | drop | worse | not worse | cannot tell | threshold says worse |")
    print("|---|---|---|---|---|---|---|---|")
    for kind, drawn in KINDS.items():
        for queries in QUERIES:
            for touched, drop in [(share, 0.0) for share in (0.0, *TOUCHED)] + [(1.0, each) for each in DROPS[1:]]:
                told = rates(drawn, queries, touched, drop, chosen)
                cells = [f"{told[name]:.3f}" for name in (WORSE, NOT_WORSE, UNDECIDED, "threshold")]
                print(f"| {kind} | {queries:,} | {touched:g} | {drop:g} | {' | '.join(cells)} |", flush=True)


def rates(
    drawn: Callable, queries: int, touched: float, drop: float, chosen: argparse.Namespace
) -> dict[str, float]:
    """The share of releases that get each verdict, and that lie below the threshold by their means alone."""
    generator = np.random.default_rng(2026)
    told = dict.fromkeys((WORSE, NOT_WORSE, UNDECIDED, "threshold"), 0)
    for _ in range(chosen.draws):
        difference = np.where(generator.random(queries) < touched, drawn(generator, queries), 0.0) - drop
        told[limits(difference, chosen.margin, chosen.alpha).verdict] += 1
        told["threshold"] += difference.mean() < -chosen.margin
    return {name: count / chosen.draws for name, count in told.items()}


if __name__ == "__main__":
    main()
