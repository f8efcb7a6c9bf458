"""What is kept about a person: whole in the export, and nowhere after the erasure."""

import json
from copy import deepcopy

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Q
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratings.copies import person
from ratings.copies import rows as record_rows
from ratings.desk import queue
from ratings.formats.registry import BY_NAME
from ratings.models import AuditEvent, Check, Collection, Job, Rater, Rating, RatingEvent, Role
from ratings.people import erasure, members
from ratings.people.audit import Act
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import (
    NOW,
    Imported,
    grade,
    make_collection,
    make_member,
    make_pair,
    make_rater,
    record_imported,
)

pytestmark = pytest.mark.django_db

NAME, MAIL, REAL = "quirinus", "quirinus@example.org", "Quirin Adalbert"


class World:
    """A rater with a name that is nowhere else, who did everything that a rater can do."""

    def __init__(self) -> None:
        self.collection = make_collection()
        self.dora = make_member(self.collection, "dora", Role.ADMIN)
        names = [f"{REAL} <{MAIL}>", MAIL]
        made = members.invite(self.collection, names, role=Role.RATER, days=7, by=self.dora)
        members.withdraw(made[1][0])
        user = members.sign_up(made[0][0], NAME, "a pass phrase")
        user.email, (user.first_name, user.last_name) = MAIL, REAL.split()
        user.save()
        self.rater = Rater.objects.select_related("user", "collection").get(user=user)
        self.pairs = [make_pair(self.collection, "q1", document) for document in "abcd"]
        two = grade(self.collection, "2")
        self.act(0, grade=two, comment="as I wrote in my blog")
        self.act(1, reason="language")
        self.act(2, grade=two)
        queue.undo(self.rater)
        adjudicate(self.pairs[0], two, reason="clear", actor=self.dora)

    def act(self, place: int, **sent) -> None:
        claimed = {task.pair: task for task in queue.claim(self.rater, 20)}
        queue.save(self.rater, claimed[self.pairs[place]], queue.Submission(**sent))


@pytest.fixture(scope="module")
def built(standing) -> World:
    return World()


@pytest.fixture
def world(built) -> World:
    return deepcopy(built)


def everything() -> str:
    """Every row of every table, and the export of the ratings."""
    rows = {model._meta.label: list(model.objects.values()) for model in apps.get_models()}
    lines = list(record_rows.ratings(Collection.objects.first(), BY_NAME["csv"]))
    return (repr(rows) + repr(lines)).casefold()


def download(user) -> dict:
    return json.loads("".join(person.export(user)))


# Export


def test_the_export_is_one_json_document_with_all_that_is_kept(world):
    data = download(world.rater.user)
    assert data["account"]["username"] == NAME
    assert data["account"]["email"] == MAIL
    assert data["memberships"] == [{"collection": "Hills", "role": "rater"}]
    assert data["invitations"][0]["name"] == f"{REAL} <{MAIL}>"
    assert data["raters"][0]["name"] == NAME
    assert [(r["grade"], r["reason"], r["comment"]) for r in data["ratings"]] == [
        ("2", "", "as I wrote in my blog"),
        (None, "language", ""),
    ]
    assert [event["kind"] for event in data["events"]] == ["grade", "cannot", "grade", "undo"]
    assert data["events"][0]["document"] == "Title a"
    assert data["events"][0]["query"] == "text of q1"
    assert data["adjudications"] == []


def test_the_export_holds_nothing_of_others_and_nothing_that_a_rater_must_not_know(world):
    world.collection.queries.filter(key="q1").update(key="canary-query")
    world.collection.documents.filter(key="a").update(key="canary-document")
    boris = make_rater(world.collection, "canary-boris")
    pair = make_pair(world.collection, "canary-query", "canary-document", wanted=3)
    task = next(task for task in queue.claim(boris, 20) if task.pair == pair)
    queue.save(boris, task, queue.Submission(grade=grade(world.collection, "-1"), comment="canary-comment"))
    text = json.dumps(download(world.rater.user))
    assert "canary" not in text
    assert "dora" not in text


