"""Evaluations as JSON documents and CSV tables. Commands, pages and the API write the same digits.

Numbers are plain Python numbers at full precision; a missing value is None.
"""

from collections.abc import Iterable, Mapping

from pandas import DataFrame

from ..measures import (
    COUNTED,
    REASONS,
    Difference,
    Explanation,
    Measure,
    Row,
)
from ..page.documents import Table, known
from ..scores import Evaluation


def document(evaluation: Evaluation, per_query: bool = False) -> dict:
    """The JSON document: the options, and an entry for each system and measure, with `per_query` also by query.

    By query, `per_query` has the value, and `why_per_query` the reason where the query counts in no mean.
    """
    shown = evaluation.shown
    results = [
        {"system": row.system, "measure": row.measure, "fingerprint": evaluation.fingerprint_of(row.measure)}
        | row.row(shown)
        | (_by_query(evaluation, row.measure, row.system) if per_query else {})
        for row in evaluation.by_column.values()
    ]
    return made_by(evaluation) | expectations(evaluation) | {"results": results}


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
    return {"expected": facts} if any(facts.values()) else {}


def _by_query(evaluation: Evaluation, measure: str, system: str) -> dict[str, dict]:
    """The values of one measure and system, their bounds, and why queries count in no mean, each by query."""
    column, reasons = (measure, system), evaluation.reasons[measure, system]
    frames = {"per_query": evaluation.per_query} | _bounds(evaluation)
    values = {
        name: {query: known(value) for query, value in frame[column].items()}
        for name, frame in frames.items()
        if column in frame
    }
    return values | {"why_per_query": reasons[reasons != REASONS[COUNTED]].to_dict()}


def _bounds(evaluation: Evaluation) -> dict[str, DataFrame]:
    """The bounds of each value by name of the end; empty where they were not asked for."""
    if not evaluation.bounds:
        return {}
    return {"lowest_per_query": evaluation.lowest, "highest_per_query": evaluation.highest}


def means(evaluation: Evaluation) -> Table:
    """The CSV table of means: a row for each system and measure."""
    shown = evaluation.shown
    made_by = {
        str(each): [evaluation.asked.profile, evaluation.fingerprint_of(each)] for each in evaluation.measures
    }
    table = []
    for row in evaluation.by_column.values():
        cells = row.row(shown) | {"why": row.why}
        table.append([row.system, row.measure, *cells.values(), *made_by[row.measure]])
    return ["system", "measure", *shown, "profile", "options"], table


def every_query(evaluation: Evaluation) -> Table:
    """The CSV table by query: a row for each system, measure and query."""
    ends = _bounds(evaluation)
    header = ["system", "measure", "query", "value", "reason", *(["lowest", "highest"] if ends else [])]
    table = []
    for system, measure in evaluation.by_column:
        column, reasons = (measure, system), evaluation.reasons[measure, system]
        both = [frame.get(column) for frame in ends.values()]
        for query, value in evaluation.per_query[column].items():
            bounds = [None if end is None else known(end[query]) for end in both]
            made_by = [evaluation.asked.profile, evaluation.asked.fingerprint_of(measure)]
            table.append([system, measure, query, known(value), reasons[query], *bounds, *made_by])
    return [*header, "profile", "options"], table


def queries_with_texts(evaluation: Evaluation) -> Table:
    """The CSV table that pages offer: a row for each query and system, in the asked measure and with texts."""
    asked, record, judgments = evaluation.asked, evaluation.table.record, evaluation.judgments
    header = ["query", "text", "system", "measure", "value", "why", str(asked.judged)]
    header += ["documents", "judgments", "profile", "options"]
    values, measure = evaluation.values(evaluation.systems), str(asked.measure)
    columns = [
        (
            name,
            record.rankings[name],
            values[:, place],
            evaluation.reasons[measure, name].tolist(),
            evaluation.judged(name),
        )
        for place, name in enumerate(evaluation.systems)
    ]
    rows = []
    for query, (key, text) in enumerate(record.queries[["key", "text"]].itertuples(index=False)):
        for name, rankings, value, reason, judged in columns:
            length = rankings.length[query] if rankings.present[query] else None
            cells = [key, text, name, measure, value[query], reason[query], judged[query], length]
            rows.append([*cells, judgments.count[query], asked.profile, asked.fingerprint])
    return header, rows


