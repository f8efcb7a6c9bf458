"""Evaluations as JSON documents and CSV tables. Commands, pages and the API write the same digits.

Numbers are plain Python numbers at full precision; a missing value is None.
"""

from collections.abc import Iterable, Mapping

from ..measures import COUNTED, REASONS, Difference, Explanation, Measure, Row, parse_measure
from ..page.documents import Table, none_for_nan, table_of
from ..scores import Evaluation


def document(evaluation: Evaluation, per_query: bool = False, older_texts: int | None = None) -> dict:
    """The JSON document: the settings of the evaluation, and an entry for each system and measure.

    per_query: whether entries also have, by query, the values and the reasons why queries count in no mean.
    older_texts: how many ratings were given to an older text of their document; None leaves the number out, for
    evaluations of files and for stored ones.
    """
    names_of_numbers = evaluation.shown
    results = []
    for standing in evaluation.by_column.values():  # one for each system and measure
        system, measure = standing.system, standing.measure
        entry: dict = {"system": system, "measure": measure, "fingerprint": evaluation.fingerprint_of(measure)}
        entry |= standing.row(names_of_numbers)
        if per_query:
            entry |= _by_query(evaluation, measure, system)
        results.append(entry)
    ratings_of_older_texts = {} if older_texts is None else {"older_texts": older_texts}
    return made_by(evaluation) | ratings_of_older_texts | expectations(evaluation) | {"results": results}


def made_by(evaluation: Evaluation) -> dict:
    """The settings that made the numbers, for JSON."""
    asked = evaluation.asked
    return {
        "collection": evaluation.collection,
        "profile": asked.profile,
        "rule": asked.rule,
        "adjudications": asked.adjudications,
        "fingerprint": evaluation.fingerprint,
        "options": asked.options.as_dict() | ({"est": evaluation.est} if evaluation.expected else {}),
    }


def expectations(evaluation: Evaluation) -> dict[str, dict]:
    """{"expected": facts about expected values by measure}; empty where there are none."""
    facts = {str(measure): outlook.facts() for measure, outlook in evaluation.expected.items()}
    return {"expected": facts} if facts else {}


def _by_query(evaluation: Evaluation, measure: str, system: str) -> dict[str, dict]:
    """The values of one measure and system, their bounds, and why queries count in no mean, each by query."""
    columns = {"per_query": evaluation.per_query[measure, system].tolist()}
    columns |= {f"{end}_per_query": values for end, values in _bounds(evaluation, measure, system).items()}
    reasons = evaluation.reasons[measure, system]
    by_query = {
        name: dict(zip(reasons.index, map(none_for_nan, column), strict=True)) for name, column in columns.items()
    }
    return by_query | {"why_per_query": reasons[reasons != REASONS[COUNTED]].to_dict()}


def _bounds(evaluation: Evaluation, measure: str, system: str) -> dict[str, list[float]]:
    """{"lowest": …, "highest": …}: the bounds of each value by query; empty where they were not asked for."""
    bounds = evaluation.bounds.get((parse_measure(measure), system))
    return {"lowest": bounds.low.tolist(), "highest": bounds.high.tolist()} if bounds else {}


def means(evaluation: Evaluation, older_texts: int | None = None) -> Table:
    """The CSV table of means: a row for each system and measure. older_texts: as for `document`."""
    shown = evaluation.shown
    ratings_of_older_texts = {} if older_texts is None else {"older_texts": older_texts}
    fingerprints = {str(measure): evaluation.fingerprint_of(measure) for measure in evaluation.measures}
    table = []
    for standing in evaluation.by_column.values():  # one for each system and measure
        cells = standing.row(shown) | {"why": standing.why}
        made_by = [evaluation.asked.profile, fingerprints[standing.measure], *ratings_of_older_texts.values()]
        table.append([standing.system, standing.measure, *cells.values(), *made_by])
    return ["system", "measure", *shown, "profile", "options", *ratings_of_older_texts], table


