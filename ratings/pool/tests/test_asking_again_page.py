"""The page that asks again for the ratings of a query, a document, a pair or a rater, and takes that back."""

import pytest
from django.urls import reverse

from ratings.models import AuditEvent, Rater, Rating, Role
from ratings.people.erasure import erase
from ratings.pool import adjudication
from ratings.tests.cast import (
    NOW,
    Imported,
    grade,
    make_collection,
    make_member,
    make_rated_pair,
    make_rater,
    record_imported,
    signed_in,
    text,
)

pytestmark = pytest.mark.django_db


class World:
    def __init__(self) -> None:
        self.pair, self.rater = make_rated_pair("alice")
        self.collection = self.rater.collection
        self.admin = make_member(self.collection, "dora", Role.ADMIN)
        self.client = signed_in(self.admin)
        self.scopes = {
            "query": self.pair.query_id,
            "document": self.pair.document_id,
            "pair": self.pair.token,
            "rater": self.rater.pk,
        }

    def get(self, **asked):
        return self.client.get(reverse("ask_again", args=["hills"]), asked)

    def post(self, name: str, **sent):
        return self.client.post(reverse(name, args=["hills"]), sent)

    @property
    def acts(self) -> list[tuple]:
        return list(AuditEvent.objects.order_by("pk").values_list("act", "about", "detail"))


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("kind", ["query", "document", "pair", "rater"])
def test_one_act_asks_again_and_one_takes_it_back(world, kind):
    sent = {kind: world.scopes[kind]}
    about = {"query": "query q1", "document": "document a", "pair": "q1 and a", "rater": "alice"}[kind]
    preview = world.get(**sent).context["scope"]
    assert (preview.wanted_from_anybody, preview.wanted_from_others, preview.asked) == (1, 1, 0)
    answer = world.post("ask_raters_again", who="anybody", **sent)
    assert not Rating.objects.exists()
    after = world.client.get(answer.url).context["scope"]
    assert (after.wanted_from_anybody, after.asked) == (0, 1)
    world.post("take_back_asking", **sent)
    assert Rating.objects.counted().get().grade.value == 2
    assert world.acts[-2:] == [
        ("pool.asked_again", about, {"ratings": 1, "of_others": False}),
        ("pool.asking_back", about, {"ratings": 1}),
    ]


def test_others_alone_are_asked(world):
    world.post("ask_raters_again", who="others", pair=world.pair.token)
    assert Rating.objects.get().set_aside_at
    assert not Rating.objects.counted().exists()
    assert world.acts[-1][2] == {"ratings": 1, "of_others": True}


def test_what_changes_nothing_is_not_noted(world):
    world.post("take_back_asking", rater=world.rater.pk)
    world.post("ask_raters_again", rater=world.rater.pk)
    before = world.acts
    world.post("ask_raters_again", rater=world.rater.pk)
    assert world.acts == before


def test_a_decision_stays_and_the_page_counts_it(world):
    adjudication.adjudicate(world.pair, grade(world.collection, "3"), reason="", actor=world.admin)
    assert world.get(pair=world.pair.token).context["scope"].decided == 1
    world.post("ask_raters_again", pair=world.pair.token)
    assert world.pair.adjudication.grade.value == 3


def test_without_a_name_it_leads_to_the_pool(world):
    assert world.get().url == reverse("pool", args=["hills"])
    assert world.post("ask_raters_again").status_code == 404


@pytest.mark.parametrize("sent", [{"query": "x"}, {"pair": "x"}, {"query": 0}, {"other": 1}])
def test_what_names_nothing_is_not_found(world, sent):
    assert world.get(**sent).status_code == 404
    assert world.post("ask_raters_again", **sent).status_code == 404


def test_two_names_at_once_and_rows_of_another_collection_are_not_found(world):
    assert world.get(query=world.pair.query_id, rater=world.rater.pk).status_code == 404
    other = make_collection("sea")
    foreign = {
        "query": other.queries.first().pk,
        "document": other.documents.first().pk,
        "rater": make_rater(other, "otto").pk,
    }
    for kind, pk in foreign.items():
        assert world.get(**{kind: pk}).status_code == 404
        assert world.post("ask_raters_again", **{kind: pk}).status_code == 404


@pytest.mark.parametrize("kind, page", [("query", "query"), ("document", "document"), ("rater", "rater")])
def test_pages_lead_to_it(world, kind, page):
    shown = world.client.get(reverse(page, args=["hills", world.scopes[kind]])).content.decode()
    assert f"{reverse('ask_again', args=['hills'])}?{kind}={world.scopes[kind]}" in shown


def test_the_history_of_a_pair_says_who_asked_and_for_what(world):
    world.post("ask_raters_again", pair=world.pair.token)
    shown = text(world.client.get(reverse("pair_life", args=["hills", world.pair.token])))
    assert "asked again 1 by dora" in shown


def test_a_collection_that_is_put_away_asks_nobody(world):
    world.client.post(reverse("put_away", args=["hills"]))
    assert "ask-again/raters" not in world.get(pair=world.pair.token).content.decode()
    world.post("ask_raters_again", pair=world.pair.token)
    assert Rating.objects.exists()


def test_an_erasure_finds_the_name_in_the_audit(world):
    world.post("ask_raters_again", rater=world.rater.pk)
    erase(world.rater)
    assert "alice" not in [about for _, about, _ in world.acts]


@pytest.mark.parametrize("imported", [False, True])
def test_what_an_admin_asks_and_takes_back_is_no_work_of_the_rater(world, imported):
    if imported:
        world.rater = Rater.objects.create(collection=world.collection, name="file", kind="imported")
        row = Imported(world.pair.query_id, world.pair.document_id, grade(world.collection, "2"), at=NOW)
        record_imported(world.rater, [row])

    def last() -> set:
        people = world.client.get(reverse("people", args=["hills"])).context["people"]
        at_work = {person.last_act for person in people if person.rater == world.rater}
        return at_work | {world.client.get(reverse("rater", args=["hills", world.rater.pk])).context["work"].last}

    before = last()
    assert None not in before
    world.post("ask_raters_again", rater=world.rater.pk)
    assert last() == before
    world.post("take_back_asking", rater=world.rater.pk)
    assert last() == before
