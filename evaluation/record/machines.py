"""The judges whose grades are used for something, where an admin switched that on."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from django.db.models import OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from ratings.models import Collection, JudgeRun, JudgeUse, MachineGrade

from ..measures import Judgments
from .sql import columns_of, index_of


class Machine(NamedTuple):
    """How a version of a judge is named beside the numbers that it touched."""

    judge: str
    version: int
    model: str
    sha256: str  # of all that decides what it answers

    def __str__(self) -> str:
        return f"{self.judge}, version {self.version} ({self.model})"

    def as_json(self) -> dict[str, Any]:
        return self._asdict()


class InUse(NamedTuple):
    """A machine, and the grades that it has."""

    machine: Machine
    pk: int  # of the version
    graded: int  # a grade never changes, so that this number tells which there are


def machines(collection: Collection, use: str = JudgeUse.Use.EXPECTED) -> tuple[InUse, ...]:
    """Those in use for expected values, or for something else, by name. One database query."""
    runs = JudgeRun.objects.filter(version=OuterRef("version")).order_by().values("version")
    graded = Coalesce(Subquery(runs.annotate(n=Sum("graded")).values("n")), 0)
    used = JudgeUse.objects.filter(judge__collection=collection, use=use)
    rows = used.order_by("judge__name").values_list(
        "judge__name", "version__number", "version__model", "version__fingerprint", "version", graded
    )
    return tuple(InUse(Machine(*named), pk, graded) for *named, pk, graded in rows)


def judgments_of(used: InUse, queries: pd.DataFrame) -> Judgments:
    """Its grades as if they were judgments. One database query.

    Of a pair that was asked about more than once, the first answer.
    """
    query, document, value = _answers(used.pk, MachineGrade.State.GRADED, queries, "value")
    return Judgments(len(queries), query, document, value)


def asked_of(version: int, queries: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a version (pk) answered: int64[n] rows of `queries`, int64[n] pks of documents, float64[n] grades.

    A grade is nan where the answer had none. Of a pair that was asked about more than once, the first answer. Two
    database queries.
    """
    *graded, value = _answers(version, MachineGrade.State.GRADED, queries, "value")
    query, document = np.hstack([graded, _answers(version, MachineGrade.State.UNGRADED, queries)])
    return query, document, np.append(value, np.full(len(query) - len(value), np.nan))


def _answers(version: int, state: str, queries: pd.DataFrame, *columns: str) -> list[np.ndarray]:
    """The row in `queries` and the document of each first answer, int64[n], and its columns, float64[n]."""
    rows = MachineGrade.objects.filter(version=version, repeat=1, state=state).order_by()
    statement = rows.values_list("query_id", "document_id", *columns).query.sql_with_params()
    query, document, *others = columns_of(*statement, 2 + len(columns), np.float64)
    query = index_of(query.astype(np.int64), queries["pk"])
    there = query >= 0
    return [query[there], document[there].astype(np.int64), *(each[there] for each in others)]
