"""nDCG of data in memory, compared with five other programs and with sorting.

Every side gets its own prepared structure, and a column shows the time to build it. Ours keeps what an evaluation
of the same judgments prepared: their ideal lists and the table to look them up. A separate side has judgments that
were never evaluated before.
"""

import numpy as np

from bench import _peers, _sql
from bench._collection import CASES, EXACT, SMALL, Synthetic, synthetic
from bench._rounds import Side, arguments, goal, machine, measure, ratio, table
from evaluation.measures import PROFILES, Judgments, Rankings, evaluate

MEASURES = ["nDCG@10", "nDCG@100", "nDCG"]
BY_SCORE = PROFILES["trec_eval -c"]
BY_RANK = BY_SCORE.revised(ties="rank")


def ours(made: Synthetic, shuffled: list[np.ndarray] | None, by_score: bool) -> tuple[Judgments, list[Rankings]]:
    judgments = Judgments(made.shape.queries, made.judged_query, made.judged_document, made.grade)
    rankings = []
    for system in range(made.shape.systems):
        documents, scores = (array(system).ravel() for array in (made.documents, made.scores))
        if shuffled is not None:
            documents, scores = documents[shuffled[system]], scores[shuffled[system]]
        beside = {"scores": scores, "tiebreak": documents} if by_score else {}
        rankings.append(Rankings(made.offsets, documents, **beside))
    return judgments, rankings


def within_queries(made: Synthetic) -> list[np.ndarray]:
    """For each system its rows in another order, each still among those of its query."""
    rng = np.random.default_rng(1)
    rows = np.arange(made.shape.queries * made.shape.depth).reshape(made.shape.queries, -1)
    return [rng.permuted(rows, axis=1).ravel() for _ in range(made.shape.systems)]


def our_sides(made: Synthetic) -> list[Side]:
    orders = within_queries(made)

    def side(name: str, options, again: bool = False, **how) -> Side:
        return Side(
            name,
            lambda: ours(made, **how),
            lambda ready: [evaluate(MEASURES, ready[0], rankings, options) for rankings in ready[1]],
            lambda scores: np.array([np.column_stack(list(s.values.values())) for s in scores]),
            again=again,
        )

    return [
        side("Idealist by rank", BY_RANK, shuffled=None, by_score=False),
        side("Idealist by rank, new judgments", BY_RANK, again=True, shuffled=None, by_score=False),
        side("Idealist by score, rows in order", BY_SCORE, shuffled=None, by_score=True),
        side("Idealist by score, rows shuffled", BY_SCORE, shuffled=orders, by_score=True),
    ]


def limits(made: Synthetic) -> list[Side]:
    orders = within_queries(made)

    def build():
        query = made.query.astype(np.int32)
        return [(query, made.scores(s).ravel()[orders[s]].astype(np.float32)) for s in range(made.shape.systems)]

    return [
        Side("np.lexsort((-score, query)), shuffled", build, lambda r: [np.lexsort((-s, q)) for q, s in r]),
        Side("np.argsort(score), 32 bits, shuffled", build, lambda r: [np.argsort(s) for _, s in r]),
    ]


def case(made: Synthetic, rounds: int) -> str:
    by_rank, anew, in_order, shuffled = our_sides(made)
    trec_eval, ranx = _peers.pytrec_eval_side(made), _peers.ranx_side(made)
    sql_by_rank = _peers.duckdb_side(made, "DuckDB by rank", _sql.BY_RANK)
    sql_by_score = _peers.duckdb_side(made, "DuckDB by score", _sql.BY_SCORE)
    lexsort, argsort = limits(made)
    others = [_peers.ir_measures_side(made), _peers.sklearn_side(made)]
    peers = [trec_eval, ranx, *others, sql_by_rank, sql_by_score]
    sides = [by_rank, anew, in_order, shuffled, *peers, lexsort, argsort]
    measure(sides, rounds, EXACT)
    return (
        table(sides, [by_rank, shuffled])
        + "\n"
        + "".join(
            [
                goal("pytrec_eval / Idealist by rank", ratio(trec_eval, by_rank), ">= 30"),
                goal("pytrec_eval / Idealist by score, rows shuffled", ratio(trec_eval, shuffled), ">= 1"),
                goal("ranx / Idealist by rank", ratio(ranx, by_rank), ">= 20"),
                # The SQL that ranks is what takes the place of a measure; with the rank given, it only joins.
                goal("DuckDB by score / Idealist by rank", ratio(sql_by_score, by_rank), ">= 8"),
                goal("DuckDB by rank / Idealist by rank", ratio(sql_by_rank, by_rank), ">= 1"),
                goal("DuckDB by score / Idealist by score, rows shuffled", ratio(sql_by_score, shuffled), ">= 1"),
                goal("Idealist by score, rows shuffled / np.lexsort", ratio(shuffled, lexsort), "<= 0.35"),
                goal("Idealist by rank / np.argsort", ratio(by_rank, argsort), "<= 0.3"),
            ]
        )
    )


def main() -> None:
    parser = arguments(__doc__.partition("\n")[0])
    parser.add_argument("--case", choices=["a", "b"], help="only this one")
    chosen = parser.parse_args()
    packages = ["pytrec-eval-terrier", "ir_measures", "ranx", "numba", "scikit-learn", "duckdb"]
    print(machine(chosen.rounds, *packages))
    for name in [chosen.case] if chosen.case else ["a", "b"]:
        made = synthetic((SMALL if chosen.small else CASES)[name], chosen.data)
        print(f"Case {name}: {made.shape}\n\n{case(made, chosen.rounds)}", flush=True)


if __name__ == "__main__":
    main()
