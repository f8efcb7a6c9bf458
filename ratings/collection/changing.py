"""Change the scale of a collection, and tell the consequences beforehand. Ratings keep their grades."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Count, RestrictedError
from django.utils.text import get_text_list

from ..models import Adjudication, Anchor, Collection, Grade, Rating, short_value
from ..people.audit import Act, note
from ..words import counted
from .scales import Step, step_of


class Outdated(Exception):
    """Somebody changed the scale since it was read, or gave a grade that was to be removed."""


class Use(NamedTuple):
    """The ratings, anchors and decisions that use a grade, and so keep it from being removed."""

    ratings: int = 0
    anchors: int = 0
    decisions: int = 0

    def __bool__(self) -> bool:
        return any(self)

    @property
    def effect(self) -> str:
        """What the change means for the uses of the grade: the second half of a sentence."""
        if not self:
            return "nothing uses it"
        return f"{self} {'has it and keeps it' if sum(self) == 1 else 'have it and keep it'}"

    def __str__(self) -> str:
        """Such as "12 ratings and 1 anchor"; empty for none."""
        pairs = zip(self, ("rating", "anchor", "decision"), strict=True)
        return get_text_list([counted(number, noun) for number, noun in pairs if number], "and")


def uses(collection: Collection) -> dict[int, Use]:
    """Grade id → its use, for every grade that has one. Three queries, one of which counts all ratings."""
    numbers = []  # for each model: grade id → how many rows have the grade
    for model in (Rating, Anchor, Adjudication):
        rows = model.objects.filter(grade__collection=collection).order_by()
        numbers.append(Counter(dict(rows.values_list("grade").annotate(n=Count("pk")))))
    ratings, anchors, decisions = numbers
    return {pk: Use(ratings[pk], anchors[pk], decisions[pk]) for pk in ratings | anchors | decisions}


@dataclass(frozen=True)
class Change:
    """A change of a scale. A grade keeps its value: another value is another grade."""

    edited: Mapping[Grade, Step]  # grades with another label or meaning
    removed: tuple[Grade, ...]
    added: tuple[Step, ...]
    relevant_from: Decimal

    @property
    def changes_grades(self) -> bool:
        return bool(self.edited or self.removed or self.added)

    def steps(self, scale: Iterable[Grade]) -> list[Step]:
        """The steps of the scale after the change, lowest first. `scale`: the grades before it."""
        changed = {*self.removed, *self.edited}
        unchanged = [step_of(grade) for grade in scale if grade not in changed]
        return sorted([*unchanged, *self.edited.values(), *self.added])


@transaction.atomic
def change(collection: Collection, wanted: Change, *, base: int) -> None:
    """Apply the change to version `base` of the scale. Raises Outdated, and then changes nothing.

    A change of grades makes a new version of the scale; another `relevant_from` alone does not.
    """
    # The collection is locked first, as in a save of a rating.
    locked = Collection.objects.select_for_update().get(pk=collection.pk)
    if locked.scale_version != base:
        raise Outdated
    try:
        with transaction.atomic():
            _write(locked, wanted)
    # Somebody gave a grade that is removed.
    except (IntegrityError, RestrictedError) as error:
        raise Outdated from error
    locked.relevant_from = wanted.relevant_from
    locked.scale_version += wanted.changes_grades  # True counts as 1
    locked.save(update_fields=["relevant_from", "scale_version"])
    locked.touch()  # so that numbers are computed again
    note(
        Act.SCALE,
        locked,
        about=f"version {locked.scale_version}",
        changed=len(wanted.edited),
        removed=[str(grade.value) for grade in wanted.removed],
        added=[str(step.value) for step in wanted.added],
        relevant_from=str(wanted.relevant_from),
    )
    collection.refresh_from_db()


def _write(collection: Collection, wanted: Change) -> None:
    for grade, step in wanted.edited.items():
        Grade.objects.filter(pk=grade.pk).update(label=step.label, meaning=step.meaning)
    for grade in wanted.removed:
        grade.delete()
    Grade.objects.bulk_create(Grade(collection=collection, **step._asdict()) for step in wanted.added)


def consequences(collection: Collection, scale: list[Grade], wanted: Change, used: Mapping[int, Use]) -> list[str]:
    """The consequences for ratings and numbers, as sentences; none if the change has none."""
    before = collection.relevant_from
    return [*_grade_consequences(wanted, used), *_relevance_consequences(before, scale, wanted, used)]


def _grade_consequences(wanted: Change, used: Mapping[int, Use]) -> Iterator[str]:
    for grade in wanted.removed:
        yield f"{grade} is removed. Nothing uses it; earlier acts in the history keep its value."
    for grade, step in wanted.edited.items():
        effect = used.get(grade.pk, Use()).effect
        if step.label != grade.label:
            yield f"{grade} is called {step} from now on: {effect}."
        if step.meaning != grade.meaning:
            yield f"{step} gets another meaning: {effect}."
    for step in wanted.added:
        yield f"{step} is new. Earlier ratings could not choose it, and stay as they are."


def _relevance_consequences(
    before: Decimal, scale: list[Grade], wanted: Change, used: Mapping[int, Use]
) -> Iterator[str]:
    """Sentences on what changes if documents are relevant from another grade on; none if it stays `before`.

    `used`: grade id → its use. A grade that nothing uses is not in it.
    """
    after = wanted.relevant_from
    if after == before:
        return
    low, high = sorted((before, after))
    # Only these change: lower grades are not relevant either way, and from `high` on all are relevant either way.
    between = [grade for grade in scale if low <= grade.value < high and grade not in wanted.removed]
    ratings = sum(used.get(grade.pk, Use()).ratings for grade in between)
    yield f"A document is relevant from grade {short_value(after)} on; until now from {short_value(before)}."
    if not between:
        yield "No grade lies between the two: only judgments between grades, such as means, can count otherwise."
        return
    names = ", ".join(map(str, between))
    verb = "counts" if ratings == 1 else "count"
    becomes = "relevant" if after < before else "not relevant"
    yield f"{counted(ratings, 'rating')} with {names} {verb} as {becomes} from now on."
    yield "P, R, AP, RR and whatever else asks only whether a document is relevant change at once; nDCG does not."
