"""The chore of a worker that scores nights and stores what they tell for good; and the notices of it."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Exists, OuterRef
from django.urls import reverse
from django.utils import timezone

from ratings.models import Collection, Notice
from ratings.notices.sources import Happened

from ..models import Night, Verdict, Watch
from . import nights
from .scoring import TONIGHT, by_query_of_night, scored, terms_of
from .verdicts import KINDS, verdict_on

log = logging.getLogger(__name__)

State, Kind = Night.State, Verdict.Kind
OPEN_STATES = (State.ASKING, State.FETCHED, State.AGAIN)  # states of a night that is not over


def tell_due() -> int:
    """Score and tell the nights that wait for it. Returns how many were told.

    A night waits until those before it are told, since it continues their path of nights (`significance.nightly`).
    """
    older = Night.objects.filter(watch=OuterRef("watch"), due_at__lt=OuterRef("due_at"), state__in=OPEN_STATES)
    waiting = Night.objects.filter(~Exists(older), state=State.FETCHED)
    return sum(_tell_or_gap(night) for night in waiting.select_related("watch__collection", "watch__engine"))


def _tell_or_gap(night: Night) -> bool:
    """As `tell`. A mistake of Idealist makes a gap of the night, so that it holds up no other."""
    try:
        return tell(night)
    except (OperationalError, InterfaceError):  # the database is away
        raise
    except Exception:
        log.exception("Night %s cannot be told", night.pk)
        nights.as_gap(night, "Idealist made a mistake here. Its log tells more.")
        return False


def tell(night: Night) -> bool:
    """Score the night and store its scores and verdicts. Returns whether it did.

    It did not if an earlier night is not over, if the night became a gap, or if the engine is asked again first to
    confirm a new alarm; nor if another worker meanwhile told this night, or an earlier one, whose verdicts this
    night has to continue. A night that is still to be told is tried later.
    """
    if night.watch.nights.filter(due_at__lt=night.due_at, state__in=OPEN_STATES).exists():
        return False
    before = night.watch.last_verdicts(night.due_at)
    try:
        night_scored = scored(night)
    except ValueError as error:
        nights.as_gap(night, str(error))
        return False
    again_scored = None if night.again is None else scored(night, night.again)
    kinds = [kind for kind in KINDS if kind in night_scored.baselines]
    verdicts = [verdict_on(night, kind, night_scored, before.get(kind), again_scored) for kind in kinds]
    has_new_alarm = any(verdict.kind == Kind.WORSE and is_new(verdict, before) for verdict in verdicts)
    has_engine = night.watch.engine_id and not night.system  # a night with a system has its imported rankings
    if has_new_alarm and has_engine and again_scored is None:
        _ask_again(night)
        return False
    evaluation = night_scored.evaluation
    values_tonight = evaluation.counting([TONIGHT])[:, 0]  # by query of the record; nan where it counts in no mean
    stored = {
        "state": State.TOLD,
        "values": by_query_of_night(evaluation, night, values_tonight),
        "means": asdict(night_scored.means),
        "terms": terms_of(night, night_scored),
        "ended_at": timezone.now(),
    }
    with transaction.atomic():
        Watch.objects.select_for_update().get(pk=night.watch_id)  # no other night of the watch is told meanwhile
        if night.watch.last_verdicts(night.due_at) != before:
            return False
        if not Night.objects.filter(pk=night.pk, state=State.FETCHED).update(**stored):
            return False
        Verdict.objects.bulk_create(verdicts)
    return True


def _ask_again(night: Night) -> None:
    """Have the engine asked again, unless another worker told the night or did so."""
    with transaction.atomic():
        if Night.objects.filter(pk=night.pk, state=State.FETCHED).update(state=State.AGAIN):
            night.state = State.AGAIN
            nights.ask(night)


def is_new(verdict: Verdict, before: Mapping[str, Verdict]) -> bool:
    """Whether the night before told something else, or of another path. before: the verdicts of that night."""
    last = before.get(verdict.baseline)
    return last is None or (last.path, last.kind) != (verdict.path, verdict.kind)


# Notices


def happened(collection: Collection, since: datetime) -> Iterator[Happened]:
    """The alarms, once for each path; what judgments decide, once while they do; and gaps."""
    nights = Night.objects.filter(watch__collection=collection, ended_at__gte=since).select_related("watch")
    for night in nights.defer("queries", "rankings", "again", "values").prefetch_related("verdicts"):
        address = reverse("night", args=[collection.slug, night.watch_id, night.pk])
        if night.ended_at:
            yield from _happened_in(night, address, night.ended_at)


def _happened_in(night: Night, address: str, at: datetime) -> Iterator[Happened]:
    """The notices of one night: that it is a gap; an alarm; that unjudged documents decide whether it is worse.

    address: of its page; at: when it was told. A notice whose key was seen before is not told again.
    """
    watch, verdicts = night.watch, night.verdicts.all()
    any_judgments = any(verdict.kind == Kind.JUDGMENTS for verdict in verdicts)
    before = watch.last_verdicts(night.due_at) if any_judgments else {}  # read once for all verdicts
    if night.state == State.GAP:
        text = f"{watch}: the night is a gap. {night.problem}"
        yield Happened(Notice.Kind.GAP, f"night {night.pk} gap", text, address, at)
    for verdict in verdicts:
        if verdict.kind == Kind.WORSE:
            difference = verdict.numbers["difference"]
            # Tonight minus the baseline, so that a loss is below 0.
            by_how_much = "" if difference is None else f" by {-difference:.3f}"
            text = f"{watch} is worse than {verdict.name}{by_how_much}."
            # All nights of a path, a run of nights that are tested together, have one key: an alarm is told once.
            key = f"watch {watch.pk} {verdict.baseline} {verdict.path}"
            yield Happened(Notice.Kind.WORSE, key, text, address, at)
        elif verdict.kind == Kind.JUDGMENTS and is_new(verdict, before):
            text = f"{watch}: {verdict.numbers['unjudged']} unjudged documents decide it against {verdict.name}."
            yield Happened(Notice.Kind.DECIDE, f"night {night.pk} {verdict.baseline}", text, address, at)