def every_query(evaluation: Evaluation) -> Table:
    """The CSV table by query: a row for each system, measure and query.

    It has columns for bounds if any measure has them.
    """
    names_of_bounds = ["lowest", "highest"] if evaluation.bounds else []
    table = []
    for system, measure in evaluation.by_column:
        values, reasons = evaluation.per_query[measure, system], evaluation.reasons[measure, system]
        # The cells stay empty for a measure without bounds.
        empty_columns = dict.fromkeys(names_of_bounds, [None] * len(values))
        bounds = empty_columns | _bounds(evaluation, measure, system)
        made_by = [evaluation.asked.profile, evaluation.asked.fingerprint_of(measure)]
        for query, *cells in zip(values.index, values, reasons, *bounds.values(), strict=True):
            table.append([system, measure, query, *map(none_for_nan, cells), *made_by])
    return ["system", "measure", "query", "value", "reason", *names_of_bounds, "profile", "options"], table


def queries_with_texts(evaluation: Evaluation) -> Table:
    """The CSV table that pages offer: a row for each query, with its text, and system, in the asked measure.

    The judged share down to the cutoff has the column `Judged@k`. documents: the length of the ranking, empty
    where the system has none; judgments: how many the query has.
    """
    asked, record, judgments = evaluation.asked, evaluation.table.record, evaluation.judgments
    header = ["query", "text", "system", "measure", "value", "why", str(asked.judged)]
    header += ["documents", "judgments", "profile", "options"]
    values, measure = evaluation.values(evaluation.systems), str(asked.measure)  # [queries, systems]
    reasons = {name: evaluation.reasons[measure, name].tolist() for name in evaluation.systems}
    judged_shares = {name: evaluation.judged(name) for name in evaluation.systems}
    rows = []
    for place, (key, text) in enumerate(record.queries[["key", "text"]].itertuples(index=False)):
        for column, name in enumerate(evaluation.systems):
            rankings = record.rankings[name]
            length = rankings.length[place] if rankings.present[place] else None
            scores = [values[place, column], reasons[name][place], judged_shares[name][place]]
            cells = [*scores, length, judgments.count[place]]
            rows.append([key, text, name, measure, *cells, asked.profile, asked.fingerprint])
    return header, rows


# One query, rank by rank


def explained(
    evaluation: Evaluation,
    query: str,
    explanations: Mapping[str, Explanation],
    documents: Mapping[int, str],
    differences: Mapping[tuple[str, str], Difference],
    measure: Measure,
) -> dict:
    """The JSON document of one query: the values of each system, and the lists that they were computed from.

    query: its key; explanations: by system; documents: their keys by pk; differences: by (first, second) system,
    split by rank, in `measure`: the asked one, or nDCG where that is no sum over ranks. Each system has an ideal
    list, since under ideal=retrieved they differ.
    """
    results = [
        {
            "system": system,
            **_on_query(evaluation, system, query),
            "ranking": [_rank(row, documents) for row in explanation.ranking],
            "ideal": [_rank(row, documents) for row in explanation.ideal],
        }
        for system, explanation in explanations.items()
    ]
    return made_by(evaluation) | {
        "fingerprint": evaluation.fingerprint_of(evaluation.measures[0]),  # of the asked measure
        "query": query,
        "results": results,
        "differences": [
            {"measure": str(measure), "first": first, "second": second} | _by_rank(difference)
            for (first, second), difference in differences.items()
        ],
    }


