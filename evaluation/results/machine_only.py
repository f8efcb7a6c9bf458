"""Scores of systems by the grades of one machine alone. People's ratings have no part in them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ratings.models import Collection, JudgeUse

from .. import record, scores
from ..measures import Measure
from ..page import documents
from ..page.address import CannotAnswer
from ..record import Machine, cache
from ..scores import Asked, Evaluation

EST = "est=machine"  # in the fingerprint of these scores
NUMBERS = ["mean", "low", "high", "queries", "undefined", "judged"]  # of a standing
HEADER = ["judge", "version", "model", "sha256", "system", "measure", *NUMBERS, "options"]


@dataclass(frozen=True, eq=False)
class Alone:
    """The scores of systems by the grades of one machine."""

    machine: Machine
    pairs: int  # with a grade of the machine
    evaluation: Evaluation

    def difference(self, first: str, second: str, measure: Measure) -> tuple[float | None, int]:
        """The mean of `second` minus `first` over the queries that count for both, and their number."""
        first_values, second_values = self.evaluation.counting([first, second], measure).T  # nan: does not count
        differences = (second_values - first_values)[~np.isnan(second_values - first_values)]
        return (float(differences.mean()) if differences.size else None), differences.size


def alone_of(collection: Collection, asked: Asked, beside: tuple[Measure, ...] = ()) -> list[Alone]:
    """The scores of systems by the grades of each machine whose scores an admin wants to see alone.

    The scores are in the asked measure and in the measures `beside` it, from the cache where possible. One
    database query where there is no such machine. ValueError as from `scores.evaluate`.
    """
    machines = record.machines(collection, JudgeUse.Use.ALONE)
    if not machines:
        return []

    # Rule, adjudications and profile are about people's ratings, and change nothing here.
    without_rules = Asked(asked.measure, asked.options)

    def score_by_each() -> list[Alone]:
        data, _ = scores.read(collection, without_rules)  # _: the judgments of people
        keys = data.queries["key"].tolist()
        results = []
        for machine_in_use in machines:
            judgments = record.judgments_of(machine_in_use, data.queries)
            evaluation = scores.of_arrays(collection.slug, keys, judgments, data.rankings, without_rules, beside)
            results.append(Alone(machine_in_use.machine, len(judgments.grade), evaluation))
        return results

    # `without_ratings`: new ratings do not invalidate the cached value.
    return cache.without_ratings(collection, ("alone", machines, without_rules, beside), score_by_each)


# On pages


def scores_by_machine(collection: Collection, asked: Asked) -> list[Alone]:
    """The scores by each machine, in the measure and options of the address. Raises CannotAnswer."""
    try:
        return alone_of(collection, asked)
    except ValueError as error:
        raise CannotAnswer(f"By the grades of a machine alone: {error}") from error


def table_of(machines: list[Alone], systems: list[str], asked: Asked) -> dict:
    """The context of a table: a column for each machine, a row for each system."""
    rows = []
    for name in systems:
        standings = [alone.evaluation.standing(name, asked.measure) for alone in machines]
        rows.append((name, [(standing.mean, standing.queries) for standing in standings]))
    return {"alone": machines, "alone_rows": rows}


def differences_of(machines: list[Alone], pairs: list[tuple[str, str]], asked: Asked) -> dict:
    """The context of a table: a column for each machine, a row for each pair of systems."""
    rows = [
        (f"{second} less {first}", [alone.difference(first, second, asked.measure) for alone in machines])
        for first, second in pairs
    ]
    return {"alone": machines, "alone_rows": rows}


# As files


def document(collection: Collection, asked: Asked, machines: list[Alone]) -> dict:
    """The JSON document: an entry for each machine, with a row for each system and measure."""
    return {
        "collection": collection.slug,
        "profile": asked.profile,
        "machines": [
            alone.machine._asdict() | {"pairs": alone.pairs, "results": list(_rows(alone))} for alone in machines
        ],
    }


def _rows(alone: Alone) -> Iterator[dict]:
    """A row for each system and measure."""
    for standing in alone.evaluation.by_column.values():
        fingerprint = f"{alone.evaluation.fingerprint_of(standing.measure)} {EST}"
        head = {"system": standing.system, "measure": standing.measure, "fingerprint": fingerprint}
        yield head | standing.row(NUMBERS)


def table(whole: dict) -> documents.Table:
    """The CSV table: a row for each machine, system and measure of `document`."""
    rows = [
        machine | row | {"options": row["fingerprint"]}
        for machine in whole["machines"]
        for row in machine["results"]
    ]
    return documents.table_of(HEADER, rows)
