"""The log of rounds: stored once and whole, and taken out as rows."""

import csv
import io
import json
from math import expm1

import pytest
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from ratings.desk import queue
from ratings.formats import spreadsheet
from ratings.models import UNDRAWN, Assignment, Collection, Drawn, Pair, Round
from ratings.pool import rounds
from ratings.tests.cast import NOW, make_collection, make_pair, make_round

pytestmark = pytest.mark.django_db

RANDOM = {"kind": "random", "unit": 1, "key": 0.5, "rate": 0.5, "within": 1.0}


@pytest.fixture
def collection() -> Collection:
    return make_collection(documents=["a", "=b", "c", "d"])


def new_round(number: int, **facts) -> Round:
    usual = {"method": "1", "seed": -3, "threshold": 0.5, "precision": 1.0, "frame": 9, "judged": 4, "version": 2}
    return Round(number=number, aim={}, seen={}, **usual | facts)


def drawn(*pairs: Pair, **facts) -> list[Drawn]:
    return [Drawn(pair_id=pair.pk, chances=[], **RANDOM | facts) for pair in pairs]


def log(raw: bool = False) -> list[dict]:
    """The rows of the file."""
    lines = spreadsheet.written(rounds.table(Collection.objects.get()), raw=raw)
    return list(csv.DictReader(io.StringIO("".join(lines), newline="")))


# Stored


def test_what_is_drawn_gets_its_round_and_the_rest_none(collection):
    first, second = make_pair(collection, "q1", "a", wanted=2), make_pair(collection, "q1", "c")
    made = queue.store_round(collection, new_round(1), drawn(first), now=NOW)
    assert (made.number, made.seed, made.created_at) == (1, -3, NOW)
    assert [(each.pair, each.place, each.born) for each in made.drawn.all()] == [(first, 1, 0)]
    found = Assignment.objects.order_by("pk").values_list("pair", "round")
    assert list(found) == [(first.pk, 1), (first.pk, 1), (second.pk, UNDRAWN)]


def test_of_two_workers_one_stores_the_round(collection):
    first, second = make_pair(collection, "q1", "a"), make_pair(collection, "q1", "c")
    assert queue.store_round(collection, new_round(1), drawn(first))
    assert queue.store_round(collection, new_round(1), drawn(second)) is None
    assert list(Drawn.objects.values_list("pair", flat=True)) == [first.pk]
    assert Assignment.objects.get(pair=second).round == UNDRAWN


def test_a_round_that_was_overtaken_is_not_stored(collection):
    first, second = make_pair(collection, "q1", "a"), make_pair(collection, "q1", "c")
    queue.store_round(collection, new_round(1), drawn(first))
    assert queue.store_round(collection, new_round(2), drawn(second, first)) is None
    [gone] = drawn(second)
    gone.pair_id = second.pk + 1
    assert queue.store_round(collection, new_round(2), [*drawn(second), gone]) is None
    assert Round.objects.count() == Drawn.objects.count() == 1
    assert Assignment.objects.get(pair=second).round == UNDRAWN


@pytest.mark.parametrize(
    "facts",
    [
        {"unit": None},
        {"key": -0.5},
        {"rate": 0.0},
        {"within": 1.5},
        {"kind": "greedy"},
    ],
    ids=str,
)
def test_a_chance_that_cannot_be_is_an_error_and_nothing_is_stored(collection, facts):
    with pytest.raises(IntegrityError):
        queue.store_round(collection, new_round(1), drawn(make_pair(collection), **facts))
    assert not Round.objects.exists()


def test_nobody_changes_or_deletes_what_is_stored(collection):
    made = make_round(collection, [make_pair(collection)])
    for rows in (Round.objects.all(), Drawn.objects.all()):
        with pytest.raises(TypeError, match="never changed"):
            rows.update(pk=1)
        with pytest.raises(TypeError, match="never deleted"):
            rows.delete()
    for row in (made, made.drawn.get()):
        with pytest.raises(TypeError, match="never changed"):
            row.save()
        with pytest.raises(TypeError, match="never deleted"):
            row.delete()
    with pytest.raises(IntegrityError), transaction.atomic():
        made.drawn.get().pair.delete()


# Taken out


def test_a_row_has_all_of_a_drawn_pair_and_of_its_round(collection):
    collection.queries.filter(key="q1").update(key="-q1")
    pairs = [make_pair(collection, "-q1", "=b"), make_pair(collection, "q2", "c")]
    make_round(collection, pairs, greedy=1)
    greedy, random = log()
    shared = {
        "round": "1",
        "method": "1",
        "seed": "17",
        "measure": "nDCG@10",
        "options": "{}",
        "systems": "[]",
        "gains": "[0, 1, 2]",
        "threshold": "0.25",
        "precision": "2.5",
        "frame": "2",
        "judged": "0",
        "version": str(collection.version),
        "drawn_at": "2026-03-02T09:00:00+00:00",
        "born": "0",
        "predicted": "[0.5, 0.25]",
        "machines": "[]",
        "triage": "[]",
    }
    empty = dict.fromkeys(("unit", "key", "rate", "within"), "")
    known = {"query": "'-q1", "document": "'=b", "place": "1", "kind": "greedy", "chance": "1.0"}
    assert greedy == shared | empty | known
    chance = repr(-expm1(-0.5 * 0.25) * 0.75)  # 1 - exp(-0.125) to the last digit
    known = {"query": "q2", "document": "c", "place": "2", "kind": "random", "chance": chance}
    assert random == shared | known | {"unit": "1", "key": "0.125", "rate": "0.5", "within": "0.75"}
    assert [row["query"] for row in log(raw=True)] == ["-q1", "q2"]


def test_where_all_units_were_drawn_the_chance_is_that_within_them(collection):
    new = new_round(1, threshold=None)
    queue.store_round(collection, new, drawn(make_pair(collection), within=0.25))
    (row,) = log()
    assert (row["threshold"], row["chance"]) == ("", "0.25")


def test_rounds_follow_each_other_and_late_pairs_are_born_late(collection):
    make_round(collection, [make_pair(collection, "q2", "d"), make_pair(collection, "q1", "a")])
    make_round(collection, [make_pair(collection, "q1", "c")])
    assert [(row["round"], row["place"], row["document"], row["born"]) for row in log()] == [
        ("1", "1", "d", "0"),
        ("1", "2", "a", "0"),
        ("2", "1", "c", "1"),
    ]


def test_whatever_an_aim_holds_no_spreadsheet_computes_it(collection):
    """An archive brings any object."""
    made = make_round(collection, [make_pair(collection)])
    aim = {"measure": ";=1+1", "options": ["=1"], "gains": 7}
    QuerySet(Round).filter(pk=made.pk).update(aim=aim)
    (row,) = log()
    assert (row["measure"], row["options"], row["systems"], row["gains"]) == ("';'=1+1", '["=1"]', "", "7")
    assert json.loads(row["options"]) == ["=1"]


def test_a_collection_without_rounds_has_the_header_alone(collection):
    assert log() == []


def test_the_log_takes_a_query_a_round_whatever_its_length(collection, django_assert_num_queries):
    make_round(collection, [make_pair(collection, "q1", "a")])
    make_round(collection, [make_pair(collection, "q1", document) for document in ("=b", "c", "d")])
    with django_assert_num_queries(3):
        list(rounds.table(collection))
