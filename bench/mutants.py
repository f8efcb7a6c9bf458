"""How many small faults, drawn at random over both apps, the tests notice.

A fault reverses a comparison, negates a condition, changes a number, or removes a statement. Each fault is made in
a copy of the project, where the nearest tests run (config/tests/touched.py) on SQLite until one fails. With --at
another state of the project is copied: where the code is the same, the same seed draws the same faults, and what
differs is the tests. They run in .venv, where run.py test puts what they need.

    python3 run.py bench mutants --count 200 --seed 1
    python3 run.py bench mutants --count 200 --seed 1 --at main
"""

import argparse
import ast
import copy
import io
import os
import random
import subprocess
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import run
from config.tests import touched

TURNED = {ast.Eq: ast.NotEq, ast.Lt: ast.LtE, ast.Gt: ast.GtE, ast.In: ast.NotIn, ast.Is: ast.IsNot}
TURNED |= {other: one for one, other in TURNED.items()}
OTHER = {ast.Add: ast.Sub, ast.Mult: ast.Div, ast.And: ast.Or}
OTHER |= {other: one for one, other in OTHER.items()}
NOTHING = 5  # pytest's status where it found no test


class Fault(NamedTuple):
    """Bytes of a file that become others."""

    file: str
    line: int
    begin: int
    end: int
    instead: str

    def made(self, source: bytes) -> bytes:
        return source[: self.begin] + self.instead.encode() + source[self.end :]


def main() -> None:
    parser = argparse.ArgumentParser(prog="run.py bench mutants")
    parser.add_argument("--count", type=int, default=20, help="faults (20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at", default="", metavar="COMMIT", help="the project as of a commit; else as it is")
    parser.add_argument("--only", default="", metavar="PREFIX", help="in files whose path begins so")
    parser.add_argument("--tests", nargs="*", help="these files of tests instead of the nearest")
    parser.add_argument("--seconds", type=float, default=touched.SECONDS, help="of the nearest tests, estimated")
    parser.add_argument("--patience", type=float, default=600, help="seconds until a run counts as noticed")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="idealist-mutants-") as folder:
        root = Path(folder)
        copy_to(root, asked.at)
        drawn = draw(root, asked.only, random.Random(asked.seed), asked.count)
        house, ends = touched.House.at(root), Counter()
        for number, fault in enumerate(drawn, start=1):
            tests = asked.tests or touched.chosen(house, {fault.file}, asked.seconds)
            begun = time.monotonic()
            end = tried(root, fault, tests, asked.patience)
            ends[end] += 1
            spent = f"{time.monotonic() - begun:.0f} s"
            told = f"{number:>3} {end:<9} {spent:>5}  {fault.file}:{fault.line}  {fault.instead[:60]!r}"
            print(told, flush=True)
    print(", ".join(f"{count} {end}" for end, count in ends.most_common()))


def copy_to(root: Path, commit: str) -> None:
    """The files under git as they are, or as of a commit."""
    if commit:
        done = subprocess.run(["git", "archive", commit], cwd=run.ROOT, check=True, capture_output=True)
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(root, filter="data")
        return
    done = subprocess.run(["git", "ls-files", "-z"], cwd=run.ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, done.stdout.split("\0")):
        if (run.ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes((run.ROOT / name).read_bytes())


def tried(root: Path, fault: Fault, tests: list[str], patience: float) -> str:
    """Whether the tests notice the fault: noticed, too slow (which is noticed, too), survived or untested."""
    file = root / fault.file
    before = file.read_bytes()
    file.write_bytes(fault.made(before))
    command = [str(run.PYTHON), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        with tempfile.TemporaryDirectory() as data:
            done = subprocess.run(
                command,
                cwd=root,
                env={**os.environ, "IDEALIST_DATA": data, "PYTHONPATH": str(root)},
                capture_output=True,
                timeout=patience,
            )
    except subprocess.TimeoutExpired:
        return "too slow"
    finally:
        file.write_bytes(before)
    return {0: "survived", NOTHING: "untested"}.get(done.returncode, "noticed") if tests else "untested"


def draw(root: Path, prefix: str, chance: random.Random, count: int) -> list[Fault]:
    faults = sorted(faults_of(root, prefix))
    chance.shuffle(faults)
    return list(islice((fault for fault in faults if whole(fault.made((root / fault.file).read_bytes()))), count))


def faults_of(root: Path, prefix: str) -> Iterator[Fault]:
    """Every fault that can be made in the code of both apps."""
    for app in ("ratings", "evaluation"):
        for path in (root / app).rglob("*.py"):
            file = path.relative_to(root).as_posix()
            if file.startswith(prefix) and not {"tests", "migrations"} & set(path.parts):
                yield from faults_in(file, path.read_bytes())


def faults_in(file: str, source: bytes) -> Iterator[Fault]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in nodes(ast.parse(source)):
        for place, instead in changed(node):
            begin = starts[place.lineno - 1] + place.col_offset
            end = starts[place.end_lineno - 1] + place.end_col_offset
            yield Fault(file, place.lineno, begin, end, instead)


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All but those in annotations, and in f-strings, whose places Python 3.11 does not know."""
    for name, value in ast.iter_fields(tree):
        if name in {"annotation", "returns"} or isinstance(value, ast.JoinedStr):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr):
                yield node
                yield from nodes(node)


def changed(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Nodes, each with what may stand instead."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in TURNED:
            yield node, with_(node, ops=[TURNED[type(op)]()])
        case ast.BoolOp(op=op) | ast.BinOp(op=op) if type(op) in OTHER:
            yield node, with_(node, op=OTHER[type(op)]())
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, f"(not ({ast.unparse(test)}))"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield node, str(value + 1)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield node, "pass"
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield node, "return None"


def with_(node: ast.AST, **parts) -> str:
    other = copy.copy(node)
    for name, part in parts.items():
        setattr(other, name, part)
    return f"({ast.unparse(other)})"


def whole(source: bytes) -> bool:
    """Whether it is Python still."""
    try:
        compile(source, "a mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


if __name__ == "__main__":
    main()
