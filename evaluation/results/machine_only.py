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
HEADER = ["judge", "version", "model", "sha256", "system", "measure"]
HEADER += ["mean", "low", "high", "queries", "undefined", "judged", "options"]


@dataclass(frozen=True, eq=False)
class Alone:
    """The scores of systems by the grades of one machine."""

    machine: Machine
    pairs: int  # with a grade of the machine
    evaluation: Evaluation

    def difference(self, first: str, second: str, measure: Measure) -> tuple[float | None, int]:
        """The mean of `second` minus `first` over the queries that count for both, and their number."""
        before, after = self.evaluation.counting([first, second], measure).T
        apart = (after - before)[~np.isnan(after - before)]
        return (float(apart.mean()) if apart.size else None), apart.size


def alone_of(collection: Collection, asked: Asked, beside: tuple[Measure, ...] = ()) -> list[Alone]:
    """The scores by each machine that an admin gave a column of its own, from the cache as far as possible.

    One database query where there is no such machine. ValueError as from `scores.evaluate`.
    """
    used = record.machines(collection, JudgeUse.Use.ALONE)
    if not used:
        return []

    # Rule, adjudications and profile are about people's ratings, and change nothing here.
    of_machines = Asked(asked.measure, asked.options)

    def scored_by_each() -> list[Alone]:
        data, _ = scores.read(collection, of_machines)
        keys, alone = data.queries["key"].tolist(), []
        for each in used:
            judgments = record.judgments_of(each, data.queries)
            scored = scores.of_arrays(collection.slug, keys, judgments, data.rankings, of_machines, beside)
            alone.append(Alone(each.machine, len(judgments.grade), scored))
        return alone

    return cache.without_ratings(collection, ("alone", used, of_machines, beside), scored_by_each)


# On pages


def alone_in(collection: Collection, asked: Asked) -> list[Alone]:
    """The scores by each machine, in the measure and options of the address. Raises CannotAnswer."""
    try:
        return alone_of(collection, asked)
    except ValueError as error:
        raise CannotAnswer(f"By the grades of a machine alone: {error}") from error


def table_of(every: list[Alone], systems: list[str], asked: Asked) -> dict:
    """The context of a table: a column for each machine, a row for each system."""
    rows = []
    for name in systems:
        standings = [each.evaluation.standing(name, asked.measure) for each in every]
        rows.append((name, [(standing.mean, standing.queries) for standing in standings]))
    return {"alone": every, "alone_rows": rows}


def differences_of(every: list[Alone], pairs: list[tuple[str, str]], asked: Asked) -> dict:
    """The context of a table: a column for each machine, a row for each pair of systems."""
    rows = [
        (f"{second} less {first}", [each.difference(first, second, asked.measure) for each in every])
        for first, second in pairs
    ]
    return {"alone": every, "alone_rows": rows}


# As files


def document(collection: Collection, asked: Asked, every: list[Alone]) -> dict:
    """The JSON document: an entry for each machine, with a row for each system and measure."""
    return {
        "collection": collection.slug,
        "profile": asked.profile,
        "machines": [
            each.machine.as_json() | {"pairs": each.pairs, "results": list(_rows(each))} for each in every
        ],
    }


def _rows(each: Alone) -> Iterator[dict]:
    for row in each.evaluation.by_column.values():
        fingerprint = f"{each.evaluation.fingerprint_of(row.measure)} {EST}"
        facts = {"system": row.system, "measure": row.measure, "fingerprint": fingerprint}
        yield facts | row.row(HEADER[6:-1])


def table(whole: dict) -> documents.Table:
    """The CSV table: a row for each machine, system and measure of `document`."""
    return documents.table_of(
        HEADER,
        (
            machine | row | {"options": row["fingerprint"]}
            for machine in whole["machines"]
            for row in machine["results"]
        ),
    )
