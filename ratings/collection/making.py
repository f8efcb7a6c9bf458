"""Make a collection. The command, the page and the API all call `make`."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import count

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.text import slugify

from ..models import Collection, Grade, Membership, Role
from ..people.audit import Act, note
from ..presentation.guidelines import versions
from ..presentation.guidelines.template import first_text
from .scales import Step

LONGEST_SLUG = Collection._meta.get_field("slug").max_length
TAKEN = "Another collection has this name in its address."


@transaction.atomic
def make(
    slug: str,
    name: str,
    scale: Sequence[Step] = (),
    *,
    description: str = "",
    relevant_from: Decimal | None = None,
    by: User | None = None,
) -> Collection:
    """The new collection. With `by`, this person becomes its admin, and it gets first guidelines.

    `relevant_from`: the lowest grade that counts as relevant; None: the default of the field.
    Raises ValidationError by field of Collection, also if somebody takes the slug at the same moment.
    """
    collection = Collection(slug=slug, name=name, description=description)
    if relevant_from is not None:
        collection.relevant_from = relevant_from
    collection.full_clean()
    try:
        with transaction.atomic():
            collection.save()
    except IntegrityError as error:
        raise ValidationError({"slug": TAKEN}) from error
    Grade.objects.bulk_create(Grade(collection=collection, **step._asdict()) for step in scale)
    note(Act.MADE, collection)
    if by:
        Membership.objects.create(collection=collection, user=by, role=Role.ADMIN)
        versions.publish(collection, first_text(collection.grades.all()), base=0)  # 0: no version before
    return collection


@transaction.atomic
def describe(collection: Collection, *, name: str, description: str) -> None:
    """Change the name and the description of a collection. Its slug stays, so links and scripts still work."""
    Collection.objects.filter(pk=collection.pk).update(name=name, description=description)
    note(Act.DESCRIBED, collection, about=name)


@transaction.atomic
def save_default_options(collection: Collection, options: dict[str, str]) -> None:
    """Change what holds in the collection where nothing is asked; {}: the usual. In the form of the field."""
    before = collection.default_options
    Collection.objects.filter(pk=collection.pk).update(default_options=options)
    collection.default_options = options
    about = " ".join(f"{name}={text}" for name, text in options.items()) or "as usual"
    note(Act.DEFAULT_OPTIONS, collection, about=about, options=[before, options])


def free_slug(name: str) -> str:
    """A slug made of the name that no collection has: shop, shop-2."""
    stem = slugify(name)[: LONGEST_SLUG - 5].strip("-_") or "collection"  # 5: room for -9999
    taken = set(Collection.written.filter(slug__startswith=stem).values_list("slug", flat=True))
    numbered = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(slug for slug in numbered if slug not in taken)
