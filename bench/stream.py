"""Ten systems in the memory of one: read from disk and evaluated one after the other.

Each side runs in its own process, which measures its time after the start of Python and NumPy, and its peak
memory.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench._collection import CASES, SMALL, Shape, synthetic
from bench._rounds import arguments, goal, machine, seconds, shown
from evaluation.measures import Judgments, Options, Rankings, evaluate

MEASURES = ["nDCG@10", "nDCG@100", "nDCG"]
MEGABYTE = 1 << 20


def evaluated(shape: Shape, systems: int, data: Path) -> None:
    """Evaluate the first systems of the collection, and print seconds, bytes and the mean of each system."""
    made = synthetic(shape, data)

    def run() -> list[float]:
        judgments = Judgments(shape.queries, made.judged_query, made.judged_document, made.grade)
        means = []
        for system in range(systems):
            rankings = Rankings(made.offsets, made.documents(system).ravel())
            scores = evaluate(MEASURES, judgments, rankings, Options())
            means.append(scores.mean(next(iter(scores.values))))
        return means

    took, means = seconds(run)
    # Linux counts in kilobytes, macOS in bytes.
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"seconds": took, "bytes": most, "means": means}))


def in_a_process(systems: int) -> dict:
    command = [sys.executable, "-P", "-m", "bench.stream", *sys.argv[1:], "--systems", str(systems)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def medians(found: Sequence[dict]) -> tuple[float, float]:
    return tuple(statistics.median(each[name] for each in found) for name in ("seconds", "bytes"))


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--systems", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    shape = (SMALL if chosen.small else CASES)["c"]
    if chosen.systems is not None:
        return evaluated(shape, chosen.systems, chosen.data)
    in_a_process(0)  # makes the data: had this process made them, its memory would count as that of its children
    print(machine(chosen.rounds))
    rounds = [(in_a_process(1), in_a_process(shape.systems)) for _ in range(chosen.rounds)]
    if any(one["means"][0] != ten["means"][0] for one, ten in rounds):
        raise SystemExit("The first system has another mean when others follow it: nothing was measured")
    sides = {"1 system": [one for one, _ in rounds], f"{shape.systems} systems": [ten for _, ten in rounds]}
    print(f"Case c: {shape}\n\n|  | median | most memory |\n| --- | ---: | ---: |")
    for name, found in sides.items():
        took, most = medians(found)
        print(f"| {name} | {shown(took)} | {most / MEGABYTE:.0f} MB |")
    times, memories = (
        statistics.median(ten[name] / one[name] for one, ten in rounds) for name in ("seconds", "bytes")
    )
    print(f"\n{goal('time of 10 systems / of 1', times, '<= 10.5')}", end="")
    print(goal("memory of 10 systems / of 1", memories, "<= 1.5"), flush=True)
    return None


if __name__ == "__main__":
    main()
