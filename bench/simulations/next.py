"""Which document to judge next: judgments until the order is right, and the coverage of intervals.

Raters are simulated: they answer by the qrels. Every draw takes ten random systems of a collection and at most 50
queries, or fewer on request. Every column judges the same draw in its own order. Budgets are shares
of the pool.
"""

import argparse
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from bench._rounds import processor
from bench.simulations._judging import (
    BUDGETS,
    WHOLE,
    Size,
    Truth,
    by_depth,
    collections,
    exact,
    forecasts,
    in_rounds,
    read,
)
from bench.simulations._queue import through_queue
from evaluation.expected import Estimate, order_chances
from evaluation.expected.estimate import NORMAL_QUANTILE
from evaluation.expected.order import LEAST_DIFFERENCE

SHOWN = (0.02, 0.05, 0.10, 0.20, 0.40)
HALF = 1e-4  # a truth this near to an interval is held: what is not told by four decimals
WIDE = 0.004  # narrower intervals are those of what is all but judged
GOAL, ERROR = 0.9, 0.05
FEWEST, MOST = 1 / 3, 3.0  # of a forecast: the range that pages show
WRONG, SURE = 0.10, 0.95  # the order is settled, a leader is named
DEPTH, QUEUE, MACHINE, FORECAST = "depth-k, 0", "queue", "machine", "forecast"
# Each column: how many documents of a query are judged together, and who plays it.
PLAYERS = {
    DEPTH: (None, by_depth(zeros=True)),
    "depth-k, model": (None, by_depth(zeros=False)),
    "one by one": (1, in_rounds(1)),
    "batches of 5": (5, in_rounds(5)),
    "equal chances": (0, in_rounds(0)),
    "batches of 10": (10, in_rounds(10)),
    "of 5, with a machine": (MACHINE, in_rounds(5, machine=True)),
    "the app's queue": (QUEUE, through_queue),
}


def tau(first: np.ndarray, second: np.ndarray) -> float:
    """Kendall's tau-b."""
    i, j = np.triu_indices(len(first), 1)
    one, other = (np.sign(np.round(each[i] - each[j], 12)) for each in (first, second))
    pairs = np.sqrt((one != 0).sum() * (other != 0).sum())
    return float((one * other).sum() / pairs) if pairs else 1.0


def figures(found: Estimate, truth: np.ndarray) -> dict[str, float]:
    """What is right about an estimate."""
    i, j = np.triu_indices(len(truth), 1)
    error, true, shown = found.mean - truth, truth[i] - truth[j], found.mean[i] - found.mean[j]
    apart = np.abs(true) >= LEAST_DIFFERENCE
    wrong = (np.sign(true) != np.sign(shown))[apart]
    plain = {
        "tau": tau(found.mean, truth),
        "error": np.abs(error).max(),
        "signs": 1 - wrong.mean() if len(wrong) else 1,
    }
    if found.covariance is None:
        return plain
    variance = np.diag(found.covariance)
    level = NORMAL_QUANTILE * np.sqrt(np.maximum(variance, 0))
    pair = NORMAL_QUANTILE * np.sqrt(np.maximum(variance[i] + variance[j] - 2 * found.covariance[i, j], 0))
    chance, best = order_chances(found.mean, found.covariance)
    lead = truth.max() - truth[best.argmax()]
    return plain | {
        "levels held": (np.abs(error) <= level + HALF).mean(),
        "pairs held": (np.abs(shown - true) <= pair + HALF).mean(),
        "levels wide": 2 * level.mean(),
        "pairs wide": 2 * pair.mean(),
        "settled": float(chance <= WRONG),
        "wrong": float(wrong.any()),
        "leader": float(best.max() >= SURE),
        "behind": lead,
    }


def played(truth: Truth, seed: int, name: str, size: Size = WHOLE) -> list[dict]:
    """One column of one draw: a line a budget."""
    pool, level = truth.draw(seed, size)
    about = {"collection": titled(truth.name, size), "draw": seed, "column": name, "pairs": pool.pairs}
    if name == FORECAST:
        return [about | {"budget": 0, "rounds": forecasts(pool, level, seed)}]
    right = exact(pool, level)
    lines = []
    for budget, _, found in PLAYERS[name][1](pool, level, seed):
        rounded = {key: round(float(value), 6) for key, value in figures(found, right).items()}
        lines.append(about | {"budget": budget} | rounded)
    return lines


def titled(name: str, size: Size) -> str:
    """The name of a collection, and how it was made smaller."""
    return name if size == WHOLE else f"{name}, {size.systems} x {size.queries} x {size.depth}"


# Tables


