"""nDCG@10, nDCG@100 and nDCG of every query as SQL, of the tables judged and run, in the order of queries."""

# Without the casts PostgreSQL would compute with decimals, which takes many times as long.
_SQL = """
    WITH ranked AS ({ranked}),
    best AS (SELECT query, grade, row_number() OVER (PARTITION BY query ORDER BY grade DESC) AS rank FROM judged),
    ideal AS ({sums_of_best}),
    gained AS (SELECT query, rank, grade FROM ranked JOIN judged USING (query, document) WHERE grade > 0),
    found AS ({sums_of_gained})
    SELECT query, coalesce(found.a, 0) / ideal.a AS a, coalesce(found.b, 0) / ideal.b AS b,
        coalesce(found.c, 0) / ideal.c AS c
    FROM ideal LEFT JOIN found USING (query) ORDER BY query"""
_SUMS = """
    SELECT query, sum(gain) FILTER (WHERE rank <= 10) AS a, sum(gain) FILTER (WHERE rank <= 100) AS b,
        sum(gain) AS c
    FROM (
        SELECT query, rank,
            grade * ln(CAST(2 AS DOUBLE PRECISION)) / ln(CAST(rank + 1 AS DOUBLE PRECISION)) AS gain
        FROM {lists}
    ) AS gains GROUP BY query"""


def _ndcg(ranked: str) -> str:
    sums = {f"sums_of_{lists}": _SUMS.format(lists=lists) for lists in ("best", "gained")}
    return _SQL.format(ranked=ranked, **sums)


# Each still takes the name of the table of results, as {run}.
BY_RANK = _ndcg("SELECT query, document, rank FROM {run}")
BY_SCORE = _ndcg(
    "SELECT query, document,"
    " row_number() OVER (PARTITION BY query ORDER BY score DESC, document DESC) AS rank FROM {run}"
)
