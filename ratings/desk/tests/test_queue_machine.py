"""The queue in any order of acts: hypothesis plays raters, admins and the clock, a model in plain Python looks on.

About 800 steps are played, 400 on PostgreSQL, each of them a rule, always the same. With IDEALIST_QUEUE_STEPS so
many at least, and others each time; every twenty games are told, so that whoever stops it knows how far it came.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.db.models import Model
from django.db.models.sql.compiler import SQLCompiler
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from ratings.desk import queue
from ratings.desk.queue import mixing
from ratings.importing.intake.undoing import undo_import
from ratings.models import (
    UNDRAWN,
    Anchor,
    Assignment,
    Check,
    Collection,
    Drawn,
    Job,
    Pair,
    Rater,
    Rating,
    RatingEvent,
)
from ratings.people import members
from ratings.pool.anchors import remove_anchor, set_anchor
from ratings.tests.cast import NOW, make_collection, make_rater, make_round

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases, pytest.mark.slow]

RATERS, QUERIES, DOCUMENTS = 4, 3, 8
STEPS, STEPS_A_GAME, GAMES_AT_A_TIME = 800, 50, 20
ELSEWHERE = ("team", "trec")  # who graded what is imported
ACTS_BEFORE_REPEAT = 3  # acts: nobody does 20 in a short game

raters = st.integers(0, RATERS - 1)
places = st.integers(0, QUERIES * DOCUMENTS - 1)
grades = st.sampled_from(["-1", "0", "3", None])  # None: cannot judge
counts = st.sampled_from([1, 1, 2, 3, 5, 20])


class Row(NamedTuple):
    """An assignment as the table has it: rows are read several times a step, and objects would take most of it."""

    pk: int
    pair_id: int
    rater_id: int | None
    state: str
    leased_until: datetime | None
    extra: bool
    turn: int


class Table:
    """All rows of a table in the same columns, by SQL that is written once: it is read several times a step, and
    Django would take longer over its SQL than the queue over its work. Nothing else is in the database."""

    def __init__(self, model: type[Model], *columns: str) -> None:
        self.model, self.columns = model, columns

    def __call__(self) -> list[tuple]:
        with connection.cursor() as cursor:
            cursor.execute(*self.statement)
            return list(map(tuple, self.compiler.apply_converters(cursor.fetchall(), self.converters)))

    @cached_property
    def compiler(self) -> SQLCompiler:
        rows = self.model.objects.order_by("pk").values_list(*self.columns)
        return rows.query.get_compiler(connection=connection)

    @cached_property
    def statement(self) -> tuple:
        return self.compiler.as_sql()

    @cached_property
    def converters(self) -> dict:
        return self.compiler.get_converters(self.statement and [column for column, *_ in self.compiler.select])


assignments = Table(Assignment, *Row._fields)
places_of_assignments = Table(
    Assignment,
    "collection",
    "pair__query__collection",
    "query",
    "pair__query",
    "round",
    "pair__drawn__round__number",
    "extra",
)
drawn_pairs = Table(Drawn, "pair", "round__number")
ratings_given = Table(Rating, "pair", "rater", "grade__value", "reason", "comment", "pk", "grade", "revision")
pairs_wanted = Table(Pair, "pk", "query", "wanted", "retired_at")
events = Table(RatingEvent, "kind", "pair", "rater", "value", "reason", "undone_by__pk", "pk")
checks = Table(Check, "pk", "event", "turn")


@dataclass
class Act:
    """What a rater did and can take back."""

    kind: str
    pair: Pair
    key: UUID
    before: tuple | None  # what was said of the pair before, of its check for a repeat
    standing: bool = True


@dataclass
class Player:
    """What the model knows of a rater."""

    rater: Rater
    acts: list[Act] = field(default_factory=list)
    holding: list = field(default_factory=list)  # tasks as the desk last got them, newest claim

    def standing(self) -> list[Act]:
        return [act for act in self.acts if act.standing]


@dataclass
class Brought:
    """An import of grades, and what had been said before of each rater's pair that it changed."""

    job: Job
    before: dict[tuple[str, tuple[int, int]], tuple | None]
    standing: bool = True