def test_a_pair_that_came_again_is_told_as_the_rating_that_it_was_to_the_rater(world):
    """The export must not teach a rater which pairs were put before them to see whether they say the same."""
    event = RatingEvent.objects.create(
        rater=world.rater,
        pair=world.pairs[0],
        kind="repeat",
        value=grade(world.collection, "1").value,
        scale_version=1,
        created_at=NOW,
    )
    facts = {"rater": world.rater, "pair": world.pairs[0], "kind": "repeat", "created_at": NOW}
    check = Check.objects.create(**facts, event=event)
    data = download(world.rater.user)
    assert data["events"][-1]["kind"] == "grade"
    assert data["events"][-1]["token"] == str(check.token)
    assert "repeat" not in json.dumps(data)


def test_of_a_file_that_cannot_be_made_nothing_is_sent(world, monkeypatch):
    client = Client(raise_request_exception=False)
    client.force_login(world.rater.user)

    def breaks(*asked):
        yield {"id": 1}
        raise RuntimeError("in the middle")

    monkeypatch.setattr("ratings.copies.person.in_pieces", breaks)
    response = client.get(reverse("my_data"))
    assert response.status_code == 500 and "Content-Disposition" not in response


def test_the_page_gives_a_file_to_who_asks_and_to_no_one_else(world):
    client = Client()
    client.force_login(world.rater.user)
    response = client.get(reverse("my_data"))
    assert response.streaming
    assert response["Content-Disposition"] == 'attachment; filename="my-data.json"'
    assert "no-store" in response["Cache-Control"]
    assert json.loads(b"".join(response.streaming_content))["account"]["username"] == NAME
    client.force_login(world.dora)
    assert NAME not in b"".join(client.get(reverse("my_data")).streaming_content).decode()


def test_the_number_of_queries_does_not_grow_with_the_ratings(world):
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            download(world.rater.user)
        return len(captured)

    before = count()
    for document in "cd":
        world.act("abcd".index(document), grade=grade(world.collection, "1"))
    assert count() == before


# Erasure


def test_afterwards_no_table_and_no_export_knows_name_or_address(world):
    before = everything()
    for known in (NAME, MAIL, "quirin", "adalbert"):
        assert known in before  # else the test would prove nothing
    pseudonym = erasure.erase(world.rater)
    after = everything()
    for known in (NAME, MAIL, "quirin", "adalbert"):
        assert known not in after
    assert pseudonym in after
    assert not get_user_model().objects.exclude(username="dora").exists()


def test_what_imports_tell_and_remember_loses_the_name(world):
    """A table with a column for each rater is called by them, and its header is remembered."""
    facts = {"kind": "ratings", "files": [{"name": f"{NAME}.csv"}], "header": ["query", NAME]}
    facts |= {"options": {"columns": {"query": "query", "raters": [NAME]}}}
    facts |= {"report": {"facts": [f"{NAME}: 2 new."]}}
    job = Job.objects.create(collection=world.collection, **facts)
    pseudonym = erasure.erase(world.rater)
    assert NAME not in everything()
    job.refresh_from_db()
    assert job.header == ["query", pseudonym] and job.options["columns"]["raters"] == [pseudonym]
    assert job.options["columns"]["query"] == "query" and job.report == {"facts": [f"{pseudonym}: 2 new."]}


@pytest.mark.parametrize("elsewhere", [False, True])
def test_who_erases_themselves_and_had_their_data_is_in_no_event(world, elsewhere):
    """Else one event would tell who the pseudonym is. An account that is needed elsewhere stays, but not here."""
    user = world.rater.user
    members.set_role(world.collection.memberships.get(user=user), Role.ADMIN)
    if elsewhere:
        make_member(make_collection("sea"), NAME, Role.ANALYST)
    client = Client()
    client.force_login(user)
    b"".join(client.get(reverse("my_data")).streaming_content)
    page = reverse("erase_rater", args=["hills", world.rater.pk])
    client.post(page, {"name": world.rater.name})
    pseudonym = Rater.objects.get(pk=world.rater.pk).name
    here = AuditEvent.objects.filter(Q(collection=world.collection.pk) | Q(about__contains=pseudonym))
    assert here.filter(act=Act.ERASED, about=pseudonym, name=pseudonym, account=None).exists()
    told = json.dumps(list((AuditEvent.objects.all() if not elsewhere else here).values()), default=str)
    assert NAME not in told


