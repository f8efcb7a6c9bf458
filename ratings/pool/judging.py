"""How the pairs of a collection are given out: order, aim, shares of gold and repeats, breaks."""

from typing import Any

from django.db import transaction

from ..models import Collection
from ..people.audit import Act, note


@transaction.atomic
def save_settings(collection: Collection, **wanted: Any) -> None:
    """Save these fields only, since others may have changed meanwhile. Changes are noted in the audit."""
    before = Collection.objects.values(*wanted).get(pk=collection.pk)
    changed = {name: [str(before[name]), str(value)] for name, value in wanted.items() if value != before[name]}
    Collection.objects.filter(pk=collection.pk).update(**wanted)
    for name, value in wanted.items():
        setattr(collection, name, value)
    if changed:
        note(Act.JUDGING, collection, about=", ".join(changed), **changed)