# One query, rank by rank


def explained(
    evaluation: Evaluation,
    query: str,
    explanations: Mapping[str, Explanation],
    documents: Mapping[int, str],
    differences: Mapping[tuple[str, str], Difference],
    split: Measure,
) -> dict:
    """The JSON document of one query: the values of each system, and the lists that they were computed from.

    `documents` has keys by pk. `differences` has, by (first, second) system, the difference of the measure `split`
    by rank. Each system has an ideal list, since under ideal=retrieved they differ. In the document, `lowest` and
    `highest` are the bounds of the first measure, where they were asked for. `reason` is that of the first
    measure, and `why` has that of each measure in which the query counts in no mean.
    """
    first, measures = str(evaluation.measures[0]), list(map(str, evaluation.measures))
    ends = {name.removesuffix("_per_query"): frame for name, frame in _bounds(evaluation).items()}
    results = []
    for system, explanation in explanations.items():
        reasons = {measure: evaluation.reasons[measure, system][query] for measure in measures}
        why = {measure: reason for measure, reason in reasons.items() if reason != REASONS[COUNTED]}
        results.append(
            {"system": system, "reason": reasons[first], "why": why}
            | {measure: known(evaluation.per_query[measure, system][query]) for measure in measures}
            | {name: known(frame[first, system][query]) for name, frame in ends.items()}
            | {
                "ranking": [_rank(row, documents) for row in explanation.ranking],
                "ideal": [_rank(row, documents) for row in explanation.ideal],
            }
        )
    return made_by(evaluation) | {
        "fingerprint": evaluation.fingerprint_of(first),
        "query": query,
        "results": results,
        "differences": [
            {"measure": str(split), "first": first, "second": second} | _split(explanation)
            for (first, second), explanation in differences.items()
        ],
    }


def _split(split: Difference) -> dict:
    """Two values, their difference, and its parts by rank; rank 0 is the part of the empty list."""
    return {
        "first_value": split.first,
        "second_value": split.second,
        "difference": split.difference,
        "one_ideal": split.one_ideal,
        "parts": [
            {"rank": part.rank, "first": part.first, "second": part.second, "difference": part.difference}
            for part in (split.empty, *split.parts)
        ],
    }


def _rank(row: Row, documents: Mapping[int, str]) -> dict:
    """One rank. `judgment`: None = unjudged; `dcg`: the DCG down to this rank."""
    return {
        "rank": row.rank,
        "document": documents[row.document],
        "judgment": known(row.grade),
        "gain": row.gain,
        "discount": row.discount,
        "adds": row.contribution,
        "dcg": row.running,
    }


def every_rank(document: dict, numbers: Iterable[str], titles: Mapping[str, str]) -> Table:
    """The CSV table of `explained`: a row for each rank; a system with an empty ranking has one row.

    `numbers` names the measures whose values stand in the rows of a system. Rows of the ideal list name a system
    only under ideal=retrieved. Last come the differences, a row for each part: the share of a rank in the
    `difference` of the measure `of` between the system and the one in `against`.
    """
    numbers = list(numbers)
    columns = ["rank", "document", "title", "judgment", "gain", "discount", "adds", "dcg"]
    columns += ["of", "against", "difference"]
    header = ["query", "list", "system", *columns, *numbers, "reason", "profile", "options"]
    own = document["options"]["ideal"] == "retrieved"
    table = []

    def add(kind: str, system: str | None, ranks: list[dict], values: list) -> None:
        for rank in ranks:
            cells = rank | {"title": titles[rank["document"]]} if "document" in rank else rank
            made_by = [document["profile"], document["fingerprint"]]
            table.append(
                [document["query"], kind, system, *(cells.get(name) for name in columns), *values, *made_by]
            )

    for entry in document["results"]:
        values = [entry[name] for name in numbers] + [entry["reason"]]
        add("ranking", entry["system"], entry["ranking"] or [{}], values)
    none = [None] * (len(numbers) + 1)
    for entry in document["results"] if own else document["results"][:1]:
        add("ideal", entry["system"] if own else None, entry["ideal"], none)
    for entry in document["differences"]:
        about = {"of": entry["measure"], "against": entry["first"]}
        parts = [{"rank": part["rank"], "difference": part["difference"]} | about for part in entry["parts"]]
        add("difference", entry["second"], parts, none)
    return header, table
