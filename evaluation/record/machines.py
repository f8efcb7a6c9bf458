"""Machine grades of the judges that an admin switched on for a use."""

from typing import NamedTuple

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
    """The grades of a machine for these queries, as if they were judgments. One database query.

    For a pair that was asked about more than once, the first answer.
    """
    rows = MachineGrade.objects.filter(version=used.pk, repeat=1, state=MachineGrade.State.GRADED).order_by()
    statement = rows.values_list("query_id", "document_id", "value").query.sql_with_params()
    query, document, value = columns_of(*statement, columns=3, kind=np.float64)
    query = index_of(query.astype(np.int64), queries["pk"])
    kept = query >= 0  # -1: not among `queries`
    return Judgments(len(queries), query[kept], document[kept].astype(np.int64), value[kept])