class Lines:
    """The lines of all plays, and means over draws."""

    def __init__(self, lines: Sequence[dict]) -> None:
        self.lines = defaultdict(list)
        for line in lines:
            self.lines[line["collection"], line["column"], line["budget"]].append(line)
        self.names = list(dict.fromkeys(line["collection"] for line in lines))
        self.columns = [name for name in PLAYERS if any(line["column"] == name for line in lines)]
        held = {line["column"] for line in lines if "settled" in line}
        self.chances = [name for name in self.columns if name in held]

    def mean(self, name: str, column: str, budget: float, figure: str) -> float:
        """nan where no draw has it: before the first batches are done there is no interval."""
        found = [line[figure] for line in self.lines[name, column, budget] if figure in line]
        return float(np.mean(found)) if found else np.nan

    def past(self, name: str, column: str, figure: str, mark: float, sign: int = 1) -> float | None:
        """The budget after which the mean stays past the mark, between budgets by a straight line; or None."""
        values = sign * np.array([self.mean(name, column, budget, figure) for budget in BUDGETS])
        short = np.flatnonzero(values < sign * mark)
        if not len(short):
            return BUDGETS[0]
        last = short[-1]
        if last == len(BUDGETS) - 1:
            return None
        part = (sign * mark - values[last]) / (values[last + 1] - values[last])
        return BUDGETS[last] + part * (BUDGETS[last + 1] - BUDGETS[last])

    def plays(self, name: str, column: str) -> Iterator[list[dict]]:
        """The lines of each draw, by budget."""
        draws = defaultdict(list)
        for budget in BUDGETS:
            for line in self.lines[name, column, budget]:
                draws[line["draw"]].append(line)
        yield from draws.values()


def row(*cells) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def head(*cells) -> str:
    return row(*cells) + row(*["---"] * len(cells))


def percent(share: float | None) -> str:
    return f"> {BUDGETS[-1]:.0%}" if share is None else f"{100 * share:.1f}"


def needed(found: Lines) -> str:
    """Table 1."""
    text = head(
        "tau .9 after, % of the pool", *found.columns, *(f"{column} / {DEPTH}" for column in found.chances)
    )
    for name in found.names:
        after = {column: found.past(name, column, "tau", GOAL) for column in found.columns}
        ratios = [
            f"{after[column] / after[DEPTH]:.2f}" if after[column] and after.get(DEPTH) else ""
            for column in found.chances
        ]
        pairs = found.mean(name, found.columns[0], SHOWN[0], "pairs")
        text += row(f"{name} ({pairs:.0f})", *(percent(after[column]) for column in found.columns), *ratios)
    text += "\n" + head("largest error .05 after, %", *found.columns)
    for name in found.names:
        text += row(name, *(percent(found.past(name, column, "error", ERROR, -1)) for column in found.columns))
    return text


def right(found: Lines) -> str:
    """Table 2."""
    text = head("tau / largest error / right signs", "", *(f"{budget:.0%}" for budget in SHOWN))
    for name in found.names:
        for column in found.columns:
            cells = (
                " / ".join(
                    [
                        f"{found.mean(name, column, budget, 'tau'):.2f}",
                        f"{found.mean(name, column, budget, 'error'):.3f}",
                        f"{found.mean(name, column, budget, 'signs'):.2f}",
                    ]
                )
                for budget in SHOWN
            )
            text += row(name, column, *cells)
    return text


def held(found: Lines) -> str:
    """Table 3."""
    ways = ("levels", "pairs")
    text = head(
        "held, of levels and pairs (width)",
        "",
        *(f"{budget:.0%}" for budget in SHOWN),
        "all budgets: levels; pairs; below .86",
    )
    for name in found.names:
        for column in found.chances:
            cells = []
            for budget in SHOWN:
                share = " ".join(f"{found.mean(name, column, budget, f'{way} held'):.2f}" for way in ways)
                wide = " ".join(f"{found.mean(name, column, budget, f'{way} wide'):.3f}" for way in ways)
                cells.append(f"{share} ({wide})")
            wide = [budget for budget in BUDGETS if found.mean(name, column, budget, "levels wide") > WIDE]
            each = [[found.mean(name, column, budget, f"{way} held") for budget in wide] for way in ways]
            below = sum(round(share, 3) < 0.86 for shares in each for share in shares)
            ranges = [f"{min(shares):.2f}-{max(shares):.2f}" for shares in each if shares]
            text += row(name, column, *cells, "; ".join([*ranges, f"{below} of {2 * len(wide)}"]))
    return text


def stopped(found: Lines) -> str:
    """Table 4: the first budget at which a rule fires, and whether it was wrong."""
    last = f"worse by {LEAST_DIFFERENCE}"
    text = head("", "", "settled", "mean budget", "wrongly", "leader named", "not the best", last)
    for column in found.chances:
        every = []
        for name in found.names:
            plays = list(found.plays(name, column))
            every += plays
            text += row(name, column, *fired(plays))
        text += row("all", column, *fired(every))
    return text


def foretold(found: Lines) -> str:
    """Table 5: how many more judgments were forecast to settle the order, over how many it took."""
    if not any(column == FORECAST for _, column, _ in found.lines):
        return ""
    shares = (0.1, 0.5, 0.9)
    text = head("forecast / needed", "rounds", *(f"{share:.0%}" for share in shares), "needed 1/3 to 3 forecasts")
    for name in found.names:
        rounds = [each for line in found.lines[name, FORECAST, 0] for each in line["rounds"]]
        if rounds:
            ratio = np.array([more / needed for _, more, needed in rounds])
            within = ((1 / ratio >= FEWEST) & (1 / ratio <= MOST)).mean()
            text += row(
                name, len(rounds), *(f"{np.quantile(ratio, share):.2f}" for share in shares), f"{within:.0%}"
            )
    return text