class Game(RuleBasedStateMachine):
    seen: Counter = Counter()  # what was played in all games: a promise about what never happens is worth nothing

    def __init__(self) -> None:
        super().__init__()
        self.seen["games"] += 1
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.now = NOW
        self.collection = make_collection(
            queries=[f"q{i}" for i in range(QUERIES)], documents="abcdefgh"[:DOCUMENTS]
        )
        self.players = [Player(make_rater(self.collection, f"rater{i}")) for i in range(RATERS)]
        self.grades = {str(g.value.normalize()): g for g in self.collection.grades.all()}
        self.queries = list(self.collection.queries.order_by("pk"))
        self.places = [
            (q.pk, d)
            for q in self.queries
            for d in self.collection.documents.order_by("pk").values_list("pk", flat=True)
        ]
        self.pairs: list[Pair] = []
        self.sent: list[tuple] = []
        self.late: Counter = Counter()  # pair -> grades that found no free assignment
        self.imports: list[Brought] = []

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.transaction.__exit__(None, None, None)

    # The model: what the tables say, counted without the queue

    def rows(self, pair_id: int | None = None) -> list[Row]:
        return [row for row in map(Row._make, assignments()) if pair_id in (None, row.pair_id)]

    def is_free(self, row: Row) -> bool:
        return row.state == "open" or (row.state == "leased" and row.leased_until < self.now and not row.extra)

    def stored(self, rater, pair) -> tuple | None:
        """What is said of the pair: the grade, or why not, and the comment."""
        return next((row[2:5] for row in ratings_given() if row[:2] == (pair.pk, rater.pk)), None)

    def retired(self) -> set[int]:
        return {pair for pair, *_, retired_at in pairs_wanted() if retired_at}

    def uncounted(self) -> Counter:
        """Pair -> grades without an assignment."""
        counted = {(row.pair_id, row.rater_id) for row in self.rows()}
        return Counter(pair for pair, rater in self.graded() - counted)

    def graded(self) -> set[tuple[int, int]]:
        return {(pair, rater) for pair, rater, value, *_ in ratings_given() if value is not None}

    def free_for(self, rater: Rater) -> set[int]:
        """Pairs that the rater may newly get: with a free assignment that no late grade fills, of their queries,
        neither retired nor rated nor held by them."""
        free: Counter = Counter()
        rows = self.rows()
        for row in rows:
            free[row.pair_id] += self.is_free(row)
        mine = {pair for pair, who, *_ in ratings_given() if who == rater.pk}
        mine |= {row.pair_id for row in rows if row.rater_id == rater.pk}
        late, gone = self.uncounted(), self.retired()
        own = set(rater.queries.values_list("pk", flat=True)) or {query.pk for query in self.queries}
        query = {pair.pk: pair.query_id for pair in self.pairs}
        return {
            pair
            for pair, n in free.items()
            if n > late[pair] and pair not in mine and pair not in gone and query[pair] in own
        }

    def put_off(self, rater) -> list[int]:
        """Pairs that the rater put off and did not take back, the longest put off first."""
        latest = {
            pair: pk
            for kind, pair, who, *_, undone, pk in events()
            if (kind, who, undone) == ("skip", rater.pk, None)
        }
        return sorted(latest, key=latest.get)

    def to_warm_up(self, rater: Rater) -> set[int]:
        if Rater.objects.get(pk=rater.pk).warmed_up_at:
            return set()
        done = Check.objects.filter(rater=rater, kind="warm_up", event__isnull=False).values("pair")
        anchors = Anchor.objects.filter(use="warm_up", pair__query__collection=self.collection)
        return set(anchors.exclude(pair__in=done).values_list("pair", flat=True))

    def room(self, rater: Rater) -> float:
        """How many tasks more a limit lets the rater grade or hold."""
        limit = Rater.objects.get(pk=rater.pk).limit
        graded = sum(who == rater.pk for _, who in self.graded())
        graded += Check.objects.filter(rater=rater, kind="repeat", event__value__isnull=False).count()
        return float("inf") if limit is None else max(0, limit - graded)

    def shares(self) -> bool:
        collection = Collection.objects.get(pk=self.collection.pk)
        return bool(collection.gold_share or collection.repeat_share)

    def said_cannot(self, rater: Rater) -> bool:
        return any(who == rater.pk and value is None for _, who, value, *_ in ratings_given())

    def beside(self, rater: Rater) -> bool:
        """Whether the rater has something that is not wanted: extra gold, repeats, grades that fill no place."""
        extra = any(row.rater_id == rater.pk and row.extra for row in self.rows())
        own = {(row.pair_id, row.rater_id) for row in self.rows()}
        return (
            extra
            or Check.objects.filter(rater=rater, kind="repeat").exists()
            or any(who == rater.pk for _, who in self.graded() - own)
        )

    def is_gold(self, pair: Pair) -> bool:
        """Whether the pair is a rater's beside what is wanted, where nothing of it is free."""
        gold = Anchor.objects.filter(use="gold", pair=pair, pair__retired_at=None).exists()
        return gold and Collection.objects.get(pk=self.collection.pk).gold_share > 0

    def snapshot(self) -> tuple:
        return self.rows(), checks(), ratings_given(), len(events())

    # What happens

    @initialize(
        wanted=st.sampled_from([2, 1, 3]),
        order=st.sampled_from(Collection.Order.values),
        n=st.sampled_from([16, 10, 5, 1]),
        golds=st.sampled_from([3, 0]),
        gold=st.sampled_from(["0.5", "0"]),
        repeat=st.sampled_from(["0.5", "0"]),
    )
    def begin(self, wanted: int, order: str, n: int, golds: int, gold: str, repeat: str) -> None:
        self.another_order(order)
        self.other_shares(gold, repeat)
        self.ask(self.places[:n], wanted, depth=2)
        for place in range(golds):
            self.others_fill_a_gold_pair(5 * place, RATERS - 1)

    def ask(self, keys: list[tuple[int, int]], wanted: int, depth: int) -> None:
        ids = list(queue.pairs_for(keys).values())
        queue.want(ids, wanted, depths=dict.fromkeys(ids, depth))
        self.pairs = list(
            Pair.objects.filter(query__collection=self.collection)
            .select_related("query")
            .order_by("query", "document")
        )

    @rule(place=places, wanted=st.integers(1, 3), depth=st.integers(1, 3))
    def a_new_system(self, place: int, wanted: int, depth: int) -> None:
        self.ask(self.places[place : place + 2], wanted, depth)

    @rule(place=places, step=st.sampled_from([1, 5]), n=st.integers(1, 6), greedy=st.integers(0, 2))
    def a_round_is_stored(self, place: int, step: int, n: int, greedy: int) -> None:
        """Of pairs that are wanted and in no round, of one query or of several, whoever holds or rated them."""
        drawn, gone = dict(drawn_pairs()), self.retired()
        born = dict(Pair.objects.values_list("pk", "born"))
        wanted = {pair for pair, _, n, _ in pairs_wanted() if n} - drawn.keys() - gone
        around = (self.pairs[(place + step * k) % len(self.pairs)] for k in range(len(self.pairs)))
        pairs = list(dict.fromkeys(pair for pair in around if pair.pk in wanted))[:n]
        if not pairs:
            return
        made = make_round(self.collection, pairs, greedy=greedy)
        assert made.number == 1 + max(drawn.values(), default=0)
        assert dict(drawn_pairs()) == drawn | {pair.pk: made.number for pair in pairs}
        assert {each.pair_id: each.born for each in made.drawn.all()} == {pair.pk: born[pair.pk] for pair in pairs}
        self.seen["rounds stored"] += 1

    @rule(place=places, n=st.integers(2, 6), who=raters, order=st.sampled_from(["decisive", "random"]))
    def a_round_is_stored_and_worked_at(self, place: int, n: int, who: int, order: str) -> None:
        self.another_order(order)
        self.a_round_is_stored(place, 5, n, 1)
        self.active_or_not(who, True)
        self.stop(who)
        self.claim(who, 20)

    @rule(place=places, comes_back=st.booleans())
    def more_is_wanted_of_a_drawn_pair(self, place: int, comes_back: bool) -> None:
        """By a higher number of ratings, or because it comes back: what is asked anew is of its round."""
        drawn = dict(drawn_pairs())
        pairs = [pair for pair in self.pairs if pair.pk in drawn]
        if not pairs:
            return
        pair = pairs[place % len(pairs)]
        if comes_back:
            queue.retire([pair.pk], now=self.now)
            if not Anchor.objects.filter(pair=pair, use="warm_up").exists():
                queue.unretire([pair.pk])
        else:
            queue.want([pair.pk], min(3, 1 + Pair.objects.get(pk=pair.pk).wanted))
        self.ask([], 0, 0)
        assert dict(drawn_pairs()) == drawn

    @rule(order=st.sampled_from(Collection.Order.values))
    def another_order(self, order: str) -> None:
        Collection.objects.filter(pk=self.collection.pk).update(order=order)

    @rule(gold=st.sampled_from(["0.5", "0.5", "0"]), repeat=st.sampled_from(["0.5", "0.5", "0"]))
    def other_shares(self, gold: str, repeat: str) -> None:
        Collection.objects.filter(pk=self.collection.pk).update(
            gold_share=Decimal(gold), repeat_share=Decimal(repeat)
        )

    @rule(place=places, use=st.sampled_from(["gold", "gold", "gold", "warm_up", None]))
    def an_anchor(self, place: int, use: str | None) -> None:
        pair = self.pairs[place % len(self.pairs)]
        if use is None:
            remove_anchor(pair)
        else:
            set_anchor(pair, use=use, grade=self.grades["0"], explanation="known", now=self.now)
            assert (pair.pk in self.retired()) or use == "gold"

    @rule(place=places, who=raters)
    def others_fill_a_gold_pair(self, place: int, who: int) -> None:
        """Who gets it now gets it beside what is wanted."""
        self.an_anchor(place, "gold")
        pair = self.pairs[place % len(self.pairs)]
        others = [player for player in self.players if player is not self.players[who]]
        for player in others[: pair.wanted]:
            if self.stored(player.rater, pair) is None:
                self.save(player, pair, "0")

    @rule(place=places, who=raters, order=st.sampled_from(["random", *Collection.Order.values]))
    def a_filled_gold_pair_is_mixed_in(self, place: int, who: int, order: str) -> None:
        """Nothing else keeps it from the rater: an earlier step may have."""
        self.others_fill_a_gold_pair(place, who)
        self.other_shares("0.5", "0")
        self.another_order(order)
        self.active_or_not(who, True)
        self.a_limit(who, None)
        self.queries_of_their_own(who, [])
        self.stop(who)
        self.claim(who, 20)

    @rule(place=places, n=st.integers(1, 2))
    def retire(self, place: int, n: int) -> None:
        ids = [pair.pk for pair in self.pairs[place % len(self.pairs) :][:n]]
        gone = self.retired()
        assert queue.retire(ids, now=self.now) == len(set(ids) - gone)
        assert not any(row.state != "done" for pair in ids for row in self.rows(pair))

    @rule(place=places, n=st.integers(1, 4), wanted=st.integers(1, 2))
    def fewer_are_wanted(self, place: int, n: int, wanted: int) -> None:
        """Everything that was said stays, and whoever holds something goes on."""
        ids = [pair.pk for pair in self.pairs[place % len(self.pairs) :][:n]]
        before, late, said = self.rows(), self.uncounted(), ratings_given()
        withdrawn = queue.want_fewer(ids, wanted, now=self.now)
        after = {row.pk: row for row in self.rows()}
        gone = [row for row in before if row.pk not in after]
        assert withdrawn == sum(self.is_free(row) for row in gone)
        assert all(self.is_free(row) or row.state == "done" for row in gone) and ratings_given() == said
        for pair, n in self.uncounted().items():
            self.late[pair] += max(0, n - late[pair])
        self.seen["withdrawn"] += withdrawn

    @rule(place=places, n=st.integers(1, 6))
    def unretire(self, place: int, n: int) -> None:
        anchors = set(Anchor.objects.filter(use="warm_up").values_list("pair", flat=True))
        ids = [pair.pk for pair in self.pairs[place % len(self.pairs) :][:n] if pair.pk not in anchors]
        gone = self.retired()
        assert queue.unretire(ids) == len(set(ids) & gone)

    @rule(who=raters, limit=st.sampled_from([None, None, None, None, 6, 3, 0]))
    def a_limit(self, who: int, limit: int | None) -> None:
        Rater.objects.filter(pk=self.players[who].rater.pk).update(limit=limit)

    @rule(who=raters, which=st.sampled_from([[], [], [], [0], [1, 2]]))
    def queries_of_their_own(self, who: int, which: list[int]) -> None:
        self.players[who].rater.queries.set([self.queries[i] for i in which])

    @rule(who=raters, active=st.sampled_from([True, True, True, False]))
    def active_or_not(self, who: int, active: bool) -> None:
        Rater.objects.filter(pk=self.players[who].rater.pk).update(active=active)

    @rule(minutes=st.sampled_from([1, 10, 31, 31]))
    def time_passes(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    def taken_back(self, rater: Rater, task: queue.Task) -> bool:
        said = RatingEvent.objects.filter(rater=rater, pair=task.pair).order_by("-pk").first()
        return said is not None and said.kind == RatingEvent.Kind.UNDO

    @rule(who=raters, count=counts)
    def look_and_claim(self, who: int, count: int) -> None:
        rater = self.players[who].rater
        left, room, warm_ups = queue.outlook(rater, now=self.now), self.room(rater), self.to_warm_up(rater)
        held, free = queue.held(rater), self.free_for(rater)
        self.claim(who, count)
        if not Rater.objects.get(pk=rater.pk).active:
            assert left.why == "not_active" and left.left == 0
        elif warm_ups:
            assert left.why == "warm_up" and left.left == len(warm_ups)
        else:
            assert (left.why == "limit") == (room <= 0)
            after = queue.outlook(rater, now=self.now)
            assert after.left <= left.left, "a claim made more of what is left"
            could = len(free) + len(held)
            assert left.left == 0 if room <= 0 else left.left > 0 or not could
            assert left.left <= room
            if not (self.shares() or self.said_cannot(rater) or self.beside(rater) or left.left == 0):
                assert left.left == min(could, room)

    @rule(who=raters, count=counts)
    def claim(self, who: int, count: int) -> None:
        player = self.players[who]
        rater = player.rater
        held, free, room = queue.held(rater), self.free_for(rater), self.room(rater)
        warm_ups, put_off = self.to_warm_up(rater), self.put_off(rater)
        tasks = queue.claim(rater, count, now=self.now)
        assert queue.held(rater) == tasks, "what is held comes in another order"
        player.holding = tasks
        if not Rater.objects.get(pk=rater.pk).active:
            assert tasks == []
            return
        if warm_ups:
            first = [task for task in tasks if task.kind == "warm_up"]
            assert len(first) >= min(count, len(warm_ups))
            before = tasks.index(first[0])
            assert tasks[before : before + len(first)] == first
            # What they took back is theirs at once, also where warm-ups were made meanwhile.
            assert all(self.taken_back(rater, task) for task in tasks[:before]), "something before a warm-up"
            assert {task.pair.pk for task in first} <= warm_ups
            return
        assert [task for task in tasks if task in held] == [task for task in held if task in tasks]
        new = [task for task in tasks if task not in held]
        assert len(tasks) <= max(count, len(held))
        self.new_tasks(player, new, free, put_off)
        self.older_rounds_come_first(new, tasks, free - set(put_off))
        if len(held) < count and room > len(held) and free:
            assert tasks, "a false 'nothing left'"
        if not free:
            assert all(task.pair.pk in put_off for task in new)
        assert len(tasks) <= max(room, len(held))
        for row in self.rows():
            if row.rater_id == rater.pk and row.state == "leased":
                assert row.leased_until == self.now + queue.LEASE

    def older_rounds_come_first(self, new: list, tasks: list, fresh: set[int]) -> None:
        """In the orders by rounds: nobody gets what was drawn later, or not at all, before what was drawn earlier.

        Gold is placed by other rules, and what was put off comes last.
        """
        if Collection.objects.get(pk=self.collection.pk).order not in ("decisive", "random"):
            return
        golds = set(Anchor.objects.filter(use="gold").values_list("pair", flat=True))
        # A late grade fills an expired lease of its pair first, and nobody gets the pair before.
        fresh, drawn = fresh - golds - set(self.uncounted()), dict(drawn_pairs())
        got = [task.pair.pk for task in new if task.kind == "pair" and task.pair.pk in fresh]
        numbers = [drawn.get(pair, UNDRAWN) for pair in got]
        assert numbers == sorted(numbers), "a later round came first"
        left = {drawn.get(pair, UNDRAWN) for pair in fresh - {task.pair.pk for task in tasks}}
        assert not got or not left or numbers[-1] <= min(left), "an older round was passed over"
        self.seen["drawn before others"] += bool(left) and bool(got) and numbers[0] < max(left)

    def new_tasks(self, player: Player, new: list, free: set[int], put_off: list[int]) -> None:
        golds = set(Anchor.objects.filter(use="gold").values_list("pair", flat=True))
        pairs = [task.pair.pk for task in new if task.kind == "pair"]
        assert len(pairs) == len(set(pairs))
        assert all(pair in free or pair in golds for pair in pairs)
        again = [pair for pair in pairs if pair in put_off]
        assert again == [pair for pair in put_off if pair in again], "not the longest put off first"
        beside = Assignment.objects.filter(rater=player.rater, extra=True, pair__in=pairs, state="leased")
        self.seen["gold beside what is wanted"] += beside.count()
        if again:
            assert {pair for pair in free if pair not in put_off} <= set(pairs), "put off came before fresh"
        for task in new:
            stored = self.stored(player.rater, task.pair)
            if task.kind == "pair":
                assert stored is None and task.rating is None, "the same pair twice"
            else:
                assert task.kind == "repeat" and stored[0] is not None
                assert Check.objects.filter(rater=player.rater, pair=task.pair, kind="repeat").count() == 1
                if task.pair.pk in put_off:
                    continue
                lately = RatingEvent.objects.filter(rater=player.rater).order_by("-pk")[:ACTS_BEFORE_REPEAT]
                assert task.pair not in [event.pair for event in lately], "too early to be graded again"

    @rule(who=raters, count=counts, values=st.lists(grades, min_size=3, max_size=8))
    def work(self, who: int, count: int, values: list[str | None]) -> None:
        """What raters do most of the time."""
        for value in values:
            self.claim(who, count)
            self.rate_what_is_held(who, value, 0)

    @rule(who=raters, count=counts, values=st.lists(grades, min_size=3, max_size=8))
    def work_at_the_front(self, who: int, count: int, values: list[str | None]) -> None:
        """As the desk does: the next one is claimed while the last is on its way."""
        self.active_or_not(who, True)
        self.a_limit(who, None)
        self.work(who, count, values)

    @rule(who=raters, count=counts)
    def stop_and_come_back(self, who: int, count: int) -> None:
        """To claim the same without an act in between gives the same. Only gold that was given back comes last."""
        rater = self.players[who].rater
        queue.stop(rater)
        assert queue.held(rater) == []
        first = queue.claim(rater, count, now=self.now)
        queue.stop(rater)
        again = queue.claim(rater, count, now=self.now)
        golds = set(Anchor.objects.filter(use="gold").values_list("pair", flat=True))
        if golds.isdisjoint(task.pair.pk for task in first):
            assert [(task.kind, task.pair) for task in again] == [(task.kind, task.pair) for task in first]
        others = [[task.pair for task in tasks if task.pair.pk not in golds] for tasks in (first, again)]
        assert all(one == other for one, other in zip(*others, strict=False))
        self.players[who].holding = again

    def save(self, player: Player, task: queue.Task | Pair, value: str | None) -> None:
        rater, pair = player.rater, task if isinstance(task, Pair) else task.pair
        said = {"grade": self.grades[value]} if value else {"reason": "unclear"}
        before = self.stored(rater, pair)
        rows, gone = self.rows(pair.pk), pair.pk in self.retired()
        own = any(row.rater_id == rater.pk for row in rows)
        filled = own or (not gone and any(self.is_free(row) for row in rows)) or self.is_gold(pair)
        if value and not filled:
            self.late[pair.pk] += 1
        rating = Rating.objects.filter(rater=rater, pair=pair).first()
        sent = {**said, "base_revision": rating.revision if rating else 0, "client_key": uuid4()}
        saved = queue.save(rater, task, queue.Submission(**sent), now=self.now)
        assert self.stored(rater, pair) == ((self.grades[value].value, "", "") if value else (None, "unclear", ""))
        assert saved.outcome == ("retired" if gone else "counted" if filled or not value else "surplus")
        assert saved.rating.revision == sent["base_revision"] + 1
        player.acts.append(Act("save", pair, sent["client_key"], before))
        self.sent.append((rater, task, sent))

    def answer(self, player: Player, task, value: str | None) -> None:
        said = {"grade": self.grades[value]} if value else {"reason": "unclear"}
        before = self.stored(player.rater, task.pair)
        key = uuid4()
        known = Anchor.objects.filter(pair=task.pair, use="warm_up").exists()  # it may be none any more
        saved = queue.save(player.rater, task, queue.Submission(**said, client_key=key), now=self.now)
        assert self.stored(player.rater, task.pair) == before, "a check changed a rating"
        assert (saved.right_answer is not None) == (task.kind == "warm_up" and known)
        gone = task.kind == "repeat" and task.pair.pk in self.retired()
        assert saved.event.kind == task.kind and saved.outcome == ("retired" if gone else "counted")
        if task.kind == "repeat":
            player.acts.append(Act("repeat", task.pair, key, None))
        self.sent.append((player.rater, task, {**said, "client_key": key}))

    @rule(who=raters, value=grades, which=st.integers(0, 19))
    def rate_what_is_held(self, who: int, value: str | None, which: int) -> None:
        player = self.players[who]
        held = queue.held(player.rater)
        if not held:
            return
        task = held[which % len(held)]
        (self.save if task.kind == "pair" else self.answer)(player, task, value)
        assert task.token not in [one.token for one in queue.held(player.rater)]

    @rule(who=raters, value=grades, which=st.integers(0, 19))
    def rate_what_a_second_tab_shows(self, who: int, value: str | None, which: int) -> None:
        """The tab has what was held once: rated, given back, lost or retired since."""
        player = self.players[who]
        if not player.holding:
            return
        shown = player.holding[which % len(player.holding)]
        task = queue.task(player.rater, shown.token)
        assert task is not None, "what was shown cannot be sent any more"
        if shown.kind == "pair":
            self.save(player, task, value)
        elif task.rating is None:
            self.answer(player, task, value)

    @rule(who=raters, place=places, value=grades)
    def rate_any_pair(self, who: int, place: int, value: str | None) -> None:
        """From a list of own ratings: whatever a form may send."""
        player, pair = self.players[who], self.pairs[place % len(self.pairs)]
        task = queue.task(player.rater, pair.token)
        if task:
            self.save(player, task, value)

    @rule(back=st.integers(0, 7))
    def retry(self, back: int) -> None:
        # Chosen here and not drawn from the list: how long it is depends on the lots of the database.
        if not self.sent:
            return
        rater, task, sent = self.sent[-1 - back % len(self.sent)]
        before = self.snapshot()
        queue.save(rater, task, queue.Submission(**sent), now=self.now)
        assert before == self.snapshot()

    @rule(who=raters, which=st.integers(0, 19))
    def an_old_form(self, who: int, which: int) -> None:
        rater = self.players[who].rater
        held = queue.held(rater)
        if held:
            before = self.snapshot()
            with pytest.raises(queue.Conflict):
                queue.save(
                    rater,
                    held[which % len(held)],
                    queue.Submission(reason="other", base_revision=999),
                    now=self.now,
                )
            assert before == self.snapshot()

    @rule(who=raters, which=st.integers(0, 19))
    def skip(self, who: int, which: int) -> None:
        player = self.players[who]
        held = queue.held(player.rater)
        if not held:
            return
        task, key = held[which % len(held)], uuid4()
        for _ in range(2):
            queue.skip(player.rater, task, client_key=key, now=self.now)
        after = queue.held(player.rater)
        if task.kind == "warm_up":
            assert [one for one in after if one.kind == "warm_up"][-1] == task
        else:
            assert task.token not in [one.token for one in after]
            player.acts.append(Act("skip", task.pair, key, self.stored(player.rater, task.pair)))

    @rule(who=raters)
    def undo(self, who: int) -> None:
        player = self.players[who]
        if not player.standing():
            assert queue.undo(player.rater, now=self.now) is None
            return
        self.take_back(player, player.standing()[-1], named=False)

    @rule(who=raters, back=st.integers(1, 24))
    def undo_by_key(self, who: int, back: int) -> None:
        player = self.players[who]
        if back > len(player.acts):
            assert queue.undo(player.rater, act=uuid4(), now=self.now) is None
            return
        act = player.acts[-back]
        if act not in player.standing()[-queue.ACTS_TO_UNDO :]:
            before = self.snapshot()
            assert queue.undo(player.rater, act=act.key, now=self.now) is None
            assert before == self.snapshot()
        else:
            self.take_back(player, act, named=True)

    def take_back(self, player: Player, act: Act, named: bool) -> None:
        rater, pair = player.rater, act.pair
        rows, gone = self.rows(pair.pk), pair.pk in self.retired()
        own = any(row.rater_id == rater.pk for row in rows)
        free = (not gone and any(self.is_free(row) for row in rows)) or self.is_gold(pair)
        later = [
            one for one in player.acts[player.acts.index(act) + 1 :] if one.pair == pair and one.kind == "save"
        ]
        later = [one for one in later if one.standing]
        now_said = self.stored(rater, pair)
        expected = now_said if act.kind != "save" or later else self.said_before(player, act)
        graded_again = act.kind == "save" and not later and expected and expected[0] is not None
        if graded_again and not own and not free:
            self.late[pair.pk] += 1
        keys = {"act": act.key if named else None, "client_key": uuid4()}
        task = queue.undo(rater, **keys, now=self.now)
        before = self.snapshot()
        assert queue.undo(rater, **keys, now=self.now).token == task.token
        assert before == self.snapshot()
        act.standing = False
        assert task.pair == pair
        assert self.stored(rater, pair) == expected
        if act.kind == "repeat" or (task.kind == "repeat" and act.kind == "skip"):
            # Nobody needs the repeat of a pair that was retired since, or became a warm-up.
            assert task not in queue.held(rater) if gone else queue.held(rater)[0] == task
        elif expected is None and not gone and (own or free):
            assert queue.held(rater)[0].pair == pair

    def said_before(self, player: Player, act: Act) -> tuple | None:
        """By the last standing act on the pair before this one; the model remembers what each changed."""
        earlier = [one for one in player.acts[: player.acts.index(act)] if one.pair == act.pair]
        events = (
            RatingEvent.objects.standing()
            .filter(rater=player.rater, pair=act.pair, kind__in=["grade", "cannot"])
            .exclude(client_key=act.key)
        )
        last = events.order_by("-pk").first()
        assert (last is not None) == any(one.kind == "save" and one.standing for one in earlier)
        return last and (last.value, last.reason, last.comment)

    @rule(who=raters)
    def stop(self, who: int) -> None:
        rater = self.players[who].rater
        leased = [row for row in self.rows() if row.state == "leased" and row.rater_id == rater.pk]
        assert queue.stop(rater) == len(leased)
        assert queue.held(self.players[who].rater) == []

    @rule(who=raters, goes_on=st.sampled_from([True, True, False]))
    def an_admin_stops_a_rater(self, who: int, goes_on: bool) -> None:
        rater = self.players[who].rater
        members.deactivate(rater)
        assert queue.held(rater) == [] and queue.claim(rater, 20, now=self.now) == []
        assert not any(row.state == "leased" and row.rater_id == rater.pk for row in self.rows())
        if goes_on:
            members.reactivate(rater)

    def said_elsewhere(self) -> dict[tuple[str, tuple[int, int]], tuple]:
        """What is said by those who graded elsewhere, by name and place."""
        given = Rating.objects.filter(rater__kind=Rater.Kind.IMPORTED)
        rows = given.values_list("rater__name", "query", "document", "grade__value", "reason", "comment")
        return {(name, (query, document)): tuple(said) for name, query, document, *said in rows}

    def settled(self, change: Callable[[], None]) -> None:
        """An import or its undoing: each grade of it fills its rater's place or a free one, each place without a
        grade is free again, and what was claimed stays."""
        free_before = Counter(row.pair_id for row in self.rows() if row.state == "open")
        done = {(row.pair_id, row.rater_id): row.extra for row in self.rows() if row.state == "done"}
        held = [row for row in self.rows() if row.state == "leased"]
        late_before = self.uncounted()
        graded_before = self.graded()
        change()
        assert [row for row in self.rows() if row.state == "leased"] == held, "an import took what was claimed"
        graded, gone, late = self.graded(), self.retired(), self.uncounted()
        for pair in {pair for pair, _ in graded ^ graded_before}:
            emptied = [place for place in done if place[0] == pair and place not in graded]
            free = free_before[pair] + (0 if pair in gone else sum(not done[place] for place in emptied))
            waiting = late_before[pair] + sum(
                (one in graded and one not in done) - (one in graded_before and one not in done)
                for one in graded ^ graded_before
                if one[0] == pair
            )
            assert late[pair] == max(0, waiting - free), "an import left a grade beside a free place, or took two"
            self.late[pair] += max(0, late[pair] - late_before[pair])

    @rule(
        names=st.sampled_from([ELSEWHERE[:1], ELSEWHERE[1:], ELSEWHERE]),
        place=places,
        values=st.lists(grades, min_size=1, max_size=6),
    )
    def grades_are_imported(self, names: tuple[str, ...], place: int, values: list[str | None]) -> None:
        """Also of pairs that nobody wanted, and again with other grades."""
        rows = []
        for name in names:
            for at, value in zip(self.places[place:], values, strict=False):
                said = (None, "unclear") if value is None else (self.grades[value].value,)
                rows.append(queue.ImportedRating(name, *at, *said))
        before = self.said_elsewhere()
        changing = queue.differing(self.collection, rows)
        keys = {(row.rater, (row.query_id, row.document_id)): row for row in rows}
        assert {(row.rater, (row.query_id, row.document_id)) for row in changing} == {
            key for key, row in keys.items() if before.get(key) != row[3:6]
        }
        job = Job.objects.create(collection=self.collection, kind=Job.Kind.RATINGS, state=Job.State.PUBLISHED)
        queue.stage(job, changing)
        self.settled(lambda: queue.record_staged(job, now=self.now))
        job.staged_ratings.all().delete()
        assert self.said_elsewhere() == before | {key: row[3:6] for key, row in keys.items()}
        changed = [(row.rater, (row.query_id, row.document_id)) for row in changing]
        self.imports.append(Brought(job, {key: before.get(key) for key in changed}))
        self.ask([], 0, 0)
        self.seen["grades imported"] += len(changing)

    @rule(back=st.integers(0, 3))
    def an_import_is_taken_back(self, back: int) -> None:
        if not self.imports:
            return
        which = len(self.imports) - 1 - back % len(self.imports)
        brought, before, against = self.imports[which], self.said_elsewhere(), []
        later = [one for one in self.imports[which + 1 :] if one.standing]
        self.settled(lambda: against.extend(undo_import(brought.job)))
        free = brought.standing and not any(one.before.keys() & brought.before.keys() for one in later)
        assert (not against) == free
        if free:
            said = before | brought.before
            assert self.said_elsewhere() == {key: what for key, what in said.items() if what is not None}
            brought.standing = False
            self.seen["imports taken back"] += 1

    @rule(place=places, value=grades, who=raters)
    def an_import_is_taken_back_at_once(self, place: int, value: str | None, who: int) -> None:
        """Or as soon as a rater has rated meanwhile."""
        self.grades_are_imported(ELSEWHERE[:1], place, [value])
        self.rate_what_is_held(who, "0", 0)
        self.an_import_is_taken_back(0)

    # What always holds

    @invariant()
    def a_step_is_counted(self) -> None:
        self.seen["steps"] += 1

    @invariant()
    def no_pair_is_above_or_below_its_quota(self) -> None:
        late, gone = self.uncounted(), self.retired()
        rows: dict[int, list[Row]] = {}
        for row in self.rows():
            rows.setdefault(row.pair_id, []).append(row)
        wanted = {pair: n for pair, _, n, _ in pairs_wanted()}
        for pair, n in wanted.items():
            own = [row for row in rows.get(pair, []) if not row.extra]
            if pair in gone:
                assert len(own) <= n and all(row.state == "done" for row in rows.get(pair, []))
                continue
            assert len(own) == n
            assert late[pair] <= self.late[pair], "a claim led to a grade too many"
            # A late grade waits for no open assignment: else a claim would ask for one grade too many.
            assert not (late[pair] and any(row.state == "open" for row in own))

    @invariant()
    def each_place_is_held_by_one_and_nobody_holds_too_much(self) -> None:
        taken = [(row.pair_id, row.rater_id) for row in self.rows() if row.rater_id]
        assert len(taken) == len(set(taken))
        done = {(row.pair_id, row.rater_id) for row in self.rows() if row.state == "done"}
        assert done <= self.graded()
        for player in self.players:
            assert len(queue.held(player.rater)) <= queue.MOST_HELD

    @invariant()
    def an_assignment_knows_its_pair(self) -> None:
        for collection, collection_of_pair, query, query_of_pair, number, drawn, extra in places_of_assignments():
            assert collection == collection_of_pair == self.collection.pk and query == query_of_pair
            assert extra or number == (drawn or UNDRAWN)

    @invariant()
    def what_is_said_can_be_rebuilt_from_the_events(self) -> None:
        said = {
            (pair, rater): (value, reason)
            for kind, pair, rater, value, reason, undone, _ in events()
            if kind in ("grade", "cannot", "import") and undone is None
        }
        assert said == {(pair, rater): (value, reason) for pair, rater, value, reason, *_ in ratings_given()}


# To make a failed game shorter takes longer than to play thousands of others: IDEALIST_QUEUE_SHRINK asks for it.
PHASES = [Phase.explicit, Phase.reuse, Phase.generate] + [Phase.shrink] * ("IDEALIST_QUEUE_SHRINK" in os.environ)


def play(games: int, *, the_same: bool) -> None:
    run_state_machine_as_test(
        Game,
        settings=settings(
            max_examples=games,
            stateful_step_count=STEPS_A_GAME,
            deadline=None,
            derandomize=the_same,
            suppress_health_check=list(HealthCheck),
            phases=PHASES,
        ),
    )


def test_the_queue_keeps_its_promises_in_any_order_of_acts(monkeypatch, capsys):
    monkeypatch.setattr(mixing, "ACTS_BEFORE_REPEAT", ACTS_BEFORE_REPEAT)
    monkeypatch.setattr(mixing, "PAIRS_BEFORE_REPEATS", ACTS_BEFORE_REPEAT + 2)
    Game.seen.clear()
    rare = ("gold beside what is wanted", "grades imported", "imports taken back")
    rare += ("rounds stored", "drawn before others", "withdrawn")
    asked = int(os.environ.get("IDEALIST_QUEUE_STEPS", "0"))
    if not asked:
        # The rules are the same on both databases. What only one of them could break shows in half as many steps.
        usual = STEPS if connection.vendor == "sqlite" else STEPS // 2
        play(usual // STEPS_A_GAME, the_same=True)
        # What games come to depends on ids, too, and so on the tests before: some more until all has happened.
        while not all(Game.seen[what] for what in rare) and Game.seen["steps"] < 5 * usual:
            play(2, the_same=False)
    while Game.seen["steps"] < asked:
        play(GAMES_AT_A_TIME, the_same=False)
        with capsys.disabled():
            print(dict(Game.seen), flush=True)

    assert all(Game.seen[what] for what in rare), dict(Game.seen)
