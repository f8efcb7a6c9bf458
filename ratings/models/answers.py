"""What the answers of judges say, for their own pages and for the figures about them."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from django.db.models import Count, Q

from .collection import Collection
from .judge import JudgeVersion, MachineGrade, Probe

Problem = MachineGrade.Problem
# Problems without an answer of the model: the next run asks about these pairs again.
UNANSWERED = [Problem.BUSY, Problem.ERROR, Problem.TIMEOUT, Problem.NETWORK, Problem.NO_ANSWER]


class ProbeResult(NamedTuple):
    """The results of the probes of one kind."""

    kind: str
    label: str
    asked: int  # how many were answered, or failed
    through: int  # how many of these were graded as relevant
    graded: int  # how many got a grade

    @property
    def ungraded(self) -> int:
        return self.asked - self.graded


def probe_results(
    collection: Collection, versions: Sequence[JudgeVersion]
) -> list[tuple[JudgeVersion, list[ProbeResult]]]:
    """Each version with an answered probe, and its results by kind. At most one database query."""
    graded = Q(state=Probe.State.GRADED)
    done = Probe.objects.filter(version__in=versions).exclude(state=Probe.State.WAITING).order_by()
    rows = done.values("version", "kind").annotate(
        n=Count("pk"),
        through=Count("pk", filter=graded & Q(value__gte=collection.relevant_from)),
        graded=Count("pk", filter=graded),
    )
    counts = {(row["version"], row["kind"]): row for row in rows}
    by_version = defaultdict(list)
    for version, kind in product(versions, Probe.Kind):
        if row := counts.get((version.pk, kind)):
            result = ProbeResult(kind.value, kind.label, row["n"], row["through"], row["graded"])
            by_version[version].append(result)
    return list(by_version.items())
