"""How often intervals of means over all searches of a log hold them, and how wide they are.

Logs of 20,000 and 200,000 distinct queries have ten million searches by Zipf's law. The scores of a system are
even, or fall towards the tail. A second system differs from it by as much as two variants of BM25 on Cranfield.
The twin takes the same queries and ignores their chances.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evaluation.significance import paired
from evaluation.significance.sampled import Sampled, estimate
from ratings.importing.sampling.drawing import Stratum, chances, drawn, drawn_more, mixed_order

from ._strata import stratum_of

DISTINCT, EXPONENTS, SIZES = (20_000, 200_000), (0.7, 1.0, 1.1), (50, 150, 400)
SEARCHES, SPREAD, APART = 10_000_000, 0.25, 0.134
GOAL, WIDEST = 0.93, 1.5


def main() -> None:
    parser = argparse.ArgumentParser(prog="run.py bench simulations.log", description=__doc__)
    parser.add_argument("--draws", type=int, default=4_000, help="of each row (4,000)")
    chosen = parser.parse_args()
    print("| distinct | exponent | scores | queries | mean held | width | difference held | width | twin held |")
    print("|---|---|---|---|---|---|---|---|---|")
    rows = [row for log in logs() for row in of_log(log, chosen.draws)]
    held = [row[name] for row in rows for name in ("mean", "difference")]
    widths = [row[name] for row in rows for name in ("mean_width", "difference_width")]
    reached = {True: "reached", False: "MISSED"}
    print(f"\nleast share held {min(held):.3f} (goal >= {GOAL}): {reached[min(held) >= GOAL]}")
    print(f"greatest width {max(widths):.2f} (goal <= {WIDEST}): {reached[max(widths) <= WIDEST]}")
    print(f"least share held by the twin {min(row['twin'] for row in rows):.3f}")


@dataclass(frozen=True)
class Log:
    name: str
    stratum: Stratum
    count: np.ndarray  # int64[queries], the most frequent first
    scores: np.ndarray  # float64[queries, 2], of two systems

    @property
    def truth(self) -> np.ndarray:
        """The means over all searches, and their difference."""
        first, second = self.count @ self.scores / self.count.sum()
        return np.array([first, second - first])


def logs() -> Iterator[Log]:
    for distinct in DISTINCT:
        for exponent in EXPONENTS:
            share = np.arange(1, distinct + 1.0) ** -exponent
            count = np.maximum(1, np.round(SEARCHES * share / share.sum())).astype(np.int64)
            for kind in ("even", "falling"):
                generator = np.random.default_rng(2026)
                depth = np.log(np.arange(1, distinct + 1)) / np.log(distinct)
                level = 0.55 if kind == "even" else 0.8 - 0.5 * depth
                first = np.clip(generator.normal(level, SPREAD, distinct), 0, 1)
                second = np.clip(first + generator.laplace(0.01, APART / np.sqrt(2), distinct), 0, 1)
                name = f"{distinct:,} | {exponent:g} | {kind}"
                yield Log(name, stratum_of(count), count, np.column_stack([first, second]))


def of_log(log: Log, draws: int) -> Iterator[dict[str, float]]:
    """A row for each size, and one for a sample of the first size that is enlarged to the second."""
    for size, former in [(size, 0) for size in SIZES] + [(SIZES[1], SIZES[0])]:
        row = measured(log, size, former, draws)
        label = f"{former} and more to {size}" if former else f"{size}"
        cells = [f"{row['mean']:.3f}", f"{row['mean_width']:.2f}"]
        cells += [f"{row['difference']:.3f}", f"{row['difference_width']:.2f}", f"{row['twin']:.3f}"]
        print(f"| {log.name} | {label} | {' | '.join(cells)} |", flush=True)
        yield row


def measured(log: Log, size: int, former: int, draws: int) -> dict[str, float]:
    """The share of intervals that hold the truth, and their mean width over that of an interval of known width."""
    generator, truth = np.random.default_rng(225), log.truth
    chance = chances(log.stratum, size)
    chance_of = np.repeat(chance, log.stratum.queries_per_count)
    ends, twins = np.empty((draws, 2, 3)), np.empty((draws, 2))
    for draw in range(draws):
        places = drawn_places(log.stratum, chance, size, former, generator)
        sampled = Sampled.of(log.count[places], chance_of[places], np.full(len(places), "", object))
        first, second = log.scores[places].T
        for column, values in enumerate((first, second - first)):
            told = estimate(values, sampled)
            ends[draw, column] = told.mean, told.low, told.high
        twins[draw] = [end[0] for end in paired.t_interval(first[:, np.newaxis], 0.95)]
    mean, low, high = (ends[..., column] for column in range(3))
    held = ((low <= truth) & (truth <= high)).mean(axis=0)
    width = (high - low).mean(axis=0) / (2 * 1.959964 * mean.std(axis=0))
    twin = ((twins[:, 0] <= truth[0]) & (truth[0] <= twins[:, 1])).mean()
    shares = {"mean": held[0], "difference": held[1], "twin": twin}
    return shares | {"mean_width": width[0], "difference_width": width[1]}


def drawn_places(
    stratum: Stratum, chance: np.ndarray, size: int, former: int, generator: np.random.Generator
) -> np.ndarray:
    """The places of the drawn queries; of `former` ones first, which are kept, where that is not 0."""
    if not former:
        return drawn(stratum, chance, generator.random(), mixed_order(stratum, chance, generator))
    before = chances(stratum, former)
    kept = drawn(stratum, before, generator.random(), mixed_order(stratum, before, generator))
    order = mixed_order(stratum, chance, generator)
    return np.concatenate([kept, drawn_more(stratum, kept, before, chance, generator.random(), order)])


if __name__ == "__main__":
    main()
