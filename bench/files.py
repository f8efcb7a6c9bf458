"""From qrels and run files to nDCG of every query, each side in its own process."""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench import _sql
from bench._collection import CASES, SMALL, files, synthetic
from bench._rounds import Side, arguments, goal, machine, measure, ratio, table

MEASURES = ["nDCG@10", "nDCG@100", "nDCG"]
TREC_EVAL = ["ndcg_cut_10", "ndcg_cut_100", "ndcg"]
READ = "read_csv('{path}', delim=' ', header=false, columns={columns})"
QRELS = {"query": "VARCHAR", "zero": "VARCHAR", "document": "VARCHAR", "grade": "INT"}
RUN = {
    "query": "VARCHAR",
    "q0": "VARCHAR",
    "document": "VARCHAR",
    "rank": "INT",
    "score": "FLOAT",
    "tag": "VARCHAR",
}


def idealist(qrels: str, runs: list[str], order: str | None = None) -> list[np.ndarray]:
    from evaluation import files
    from evaluation.measures import PROFILES, evaluate

    found = files.load(qrels, runs, order)
    options = PROFILES["trec_eval -c"].revised(ties="rank")
    scores = [evaluate(MEASURES, found.judgments, rankings, options) for rankings in found.rankings.values()]
    return [np.column_stack(list(s.values.values())) for s in scores]


def idealist_by_score(qrels: str, runs: list[str]) -> list[np.ndarray]:
    return idealist(qrels, runs, order="score")


def duckdb(qrels: str, runs: list[str]) -> list[np.ndarray]:
    import duckdb

    connection = duckdb.connect()
    source = READ.format(path=qrels, columns=QRELS)
    connection.execute(f"CREATE TABLE judged AS SELECT query, document, grade FROM {source}")
    found = []
    for path in runs:
        source = READ.format(path=path, columns=RUN)
        connection.execute(f"CREATE OR REPLACE TABLE run AS SELECT query, document, score FROM {source}")
        found.append(
            np.column_stack(list(connection.execute(_sql.BY_SCORE.format(run="run")).fetchnumpy().values())[1:])
        )
    return [columns.astype(float) for columns in found]


def pytrec_eval(qrels: str, runs: list[str]) -> list[np.ndarray]:
    import pytrec_eval

    with open(qrels) as file:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), {"ndcg_cut.10,100", "ndcg"})
    found = []
    for path in runs:
        with open(path) as file:
            scores = evaluator.evaluate(pytrec_eval.parse_run(file))
        found.append(np.array([[scores[key][name] for name in TREC_EVAL] for key in sorted(scores)]))
    return found


def ir_measures(qrels: str, runs: list[str]) -> list[np.ndarray]:
    import ir_measures

    names = [ir_measures.nDCG @ 10, ir_measures.nDCG @ 100, ir_measures.nDCG]
    evaluator = ir_measures.evaluator(names, ir_measures.read_trec_qrels(qrels))
    found = []
    for path in runs:
        metrics = evaluator.iter_calc(ir_measures.read_trec_run(path))
        values = {(metric.query_id, metric.measure): metric.value for metric in metrics}
        keys = sorted({key for key, _ in values})
        found.append(np.array([[values[key, name] for name in names] for key in keys]))
    return found


SIDES: dict[str, Callable[[str, list[str]], list[np.ndarray]]] = {
    "Idealist": idealist,
    "Idealist, --order score": idealist_by_score,
    "DuckDB": duckdb,
    "pytrec_eval": pytrec_eval,
    "ir_measures": ir_measures,
}


def in_a_process(name: str, inner: list[float], qrels: Path, runs: list[Path]) -> Side:
    """`inner` gets the seconds that the process measures itself."""
    values = qrels.with_name("values.npy")
    command = [sys.executable, "-P", "-m", "bench.files", "--side", name, str(values), str(qrels), *map(str, runs)]

    def run(_) -> None:
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        inner.append(json.loads(done.stdout))

    return Side(name, lambda: None, run, lambda _: np.load(values))


def side(name: str, values: str, qrels: str, *runs: str) -> None:
    """What one process does: the numbers to a file; to the output, the seconds after Python and NumPy started."""
    begun = time.perf_counter()
    found = SIDES[name](qrels, list(runs))
    print(json.dumps(time.perf_counter() - begun))
    np.save(values, np.array(found))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--case", choices=["a", "b"], help="only this one")
    parser.add_argument("--side", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.side:
        return side(*chosen.side)
    print(machine(chosen.rounds, "pytrec-eval-terrier", "ir_measures", "duckdb"))
    for name in [chosen.case] if chosen.case else ["a", "b"]:
        made = synthetic((SMALL if chosen.small else CASES)[name], chosen.data)
        inner = {each: [] for each in SIDES}
        sides = [in_a_process(each, inner[each], *files(made)) for each in SIDES]
        measure(sides, chosen.rounds, tolerance=1e-6)  # DuckDB is given scores of 32 bits
        within = [replace(side, took=inner[side.name][1:]) for side in sides]  # but for the run that was compared
        print(f"Case {name}: {made.shape}\n\nWhole process\n\n{table(sides, sides[:1])}")
        print(f"Without the start of Python and NumPy\n\n{table(within, within[:1])}")
        if name == "b":  # most of case a is the start of Python
            print(goal("DuckDB / Idealist, whole process", ratio(sides[2], sides[0]), ">= 0.7"))
            print(goal("pytrec_eval / Idealist, whole process", ratio(sides[3], sides[0]), ">= 3"), flush=True)
    return None


if __name__ == "__main__":
    main()
