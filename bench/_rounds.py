"""How the benchmarks measure: sides that agree on the numbers take turns, and one table shows their medians."""

import argparse
import gc
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

WORTH_SHOWING = 1e-4  # seconds


@dataclass
class Side:
    """One way to the numbers: `build` makes what it works on, `run` is measured, `values` are compared."""

    name: str
    build: Callable[[], Any]
    run: Callable[[Any], Any]
    values: Callable[[Any], np.ndarray] | None = None  # None: a limit, which gives no numbers to compare
    again: bool = False  # build before every run, so that a run finds nothing that an earlier one left
    in_a_row: int = 1  # builds and runs of a round, of which the median counts: for what takes a moment
    built: list[float] = field(default_factory=list)  # seconds
    took: list[float] = field(default_factory=list)


def arguments(shows: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=shows)
    parser.add_argument("--rounds", type=int, default=7, help="times that each side is measured (7)")
    parser.add_argument("--small", action="store_true", help="a small collection, to check that everything works")
    folder = Path(tempfile.gettempdir()) / "idealist-bench"
    parser.add_argument("--data", type=Path, default=folder, help=f"folder of the synthetic data ({folder})")
    return parser


def seconds(act: Callable[[], Any], tidy: bool = True) -> tuple[float, Any]:
    if tidy:
        gc.collect()
    begun = time.perf_counter()
    result = act()
    return time.perf_counter() - begun, result


def measure(sides: Sequence[Side], rounds: int, tolerance: float) -> None:
    """Run every side once, unmeasured, and compare it with the first; then measure in turns."""
    expected, ready = None, {}
    for side in sides:
        took, ready[side.name] = seconds(side.build)
        side.built.append(took)
        result = side.run(ready[side.name])
        if side.values:
            values = side.values(result)
            expected = values if expected is None else expected
            refuse_difference(side.name, values, expected, tolerance)
    for _ in range(rounds):
        for side in sides:
            took = []
            for _ in range(side.in_a_row):
                tidy = side.in_a_row == 1
                if side.again:
                    ready[side.name] = None  # two of them at once would disturb each other's memory
                    built, ready[side.name] = seconds(side.build, tidy)
                    side.built.append(built)
                took.append(seconds(lambda side=side: side.run(ready[side.name]), tidy)[0])
            side.took.append(statistics.median(took))


def refuse_difference(name: str, values: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """nan in both is agreement; nan in `expected` alone says that the first side does not compare there."""
    shown = ~np.isnan(values)
    worst = np.abs(values - expected)[shown].max(initial=0)
    if not shown.any() or not worst <= tolerance:
        raise SystemExit(f"{name} differs from the first side by up to {worst}: nothing was measured")


def ratio(one: Side, other: Side) -> float:
    """How often `other` fits into `one`: the median over rounds, for a round meets one state of the machine."""
    return statistics.median(a / b for a, b in zip(one.took, other.took, strict=True))


def table(sides: Sequence[Side], bases: Sequence[Side]) -> str:
    """A line a side in Markdown: what building took, the median and range of the runs, ratios to the bases."""
    builds = any(took > WORTH_SHOWING for side in sides for took in side.built)
    header = ["", *["build"] * builds, "median", "least", "most", *(f"/ {base.name}" for base in bases)]
    lines = [header, ["---", *["---:"] * (len(header) - 1)]]
    for side in sides:
        times = [statistics.median(side.built)] * builds
        times += [statistics.median(side.took), min(side.took), max(side.took)]
        lines.append([side.name, *map(shown, times), *(f"{ratio(side, base):.2f}" for base in bases)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def shown(took: float) -> str:
    return f"{took * 1000:,.2f} ms" if took < 0.1 else f"{took * 1000:,.0f} ms" if took < 1 else f"{took:,.2f} s"


def goal(words: str, reached: float, wanted: str) -> str:
    """A line that says whether `reached` keeps to `wanted`, like ">= 30" or "<= 0.35"."""
    sign, bound = wanted.split()
    kept = reached >= float(bound) if sign == ">=" else reached <= float(bound)
    return f"- {words}: {reached:.2f} (goal {wanted}): {'reached' if kept else 'MISSED'}\n"


def machine(rounds: int, *packages: str) -> str:
    """What else decides the numbers, in one line."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", *packages))
    load = os.getloadavg()[0]
    python = platform.python_version()
    return (
        f"{processor()}, {os.cpu_count()} cores, load {load:.1f} at the start; Python {python}, {versions};"
        f" medians of {rounds} rounds in turns\n"
    )


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
