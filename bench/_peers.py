"""Other programs, each with its own data structure, for nDCG@10, nDCG@100 and nDCG of every query."""

import duckdb
import ir_measures
import numpy as np
import pandas as pd
import pytrec_eval
import ranx
from sklearn.metrics._ranking import _ndcg_sample_scores  # the public ndcg_score keeps the queries to itself

from bench._collection import JUDGED, Synthetic, document_keys, query_keys
from bench._rounds import Side


def dictionaries(made: Synthetic) -> tuple[dict, list[dict]]:
    """{query: {document: grade}}, and {query: {document: score}} for each system."""
    keys = query_keys(np.arange(made.shape.queries))
    judged = [document_keys(row) for row in made.judged_document.reshape(-1, JUDGED)]
    grades = made.grade.astype(int).reshape(-1, JUDGED).tolist()
    qrels = {key: dict(zip(*pair, strict=True)) for key, *pair in zip(keys, judged, grades, strict=True)}
    runs = []
    for system in range(made.shape.systems):
        lists = zip(keys, made.documents(system), made.scores(system).tolist(), strict=True)
        runs.append({key: dict(zip(document_keys(row), scores, strict=True)) for key, row, scores in lists})
    return qrels, runs


def pytrec_eval_side(made: Synthetic) -> Side:
    names = ["ndcg_cut_10", "ndcg_cut_100", "ndcg"]

    def build():
        qrels, runs = dictionaries(made)
        return pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10,100", "ndcg"}), runs

    return Side(
        "pytrec_eval",
        build,
        lambda ready: [ready[0].evaluate(run) for run in ready[1]],
        lambda found: np.array([[[scores[key][n] for n in names] for key in sorted(scores)] for scores in found]),
    )


def ir_measures_side(made: Synthetic) -> Side:
    names = [ir_measures.nDCG @ 10, ir_measures.nDCG @ 100, ir_measures.nDCG]

    def build():
        qrels, runs = dictionaries(made)
        return ir_measures.evaluator(names, qrels), runs

    def values(found) -> np.ndarray:
        tables = [{(metric.query_id, metric.measure): metric.value for metric in metrics} for metrics in found]
        keys = query_keys(np.arange(made.shape.queries))
        return np.array([[[table[key, name] for name in names] for key in keys] for table in tables])

    return Side("ir_measures", build, lambda ready: [list(ready[0].iter_calc(r)) for r in ready[1]], values)


def ranx_side(made: Synthetic) -> Side:
    """It leaves equal scores to chance, so it gets the place from the end instead."""
    names = ["ndcg@10", "ndcg@100", "ndcg"]

    def build():
        qrels, runs = dictionaries(made)
        places = [{q: {d: -float(i) for i, d in enumerate(scores)} for q, scores in run.items()} for run in runs]
        return ranx.Qrels(qrels), [ranx.Run(run) for run in places]

    def run(ready):
        how = {"return_mean": False, "save_results_in_run": False}
        return [ranx.evaluate(ready[0], each, names, **how) for each in ready[1]]

    return Side(
        "ranx, warm", build, run, lambda found: np.array([np.column_stack([f[n] for n in names]) for f in found])
    )


def sklearn_side(made: Synthetic) -> Side:
    """It knows only the documents that it is given: those that were not retrieved stand behind the others."""
    queries, depth = made.shape.queries, made.shape.depth
    keys = made.judged_query << 32 | made.judged_document
    order = np.argsort(keys)

    def build():
        ready = []
        scores = np.tile(-np.arange(depth + JUDGED, dtype=float), (queries, 1))
        for system in range(made.shape.systems):
            listed = (made.query << 32) | made.documents(system).ravel()
            place = order[np.minimum(np.searchsorted(keys, listed, sorter=order), len(keys) - 1)]
            found = keys[place] == listed
            absent = np.ones(len(keys), bool)
            absent[place[found]] = False
            retrieved = np.where(found, made.grade[place], 0.0).reshape(queries, depth)
            missed = np.where(absent, made.grade, 0.0).reshape(queries, JUDGED)
            ready.append((np.concatenate([retrieved, missed], axis=1), scores))
        return ready

    cutoffs = [cutoff for cutoff in (10, 100) if cutoff <= depth]

    def run(ready):
        return [[_ndcg_sample_scores(*pair, k=k, ignore_ties=True) for k in cutoffs] for pair in ready]

    def values(found) -> np.ndarray:
        unknown = [np.full(queries, np.nan)] * (3 - len(cutoffs))
        return np.array([np.column_stack([*columns, *unknown]) for columns in found])

    return Side(f"scikit-learn ({' and '.join(f'@{k}' for k in cutoffs)} only)", build, run, values)


def duckdb_side(made: Synthetic, name: str, sql: str) -> Side:
    def build():
        connection = duckdb.connect()
        judged = {"query": made.judged_query, "document": made.judged_document, "grade": made.grade}
        connection.register("given", pd.DataFrame(judged))
        connection.execute(
            "CREATE TABLE judged AS SELECT query::INT AS query, document::INT AS document, grade FROM given"
        )
        for system in range(made.shape.systems):
            columns = {
                "query": made.query.astype(np.int32),
                "document": made.documents(system).ravel().astype(np.int32),
                "rank": np.tile(np.arange(1, made.shape.depth + 1, dtype=np.int32), made.shape.queries),
                "score": made.scores(system).ravel().astype(np.float32),
            }
            connection.register("given", pd.DataFrame(columns))
            connection.execute(f"CREATE TABLE run{system} AS SELECT * FROM given")
        return connection

    def run(connection):
        names = [f"run{system}" for system in range(made.shape.systems)]
        return [connection.execute(sql.format(run=name)).fetchnumpy() for name in names]

    return Side(name, build, run, lambda found: np.array([np.column_stack(list(f.values())[1:]) for f in found]))
