"""The uses of a judge's grades: none, until an admin switches one on."""

from django.db import transaction
from django.utils import timezone

from ..models import Judge, JudgeUse, JudgeVersion, MachineGrade
from ..people.audit import Act, note


@transaction.atomic
def switch_on(version: JudgeVersion, use: str, by=None) -> JudgeUse:
    """Use the grades of this version, in place of those of another version of the judge. Returns the stored use.

    `use`: of JudgeUse.Use. Raises ValueError if the version has no grade.
    """
    if not version.grades.filter(state=MachineGrade.State.GRADED).exists():
        raise ValueError(f"Version {version.number} has graded no pair yet. Ask it first")
    stored_use, _ = JudgeUse.objects.update_or_create(
        judge=version.judge, use=use, defaults={"version": version, "by": by, "created_at": timezone.now()}
    )
    _record(version.judge, use, version.number)
    return stored_use


@transaction.atomic
def switch_off(judge: Judge, use: str) -> bool:
    """Whether the use was ended now; False if there was none."""
    gone, _ = judge.uses.filter(use=use).delete()
    if gone:
        _record(judge, use, None)
    return bool(gone)


def _record(judge: Judge, use: str, version: int | None) -> None:
    """Write the change to the audit, and raise the collection's version, as numbers on its pages may change."""
    note(Act.JUDGE_USE, judge.collection, about=judge.name, use=str(use), version=version)
    judge.collection.touch()
