"""Make, change, pause, run and remove a watch: the same for pages, commands and calls."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from ratings.models import Collection
from ratings.people.audit import Act, note
from ratings.words import as_sentence

from ..models import Night, Watch
from . import nights
from .forms import WatchForm
from .trend import ENDED


class Invalid(ValueError):
    """Facts that the form refuses. `errors`: the field and the sentence of each."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        self.errors = errors
        super().__init__(" ".join(f"{field}: {sentence}" for field, sentence in errors))


def blank(collection: Collection, by=None) -> Watch:
    """A watch that is not stored. by: the account that makes it."""
    every_day = list(range(7))
    return Watch(collection=collection, days=every_day, created_at=timezone.now(), created_by=by)


@transaction.atomic
def set_up(watch: Watch, facts: Mapping[str, Any]) -> Watch:
    """Make or change the watch by the rules of its page, and store it. Raises Invalid.

    facts: fields of WatchForm by name, and `paused`; other fields stay as they are. `engine` is the name of an
    engine, or "" for none.
    """
    watch.paused = facts.get("paused", watch.paused)
    # Pausing skips the form, so that it also works where the rules of today would refuse the other fields.
    if facts.keys() == {"paused"}:
        # Where this is the whole change, the audit notes it. Of other changes it notes no details.
        return keep(watch, paused=watch.paused)
    # This form is not sent: it has the present values of the watch and the names of the fields.
    form = WatchForm(instance=watch, collection=watch.collection)
    data = {**form.initial, **{name: fact for name, fact in facts.items() if name != "paused"}}
    if unknown := data.keys() - form.fields.keys():
        sentence = f"There is no such field. Fields are {', '.join(form.fields)}."
        raise Invalid([(name, sentence) for name in unknown])
    if name := facts.get("engine"):
        data["engine"] = watch.collection.engines.filter(name=name).values_list("pk", flat=True).first()
        if data["engine"] is None:
            raise Invalid([("engine", f"No engine {name!r} is connected. Connect it on the page Search engines.")])
    form = WatchForm(data, instance=watch, collection=watch.collection)
    if not form.is_valid():
        raise Invalid([(field, as_sentence(error)) for field, errors in form.errors.items() for error in errors])
    return keep(form.save(commit=False))


def keep(watch: Watch, **detail: Any) -> Watch:
    """Plan the watch anew and store it. detail: for the audit."""
    nights.plan(watch, timezone.now())
    watch.save()
    note(Act.WATCH, watch.collection, about=watch, **detail)
    return watch


@transaction.atomic
def run(watch: Watch) -> Night:
    """Begin a night now, beside those of the timetable.

    The night is a gap if the engine cannot be asked. ValueError where the watch has no engine, or where another
    night of it is not over yet: it is still to be answered or scored.
    """
    if not watch.engine_id:
        # In the command and in the API a system can be named instead: `nights.night_of_system`.
        raise ValueError(f"{watch} asks no engine. Name a system whose rankings are those of the night")
    if watch.nights.exclude(state__in=ENDED).exists():
        raise ValueError("A night is at work already")
    night = nights.begin(watch, timezone.now())
    note(Act.WATCH, watch.collection, about=watch, run=True)
    return night


@transaction.atomic
def remove(watch: Watch) -> None:
    """Delete the watch and its nights. Documents that they brought stay."""
    watch.delete()
    note(Act.WATCH_REMOVED, watch.collection, about=watch)
