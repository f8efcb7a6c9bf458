"""From the stored record to nDCG of every query, and again after one new rating.

The same judgments and rankings are in the real tables and, beside them, in two plain ones with a row a result
and a row a judgment, which is how a record is often kept. Documents that nobody judged have no row of their own:
nothing that is measured here reads them. The benchmark makes a database, and removes it afterwards.
"""

import argparse
import os
from collections.abc import Iterator

import numpy as np

from bench import _sql
from bench._collection import CASES, EXACT, SMALL, Synthetic, synthetic
from bench._engines import on_each_engine
from bench._rounds import Side, arguments, goal, machine, measure, ratio, table

MEASURES = ["nDCG@10", "nDCG@100", "nDCG"]
AT_A_TIME = 20_000
TREC_EVAL = ["ndcg_cut_10", "ndcg_cut_100", "ndcg"]


def rows_of(sql: str) -> Iterator[tuple]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql)
        while rows := cursor.fetchmany(AT_A_TIME):
            yield from rows


def load_sides(collection) -> list[Side]:
    import pytrec_eval

    from evaluation import record
    from evaluation.judgments.rules import combine
    from evaluation.measures import Options, evaluate

    def ours(_) -> np.ndarray:
        found = record.load(collection)
        judgments = combine(found.ratings, "mean")
        scores = evaluate(MEASURES, judgments, found.rankings["system0"], Options())
        return np.column_stack(list(scores.values.values()))

    def by_row(_) -> dict:
        qrels, run = {}, {}
        for query, document, grade in rows_of("SELECT query, document, grade FROM judged"):
            qrels.setdefault(str(query), {})[str(document)] = grade
        # The ranks decide, as with us: the order of document numbers as text is another than that of their keys.
        for query, document, rank in rows_of("SELECT query, document, rank FROM result"):
            run.setdefault(str(query), {})[str(document)] = -rank
        run = {query: dict(zip(ranks, map(float, ranks.values()), strict=True)) for query, ranks in run.items()}
        return pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10,100", "ndcg"}).evaluate(run)

    def values(found: dict) -> np.ndarray:
        return np.array([[found[query][name] for name in TREC_EVAL] for query in sorted(found, key=int)])

    def in_sql(_) -> list[tuple]:
        return list(rows_of(_sql.BY_RANK.format(run="result")))

    return [
        Side("Idealist", lambda: None, ours, lambda found: found),
        Side("a row a result, pytrec_eval", lambda: None, by_row, values),
        Side("a row a result, SQL", lambda: None, in_sql, lambda rows: np.array(rows, float)[:, 1:]),
    ]


def update_sides(collection, made: Synthetic) -> list[Side]:
    """Everything again, as after a change of more than ratings; and what one new rating leaves to do."""
    from evaluation import scores
    from ratings.desk import queue
    from ratings.models import Pair, Rater

    rater = Rater.objects.create(collection=collection, name="Ada")
    grades = list(collection.grades.all())
    pairs = iter(
        Pair.objects.filter(query__collection=collection).select_related("query").order_by("document", "pk")
    )

    def rate() -> None:
        queue.save(rater, next(pairs), queue.Submission(grade=grades[-1]))

    def evaluate(_) -> scores.Evaluation:
        return scores.evaluate(collection, scores.Asked.of(collection, measure=MEASURES[0]), MEASURES[1:])

    def compared(_) -> np.ndarray:
        """Zeros, if the numbers of the present state are the same when all of it is read again."""
        kept = evaluate(None).table.of["values"]
        collection.touch()
        return kept - evaluate(None).table.of["values"]

    return [
        Side("all again", collection.touch, evaluate, compared, again=True),
        Side("after one rating", rate, evaluate, compared, again=True, in_a_row=20),
        Side("all again, with intervals", collection.touch, lambda _: evaluate(_).by_column, again=True),
        Side("after one rating, with intervals", rate, lambda _: evaluate(_).by_column, again=True),
    ]


def measured(engine: str, made: Synthetic, rounds: int) -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from django.core.management import call_command

    from bench._tables import fill_plain, filled

    call_command("migrate", verbosity=0)
    collection = filled(made)
    fill_plain(made)
    ours, by_row, in_sql = sides = load_sides(collection)
    measure(sides, rounds, EXACT)
    print(f"{engine}: from the database to every query\n\n{table(sides, [ours])}")
    print(goal("a row a result, pytrec_eval / Idealist", ratio(by_row, ours), ">= 15"))
    whole, one, *_ = sides = update_sides(collection, made)
    measure(sides, rounds, EXACT)
    print(f"{engine}: again, in a process that has seen the collection\n\n{table(sides, [one])}")
    print(goal("all again / after one rating", ratio(whole, one), ">= 250"), flush=True)


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--postgres", metavar="URL", default=os.environ.get("DATABASE_URL"), help="a server, too")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    made = synthetic((SMALL if chosen.small else CASES)["b"], chosen.data)
    if chosen.engine:
        return measured(chosen.engine, made, chosen.rounds)
    print(machine(chosen.rounds, "Django", "pytrec-eval-terrier", "psycopg"))
    print(f"Case b: {made.shape}\n", flush=True)
    on_each_engine("bench.database", chosen.postgres)
    return None


if __name__ == "__main__":
    main()