def _on_query(evaluation: Evaluation, system: str, query: str) -> dict:
    """The numbers of a system on the query with this key: the value of each measure, by the name of the measure.

    reason: "counted", or why the query does not count in the asked measure, which is the first one; why: the
    reasons by measure, of those in which the query does not count; lowest, highest: the bounds of the value in the
    asked measure, where bounds were asked for.
    """
    measures = list(map(str, evaluation.measures))
    first = measures[0]
    row = evaluation.per_query.index.get_loc(query)  # the row of the query in the bounds
    reasons = {measure: evaluation.reasons[measure, system][query] for measure in measures}
    return {
        "reason": reasons[first],
        "why": {measure: reason for measure, reason in reasons.items() if reason != REASONS[COUNTED]},
        **{measure: none_for_nan(evaluation.per_query[measure, system][query]) for measure in measures},
        **{end: none_for_nan(values[row]) for end, values in _bounds(evaluation, first, system).items()},
    }


def _by_rank(split: Difference) -> dict:
    """The difference of two systems on a query, for JSON: the two values, and what each rank adds to them.

    The part with rank 0 has the values of an empty list: above 0 only where gains are negative. one_ideal: whether
    both systems have the same ideal list, so that a rank weighs the same in both.
    """
    return {
        "first_value": split.first,
        "second_value": split.second,
        "difference": split.difference,
        "one_ideal": split.one_ideal,
        "parts": [
            {"rank": part.rank, "first": part.first, "second": part.second, "difference": part.difference}
            for part in (split.of_empty_list, *split.parts)
        ],
    }


def _rank(row: Row, documents: Mapping[int, str]) -> dict:
    """One rank. `judgment`: None = unjudged; `dcg`: the DCG down to this rank."""
    return {
        "rank": row.rank,
        "document": documents[row.document],
        "judgment": none_for_nan(row.grade),
        "gain": row.gain,
        "discount": row.discount,
        "adds": row.contribution,
        "dcg": row.running,
    }


def every_rank(document: dict, numbers: Iterable[str], titles: Mapping[str, str]) -> Table:
    """The CSV table of the document of `explained`: a row for each rank of each list.

    The column `list` says what a row is from:
    ranking: the list of a system. The row repeats the values of the system, whose columns `numbers` names.
    ideal: the ideal list. The row names a system only under ideal=retrieved, where each has its own ideal list.
    difference: the lists of two systems, which the columns `system` and `against` name. The column `of` names a
    measure, and `difference` is a subtraction: what the rank adds to the measure in the list of `system`, minus
    what it adds in the list of `against`.

    document: as from `explained`, whose differences are second minus first.
    titles: of documents, by key.
    """
    columns_of_system = [*numbers, "reason"]
    header = ["query", "list", "system", "rank", "document", "title", "judgment", "gain", "discount", "adds"]
    header += ["dcg", "of", "against", "difference", *columns_of_system, "profile", "options"]
    rows: list[dict] = []  # each with some of the columns; its other cells stay empty
    for entry in document["results"]:
        shared_cells = {"list": "ranking", "system": entry["system"]}
        shared_cells |= {name: entry[name] for name in columns_of_system}
        # An empty ranking has one row, without a rank.
        rows += [shared_cells | rank for rank in entry["ranking"] or [{}]]
    has_own_ideals = document["options"]["ideal"] == "retrieved"
    # The same ideal list of all systems is written once, without a system.
    for entry in document["results"] if has_own_ideals else document["results"][:1]:  # [:1]: of the first system
        shared_cells = {"list": "ideal", "system": entry["system"] if has_own_ideals else None}
        rows += [shared_cells | rank for rank in entry["ideal"]]
    for pair in document["differences"]:
        # The difference is second minus first, so the second one is the system, and the first what it is against.
        second, first, measure = pair["second"], pair["first"], pair["measure"]
        shared_cells = {"list": "difference", "system": second, "against": first, "of": measure}
        rows += [shared_cells | {"rank": part["rank"], "difference": part["difference"]} for part in pair["parts"]]
    made_by = {"query": document["query"], "profile": document["profile"], "options": document["fingerprint"]}
    return table_of(header, (row | made_by | {"title": titles.get(row.get("document", ""))} for row in rows))
