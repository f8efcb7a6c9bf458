"""The queue in any order of acts: hypothesis plays raters, admins and the clock, a model in plain Python looks on.

IDEALIST_QUEUE_STEPS is about how many acts are played, 2,000 where it is not set.
"""

import os
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ratings import queue
from ratings.models import Assignment, Collection, Pair, Rating, RatingEvent

from .cast import NOW, make_collection, make_rater

pytestmark = pytest.mark.django_db

RATERS, QUERIES, DOCUMENTS = 4, 3, 4
STEPS_A_GAME = 50

raters = st.integers(0, RATERS - 1)
places = st.integers(0, QUERIES * DOCUMENTS - 1)
grades = st.sampled_from(["-1", "0", "3", None])  # None: cannot judge


class Game(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.now = NOW
        self.collection = make_collection(queries=[f"q{i}" for i in range(QUERIES)], documents="abcd"[:DOCUMENTS])
        self.raters = [make_rater(self.collection, f"rater{i}") for i in range(RATERS)]
        self.grades = {str(g.value.normalize()): g for g in self.collection.grades.all()}
        self.places = [
            (q, d)
            for q in self.collection.queries.order_by("pk").values_list("pk", flat=True)
            for d in self.collection.documents.order_by("pk").values_list("pk", flat=True)
        ]
        self.pairs: list[Pair] = []
        self.acts: dict[int, list] = {rater.pk: [] for rater in self.raters}  # what undo takes back, latest last
        self.sent: list[tuple] = []
        self.late: dict[int, int] = {}  # pair -> grades that found no free assignment

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    # The model: what the tables say, counted without the queue

    def rows(self, pair_id: int | None = None) -> list[Assignment]:
        rows = Assignment.objects.filter(pair__query__collection=self.collection)
        return list(rows.filter(pair=pair_id) if pair_id else rows)

    def is_free(self, row: Assignment) -> bool:
        return row.state == "open" or (row.state == "leased" and row.leased_until < self.now)

    def stored(self, rater, pair) -> tuple | None:
        rating = Rating.objects.filter(rater=rater, pair=pair).select_related("grade").first()
        return rating and (rating.grade and rating.grade.value, rating.reason, rating.comment)

    def uncounted(self) -> dict[int, int]:
        """Pair -> grades without an assignment."""
        counted = {(row.pair_id, row.rater_id) for row in self.rows()}
        found: dict[int, int] = {}
        for key in Rating.objects.filter(rater__in=self.raters, grade__isnull=False).values_list("pair", "rater"):
            if key not in counted:
                found[key[0]] = found.get(key[0], 0) + 1
        return found

    def free_for(self, rater) -> set[int]:
        """Pairs that the rater may get: with a free assignment that no late grade fills, and not rated by them."""
        free: dict[int, int] = {}
        for row in self.rows():
            free[row.pair_id] = free.get(row.pair_id, 0) + self.is_free(row)
        rated = set(Rating.objects.filter(rater=rater).values_list("pair", flat=True))
        late = self.uncounted()
        return {pair for pair, n in free.items() if n > late.get(pair, 0) and pair not in rated}

    def put_off(self, rater) -> list[int]:
        """Pairs that the rater put off and did not take back, the longest put off first."""
        latest = {}
        skips = RatingEvent.objects.filter(rater=rater, kind="skip", undone_by__isnull=True).order_by("pk")
        for event in skips:
            latest[event.pair_id] = event.pk
        return sorted(latest, key=latest.get)

    # What happens

    @initialize(wanted=st.integers(1, 3), order=st.sampled_from(Collection.Order.values), n=st.integers(1, 6))
    def begin(self, wanted: int, order: str, n: int) -> None:
        self.new_order(order)
        self.ask(self.places[::2][:n], wanted, depth=2)

    def new_order(self, order: str) -> None:
        Collection.objects.filter(pk=self.collection.pk).update(order=order)
        self.collection.order = order
        for rater in self.raters:
            rater.collection.order = order

    def ask(self, keys: list[tuple[int, int]], wanted: int, depth: int) -> None:
        ids = list(queue.pairs_for(keys).values())
        queue.want(ids, wanted, depths=dict.fromkeys(ids, depth))
        self.pairs = list(Pair.objects.filter(query__collection=self.collection).order_by("query", "document"))

    @rule(place=places, wanted=st.integers(1, 3), depth=st.integers(1, 3))
    def a_new_system(self, place: int, wanted: int, depth: int) -> None:
        self.ask(self.places[place : place + 2], wanted, depth)

    @rule(order=st.sampled_from(Collection.Order.values))
    def another_order(self, order: str) -> None:
        self.new_order(order)

    @rule(minutes=st.sampled_from([1, 10, 31, 31]))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @rule(who=raters)
    def claim(self, who: int) -> None:
        rater = self.raters[who]
        held, free, put_off = queue.held_by(rater), self.free_for(rater), self.put_off(rater)
        left = queue.outlook(rater, now=self.now).left
        pair = queue.claim(rater, now=self.now)
        if held:
            assert pair == held
        elif not free:
            assert pair is None
        else:
            assert left >= len(free)
            assert pair is not None, "a false 'nothing left'"
            assert pair.pk in free
            fresh = free - set(put_off)
            assert pair.pk in fresh if fresh else pair.pk == next(p for p in put_off if p in free)
        if pair:
            assert not Rating.objects.filter(rater=rater, pair=pair, grade__isnull=False).exists() or held
            row = Assignment.objects.get(pair=pair, rater=rater)
            assert (row.state, row.leased_until) == ("leased", self.now + queue.LEASE)
        mine = {pair.pk} if pair else set()
        assert queue.outlook(rater, now=self.now).left == len(self.free_for(rater) | mine)

    @rule(who=raters)
    def stop_and_come_back(self, who: int) -> None:
        """To claim the same without an act in between gives the same."""
        rater = self.raters[who]
        queue.stop(rater)
        first = queue.claim(rater, now=self.now)
        queue.stop(rater)
        assert queue.claim(rater, now=self.now) == first

    def save(self, rater, pair, value: str | None) -> None:
        said = {"grade": self.grades[value]} if value else {"reason": "unclear"}
        before = self.stored(rater, pair)
        places = [row for row in self.rows(pair.pk) if row.rater_id == rater.pk or self.is_free(row)]
        if value and not places:
            self.late[pair.pk] = self.late.get(pair.pk, 0) + 1
        rating = Rating.objects.filter(rater=rater, pair=pair).first()
        sent = {**said, "base_revision": rating.revision if rating else 0, "client_key": uuid4()}
        queue.save(rater, pair, **sent, now=self.now)
        stored = (self.grades[value].value, "", "") if value else (None, "unclear", "")
        assert self.stored(rater, pair) == stored
        self.acts[rater.pk].append(("save", pair, before))
        self.sent.append((rater, pair, sent))

    @rule(who=raters, value=grades)
    def rate_what_is_held(self, who: int, value: str | None) -> None:
        held = queue.held_by(self.raters[who])
        if held:
            self.save(self.raters[who], held, value)

    @rule(who=raters, place=places, value=grades)
    def rate_any_pair(self, who: int, place: int, value: str | None) -> None:
        """Late, again, or from a list: whatever a form may send."""
        self.save(self.raters[who], self.pairs[place % len(self.pairs)], value)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def retry(self, data) -> None:
        rater, pair, sent = data.draw(st.sampled_from(self.sent[-8:]), label="sent")
        before = self.stored(rater, pair), RatingEvent.objects.count(), self.rows()
        queue.save(rater, pair, **sent, now=self.now)
        assert before == (self.stored(rater, pair), RatingEvent.objects.count(), self.rows())

    @rule(who=raters, place=places)
    def an_old_form(self, who: int, place: int) -> None:
        rater, pair = self.raters[who], self.pairs[place % len(self.pairs)]
        before = self.stored(rater, pair)
        with pytest.raises(queue.Conflict):
            queue.save(rater, pair, grade=self.grades["3"], base_revision=999, client_key=uuid4(), now=self.now)
        assert self.stored(rater, pair) == before

    @rule(who=raters)
    def skip(self, who: int) -> None:
        rater = self.raters[who]
        held = queue.held_by(rater)
        if held:
            queue.skip(rater, held, client_key=uuid4(), now=self.now)
            assert queue.held_by(rater) is None
            self.acts[rater.pk].append(("skip", held, self.stored(rater, held)))

    @rule(who=raters)
    def undo(self, who: int) -> None:
        rater = self.raters[who]
        if not self.acts[rater.pk]:
            assert queue.undo(rater, now=self.now) is None
            return
        kind, pair, before = self.acts[rater.pk].pop()
        rows = self.rows(pair.pk)
        own = any(row.rater_id == rater.pk for row in rows)
        if kind == "save" and before and before[0] is not None and not own:
            self.late[pair.pk] = self.late.get(pair.pk, 0) + (not any(self.is_free(row) for row in rows))
        assert queue.undo(rater, client_key=uuid4(), now=self.now) == pair
        assert self.stored(rater, pair) == before
        if before is None and (own or any(self.is_free(row) for row in rows)):
            assert queue.held_by(rater) == pair

    @rule(who=raters)
    def stop(self, who: int) -> None:
        queue.stop(self.raters[who])
        assert queue.held_by(self.raters[who]) is None

    # What always holds

    @invariant()
    def no_pair_is_above_or_below_its_quota(self) -> None:
        late = self.uncounted()
        rows: dict[int, list[Assignment]] = {}
        for row in self.rows():
            rows.setdefault(row.pair_id, []).append(row)
        for pair in self.pairs:
            own = rows.get(pair.pk, [])
            assert len(own) == pair.wanted
            assert late.get(pair.pk, 0) <= self.late.get(pair.pk, 0), "a claim led to a grade too many"
            # A late grade waits for no open assignment: else a claim would ask for one grade too many.
            assert not (late.get(pair.pk) and any(row.state == "open" for row in own))

    @invariant()
    def each_place_is_held_by_one_and_each_rater_holds_one(self) -> None:
        taken = [(row.pair_id, row.rater_id) for row in self.rows() if row.rater_id]
        assert len(taken) == len(set(taken))
        holding = [row.rater_id for row in self.rows() if row.state == "leased"]
        assert len(holding) == len(set(holding))
        done = {(row.pair_id, row.rater_id) for row in self.rows() if row.state == "done"}
        graded = Rating.objects.filter(rater__in=self.raters, grade__isnull=False).values_list("pair", "rater")
        assert done <= set(graded)

    @invariant()
    def an_assignment_knows_its_pair(self) -> None:
        for row in Assignment.objects.filter(collection=self.collection).select_related("pair"):
            assert (row.query_id, row.collection_id) == (row.pair.query_id, self.collection.pk)


def test_the_queue_keeps_its_promises_in_any_order_of_acts():
    steps = int(os.environ.get("IDEALIST_QUEUE_STEPS", "2000"))
    run_state_machine_as_test(
        Game,
        settings=settings(
            max_examples=max(1, steps // STEPS_A_GAME),
            stateful_step_count=STEPS_A_GAME,
            deadline=None,
            derandomize="IDEALIST_QUEUE_STEPS" not in os.environ,
            suppress_health_check=list(HealthCheck),
        ),
    )