def test_ratings_and_events_stay_as_they_were_but_for_who(world):
    facts = ["pair", "kind", "value", "reason", "comment", "created_at", "undoes"]
    events = list(RatingEvent.objects.order_by("pk").values_list(*facts))
    ratings = list(Rating.objects.order_by("pk").values())
    version = Collection.objects.get().version
    pseudonym = erasure.erase(world.rater)
    assert list(RatingEvent.objects.order_by("pk").values_list(*facts)) == events
    assert list(Rating.objects.order_by("pk").values()) == ratings
    assert Rater.objects.get(pk=world.rater.pk).name == pseudonym
    assert Collection.objects.get().version == version  # no number has changed
    assert not RatingEvent.objects.filter(rater=world.rater).exclude(actor=None).exists()
    # What somebody else did keeps who did it.
    assert RatingEvent.objects.get(kind="adjudicate").actor == world.dora


def test_comments_go_where_that_is_asked_for(world):
    erasure.erase(world.rater, comments=True)
    assert "blog" not in everything()
    assert RatingEvent.objects.get(kind="adjudicate").comment == "clear"


def test_what_an_erased_admin_imported_for_others_keeps_its_words(world):
    """They acted for another rater: the event forgets them, and keeps what that rater wrote."""
    members.set_role(world.collection.memberships.get(user=world.rater.user), Role.ADMIN)
    other = Rater.objects.create(collection=world.collection, name="imported", kind="imported")
    pair = world.pairs[3]
    row = Imported(pair.query_id, pair.document_id, grade(world.collection, "1"), comment="theirs")
    record_imported(other, [row], actor=world.rater.user, at=NOW)
    erasure.erase(world.rater, comments=True)
    event = RatingEvent.objects.get(rater=other)
    assert (event.actor, event.comment) == (None, "theirs")


def test_an_account_that_another_collection_needs_stays_and_so_does_what_it_did_there(world):
    sea = make_collection("sea")
    there = make_rater(sea, NAME)
    queue.save(there, queue_one(there), queue.Submission(grade=grade(sea, "1")))
    erasure.erase(world.rater)
    user = get_user_model().objects.get(username=NAME)
    assert list(user.memberships.values_list("collection__slug", "role")) == [("sea", "rater")]
    assert RatingEvent.objects.get(rater=there).actor == user
    assert not Rater.objects.filter(collection=world.collection, user=user).exists()
    assert not RatingEvent.objects.filter(pair__query__collection=world.collection, actor=user).exists()


def queue_one(rater: Rater):
    make_pair(rater.collection)
    return queue.claim(rater)[0]


def test_a_deleted_account_leaves_no_name_in_a_collection_that_the_person_had_left(world):
    sea = make_collection("sea")
    make_member(sea, "sam", Role.ADMIN)
    (invitation, _), _ = members.invite(sea, [f"{REAL} <{MAIL}>", "Ann"], role=Role.ANALYST, days=7, by=world.dora)
    members.remove(members.accept(invitation, world.rater.user))
    pseudonym = erasure.erase(world.rater)
    for known in (NAME, MAIL, "quirin", "adalbert"):
        assert known not in everything()
    assert set(sea.invitations.values_list("name", flat=True)) == {"", "Ann"}
    invited = AuditEvent.objects.filter(collection=sea.pk, act=Act.INVITED)
    assert set(invited.values_list("about", flat=True)) == {pseudonym, "Ann"}


def test_the_erased_holds_nothing_and_gets_nothing_more(world):
    queue.claim(world.rater, 20)
    erasure.erase(world.rater)
    rater = Rater.objects.get(pk=world.rater.pk)
    assert not rater.active
    assert not rater.assignments.filter(state="leased").exists()


def test_the_last_admin_is_not_erased_and_nothing_of_them(world):
    members.set_role(world.collection.memberships.get(user=world.rater.user), Role.ADMIN)
    members.remove(world.collection.memberships.get(user=world.dora))
    with pytest.raises(members.LastAdmin):
        erasure.erase(world.rater)
    assert Rater.objects.get(pk=world.rater.pk).name == NAME


def test_the_name_of_somebody_else_that_begins_alike_stays(world):
    longer, _ = members.invite(world.collection, ["quirinusson"], role=Role.RATER, days=7, by=world.dora)[0]
    erasure.erase(world.rater)
    longer.refresh_from_db()
    assert longer.name == "quirinusson"


def test_events_have_no_other_door(world):
    with pytest.raises(TypeError):
        RatingEvent.objects.filter(rater=world.rater).update(actor=None)
    with pytest.raises(TypeError):
        RatingEvent.objects.filter(rater=world.rater).delete()
