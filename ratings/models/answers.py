"""What the answers of judges say, for their own pages and for the figures about them."""

from collections import defaultdict
from collections.abc import Sequence
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
    """Each version with an answered probe, and its results by kind. At most one database query.

    A probe is a text that is surely irrelevant. It gets through if the model grades it as relevant.
    """
    is_graded = Q(state=Probe.State.GRADED)
    answered_probes = Probe.objects.filter(version__in=versions).exclude(state=Probe.State.WAITING).order_by()
    count_rows = answered_probes.values_list("version", "kind").annotate(
        asked=Count("pk"),
        through=Count("pk", filter=is_graded & Q(value__gte=collection.relevant_from)),
        graded=Count("pk", filter=is_graded),
    )
    # (version id, kind) -> asked, through, graded: the last fields of ProbeResult.
    counts = {(version_id, kind): numbers for version_id, kind, *numbers in count_rows}
    results_by_version = defaultdict(list)
    for version in versions:
        for kind in Probe.Kind:
            if (version.pk, kind) in counts:
                result = ProbeResult(kind.value, kind.label, *counts[version.pk, kind])
                results_by_version[version].append(result)
    return list(results_by_version.items())