def fired(plays: Sequence[list[dict]]) -> list[str]:
    settled, led = (
        [first for each in plays if (first := next((line for line in each if line.get(rule)), None))]
        for rule in ("settled", "leader")
    )
    budget = np.mean([line["budget"] for line in settled]) if settled else np.nan
    behind = np.array([line["behind"] for line in led])
    return [
        f"{len(settled)}/{len(plays)}",
        f"{100 * budget:.1f} %",
        f"{sum(line['wrong'] for line in settled):.0f}",
        f"{len(led)}",
        f"{(behind > 1e-9).sum()}",
        f"{(behind >= LEAST_DIFFERENCE).sum()}",
    ]


# One run

TRUTH: Truth  # of the collection at hand, inherited by the processes that play
SIZE = WHOLE  # of its draws


def play(task: tuple[int, str]) -> list[dict]:
    return played(TRUTH, *task, SIZE)


def kept(path: Path | None) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []


def tasks(chosen: argparse.Namespace, name: str, lines: Sequence[dict]) -> list[tuple[int, str]]:
    """What is still to be played of a collection: draws and columns."""
    done = {(line["collection"], line["draw"], line["column"]) for line in lines}
    draws = range(chosen.seed, chosen.seed + chosen.draws)
    played_by = (None, *chosen.batch, *[QUEUE] * chosen.queue, *[MACHINE] * chosen.machine)
    wanted = [column for column, (way, _) in PLAYERS.items() if way in played_by] + [FORECAST] * chosen.forecast
    return [(draw, column) for draw in draws for column in wanted if (name, draw, column) not in done]


def sources(chosen: argparse.Namespace) -> dict[str, Callable[[], Truth]]:
    """What reads each collection that was asked for, by its name."""
    found = collections(chosen.data, chosen.complete) if chosen.data else {}
    if chosen.qrels:
        name = Path(chosen.qrels).name
        found[name] = lambda: read(name, chosen.qrels, chosen.runs, name in chosen.complete)
    unknown = set(chosen.collections or ()) - set(found)
    if unknown or not found:
        there = f"there are {', '.join(found)}" if found else "give --data or --qrels and --runs"
        raise SystemExit(f"No collection {', '.join(sorted(unknown))}: {there}")
    return {name: make for name, make in found.items() if name in (chosen.collections or found)}


def words(text: str) -> list[str]:
    return text.split(",")


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with collections: qrels beside a folder named runs")
    parser.add_argument("--collections", type=words, help="only these, as in cranfield,trec-covid/round1")
    parser.add_argument("--complete", type=words, default=["cranfield"], help="judged completely (cranfield)")
    parser.add_argument("--qrels", help="another collection")
    parser.add_argument("--runs", nargs="+", default=[], help="its runs")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--seed", type=int, default=9_000, help="of the first draw (9000)")
    parser.add_argument(
        "--batch",
        type=lambda text: [int(each) for each in words(text)],
        default=[1, 5, 10],
        help="documents of a query together; 0: one by one, by equal chances (1,5,10)",
    )
    parser.add_argument("--queue", action="store_true", help="also by the app's own queue and worker, on SQLite")
    parser.add_argument("--forecast", action="store_true", help="also how many more judgments settle the order")
    parser.add_argument("--machine", action="store_true", help="also with a machine's grades in the model")
    parser.add_argument("--systems", type=int, default=WHOLE.systems, help="of a draw, at most (10)")
    parser.add_argument("--queries", type=int, default=WHOLE.queries, help="of a draw, at most (50)")
    parser.add_argument("--depth", type=int, default=WHOLE.depth, help="of each list, at most (100)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a file of what was played; it is not played again")
    return parser


def main() -> None:
    global TRUTH, SIZE
    chosen = arguments().parse_args()
    SIZE = Size(chosen.systems, chosen.queries, chosen.depth)
    lines, shown = kept(chosen.keep), []
    for name, make in sources(chosen).items():
        shown.append(titled(name, SIZE))
        if not (left := tasks(chosen, titled(name, SIZE), lines)):
            continue
        TRUTH = make()
        with get_context("fork").Pool(chosen.processes) as pool:
            for found in pool.imap_unordered(play, left):
                lines += found
                if chosen.keep:
                    with chosen.keep.open("a") as file:
                        file.writelines(json.dumps(line) + "\n" for line in found)
    found = Lines([line for line in lines if line["collection"] in shown])
    print(f"{processor()}, {os.cpu_count()} cores; {chosen.draws} draws from seed {chosen.seed}\n")
    print("\n".join([needed(found), right(found), held(found), stopped(found), foretold(found)]), flush=True)


if __name__ == "__main__":
    main()
