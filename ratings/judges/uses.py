"""What the grades of a judge are used for: nothing, until an admin switches it on."""

from django.db import transaction
from django.utils import timezone

from ..audit import Act, note
from ..models import Judge, JudgeUse, JudgeVersion, MachineGrade


@transaction.atomic
def switch_on(version: JudgeVersion, use: str, by=None) -> JudgeUse:
    """Use the grades of this version, in place of those of another version of the judge.

    Raises ValueError where it has no grade: nothing would be used.
    """
    if not version.grades.filter(state=MachineGrade.State.GRADED).exists():
        raise ValueError(f"Version {version.number} has graded no pair yet. Ask it first")
    chosen = {"version": version, "by": by, "created_at": timezone.now()}
    row, _ = JudgeUse.objects.update_or_create(judge=version.judge, use=use, defaults=chosen)
    _noted(version.judge, use, version.number)
    return row


@transaction.atomic
def switch_off(judge: Judge, use: str) -> bool:
    """Stop using the grades. Returns False if they were not used."""
    gone, _ = judge.uses.filter(use=use).delete()
    if gone:
        _noted(judge, use, None)
    return bool(gone)


def _noted(judge: Judge, use: str, version: int | None) -> None:
    """In the audit, and as a change of the collection: the numbers of its pages may be others now."""
    note(Act.JUDGE_USE, judge.collection, about=judge.name, use=str(use), version=version)
    judge.collection.touch()
