"""Machine grades of the judges that an admin switched on for a use."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from django.db.models import OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from ratings.models import Collection, JudgeRun, JudgeUse, MachineGrade

from ..measures import Judgments
from .sql import columns_of, index_of


class Machine(NamedTuple):
    """The name of a version of a judge, beside numbers that its grades had a part in."""

    judge: str
    version: int
    model: str
    sha256: str  # of everything that decides its answers

    def __str__(self) -> str:
        return f"{self.judge}, version {self.version} ({self.model})"

    def as_json(self) -> dict[str, Any]:
        return self._asdict()


class InUse(NamedTuple):
    """A machine in use, and how many grades it has."""

    machine: Machine
    pk: int  # of the version
    graded: int  # identifies the set of grades, since a grade never changes


def machines(collection: Collection, use: str = JudgeUse.Use.EXPECTED) -> tuple[InUse, ...]:
    """The machines in use for expected values, or another `use`, by name. One database query."""
    runs = JudgeRun.objects.filter(version=OuterRef("version")).order_by().values("version")
    graded = Coalesce(Subquery(runs.annotate(n=Sum("graded")).values("n")), 0)
    used = JudgeUse.objects.filter(judge__collection=collection, use=use)
    rows = used.order_by("judge__name").values_list(
        "judge__name", "version__number", "version__model", "version__fingerprint", "version", graded
    )
    return tuple(InUse(Machine(*named), pk, graded) for *named, pk, graded in rows)


def judgments_of(used: InUse, queries: pd.DataFrame) -> Judgments:
    """The grades of a machine as if they were judgments. One database query.

    For a pair that was asked about more than once, the first answer.
    """
    query, document, value = _answers(used.pk, MachineGrade.State.GRADED, queries, "value")
    return Judgments(len(queries), query, document, value)


def asked_of(version: int, queries: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The answers of a version (pk): int64[n] rows of `queries`, int64[n] pks of documents, float64[n] grades.

    A grade is nan where the answer has none. For a pair that was asked about more than once, the first answer.
    Two database queries.
    """
    *graded, value = _answers(version, MachineGrade.State.GRADED, queries, "value")
    query, document = np.hstack([graded, _answers(version, MachineGrade.State.UNGRADED, queries)])
    return query, document, np.append(value, np.full(len(query) - len(value), np.nan))


def _answers(version: int, state: str, queries: pd.DataFrame, *columns: str) -> list[np.ndarray]:
    """The row in `queries`, the document (int64[n] each) and the columns (float64[n]) of each first answer."""
    rows = MachineGrade.objects.filter(version=version, repeat=1, state=state).order_by()
    statement = rows.values_list("query_id", "document_id", *columns).query.sql_with_params()
    query, document, *others = columns_of(*statement, 2 + len(columns), np.float64)
    query = index_of(query.astype(np.int64), queries["pk"])
    there = query >= 0
    return [query[there], document[there].astype(np.int64), *(each[there] for each in others)]
