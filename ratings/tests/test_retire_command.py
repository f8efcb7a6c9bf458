"""The command `retire`."""

import pytest
from django.core.management import call_command

from ratings import queue
from ratings.audit import Act
from ratings.management.commands._collection_command import Refused
from ratings.models import Assignment, AuditEvent, Pair
from ratings.pool.anchors import set_anchor

from .cast import grade, make_collection, make_pair

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection():
    collection = make_collection()
    for query, document in [("q1", "a"), ("q1", "b"), ("q2", "a")]:
        make_pair(collection, query, document, wanted=2)
    return collection


def retired() -> list[tuple[str, str]]:
    pairs = Pair.objects.filter(retired_at__isnull=False)
    return sorted(pairs.values_list("query__key", "document__key"))


def test_a_pair_or_a_query_is_retired_and_brought_back(collection, capsys):
    call_command("retire", "hills", "q1", "a")
    assert retired() == [("q1", "a")]
    call_command("retire", "hills", "q1")
    call_command("retire", "hills", "q1")
    assert retired() == [("q1", "a"), ("q1", "b")]
    call_command("retire", "hills", "q1", "b", "--back")
    assert retired() == [("q1", "a")]
    call_command("retire", "hills", "q1", "b", "--back")
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "1 pair retired.",
        "1 pair retired.",
        "0 pairs retired.",
        "1 pair brought back.",
        "0 pairs brought back.",
    ]
    assert Assignment.objects.count() == 4
    noted = AuditEvent.objects.order_by("pk").values_list("act", "detail__pairs")
    assert list(noted) == [(Act.RETIRED, 1), (Act.RETIRED, 1), (Act.BROUGHT_BACK, 1)]  # what changed something


def test_a_warm_up_is_not_brought_back(collection):
    pair = Pair.objects.get(query__key="q2")
    set_anchor(pair, use="warm_up", grade=grade(collection, "3"), explanation="Clear.")
    call_command("retire", "hills", "q2", "--back")
    assert retired() == [("q2", "a")]
    queue.unretire([pair.pk])  # what the command would do without the guard
    assert retired() == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("hills", "q7"), "hills has no query 'q7'"),
        (("hills", "q1", "z"), "hills has no document 'z'"),
        (("sea", "q1"), "There is no collection 'sea'"),
    ],
)
def test_what_is_not_there_is_refused(collection, given, said):
    with pytest.raises(Refused, match=said):
        call_command("retire", *given)
    assert retired() == []
