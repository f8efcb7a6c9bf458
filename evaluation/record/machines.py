"""The judges whose grades help to predict missing judgments, where an admin switched that on."""

from typing import Any, NamedTuple

import numpy as np
from django.db.models import OuterRef, Subquery, Sum
from django.db.models.functions import Coalesce

from ratings.models import Collection, JudgeRun, JudgeUse, MachineGrade

from .sql import columns_of


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


def machines(collection: Collection) -> tuple[InUse, ...]:
    """Those in use for expected values, by name. One database query."""
    runs = JudgeRun.objects.filter(version=OuterRef("version")).order_by().values("version")
    graded = Coalesce(Subquery(runs.annotate(n=Sum("graded")).values("n")), 0)
    used = JudgeUse.objects.filter(judge__collection=collection, use=JudgeUse.Use.EXPECTED)
    rows = used.order_by("judge__name").values_list(
        "judge__name", "version__number", "version__model", "version__fingerprint", "version", graded
    )
    return tuple(InUse(Machine(*named), pk, graded) for *named, pk, graded in rows)


def grades_of(used: InUse) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Its grades: int64[n] pks of queries, int64[n] pks of documents, float64[n]. One database query.

    Of a pair that was asked about more than once, the first answer.
    """
    rows = MachineGrade.objects.filter(version=used.pk, repeat=1, state=MachineGrade.State.GRADED).order_by()
    query, document, value = columns_of(
        *rows.values_list("query_id", "document_id", "value").query.sql_with_params(), 3, np.float64
    )
    return query.astype(np.int64), document.astype(np.int64), value
