"""What the desk's script is answered: a status and a few fields, each of them meant."""

from uuid import UUID, uuid4

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from ratings.desk import queue
from ratings.desk.content import query_token
from ratings.models import Anchor, Rating, RatingEvent, Role
from ratings.people.access import account_key
from ratings.pool.anchors import set_anchor
from ratings.tests.cast import grade, make_collection, make_pair, make_rater

pytestmark = pytest.mark.django_db

TASK = {"token", "query", "document", "presentation", "own", "base_revision", "comment", "warm_up"}


@pytest.fixture
def collection():
    return make_collection()


@pytest.fixture
def alice(collection):
    return make_rater(collection, "alice")


@pytest.fixture
def client(alice):
    client = Client(headers={"Accept": "application/json"})
    client.force_login(alice.user)
    return client


def address(name: str, *arguments) -> str:
    return reverse(name, args=["hills", *arguments])


def claimed(client, count: int = 3, **sent) -> dict:
    return client.post(address("claim"), {"count": count, **sent}).json()


def save(client, token, **sent):
    key = sent.pop("client_key", None) or uuid4()
    return client.post(
        address("save_rating", token), {"grade": "2", "base_revision": "0", "client_key": key, **sent}
    )


def test_a_claim_answers_tasks_field_by_field(client, collection):
    pairs = [make_pair(collection, "q1", document) for document in "abc"]
    answer = claimed(client, outlook="1")
    assert set(answer) == {"tasks", "order", "outlook", "guidelines", "scale"}
    assert set(answer["outlook"]) == {"queries", "done", "total", "more", "left", "words"}
    assert [set(task) for task in answer["tasks"]] == [TASK] * len(answer["tasks"])
    task = next(t for t in answer["tasks"] if t["token"] == str(pairs[0].token))
    assert task == {
        "token": str(pairs[0].token),
        "query": {
            "token": query_token(collection.raters.get().pk, pairs[0].query_id),
            "text": "text of q1",
            "need": "need of q1",
            "html": "",
        },
        "document": {
            "title": "Title a",
            "html": '<div class="part of-text"><div dir="auto"><p>First of a.</p>\n\n<p>Second.</p></div></div>',
            "long": False,
        },
        "presentation": 0,
        "own": None,
        "base_revision": 0,
        "comment": "",
        "warm_up": False,
    }


def test_a_claim_sends_only_texts_that_are_not_there_yet(client, collection):
    for document in "abc":
        make_pair(collection, "q1", document)
    first = claimed(client)
    again = claimed(client, have=" ".join(first["order"][:2]))
    assert again["order"] == first["order"]
    assert [task["token"] for task in again["tasks"]] == first["order"][2:]


def test_a_save_answers_what_the_next_one_stands_on(client, collection):
    make_pair(collection)
    token, key = claimed(client)["order"][0], uuid4()
    answer = save(client, token, client_key=key)
    assert answer.json() == {"key": str(key), "revision": 1, "said": "", "warm_up": None}
    assert save(client, token, client_key=key).json() == answer.json()  # a retry is the same save
    assert Rating.objects.get().revision == 1
    assert RatingEvent.objects.filter(client_key=key).count() == 1


def test_a_save_that_makes_no_sense_is_explained(client, collection):
    make_pair(collection)
    token = claimed(client)["order"][0]
    refused = save(client, token, grade="7")
    assert refused.status_code == 400
    assert refused.json() == {"error": "The scale has no grade 7. Choose one of the buttons.", "scale": 1}
    assert not Rating.objects.exists()


@pytest.mark.parametrize(("sent", "kept"), [({"scale": "2"}, 2), ({"scale": "9"}, 3), ({}, 3)])
def test_an_event_has_the_version_of_the_scale_that_the_page_showed(client, collection, sent, kept):
    make_pair(collection)
    type(collection).objects.update(scale_version=3)
    answer = claimed(client)
    assert answer["scale"] == 3
    save(client, answer["order"][0], **sent)
    assert RatingEvent.objects.get().scale_version == kept


def test_who_rates_there_no_longer_is_told_from_who_lacks_one_document(client, collection, alice):
    make_pair(collection)
    token = claimed(client)["order"][0]
    assert save(client, uuid4()).json()["closed"] is False
    alice.user.memberships.all().delete()
    assert (save(client, token).status_code, save(client, token).json()["closed"]) == (404, True)


def test_a_conflict_answers_what_is_stored(client, collection, alice):
    pair = make_pair(collection)
    token = claimed(client)["order"][0]
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "0")))
    refused = save(client, token)
    assert refused.status_code == 409
    assert refused.json()["current"] == {"grade": "0", "reason": "", "comment": ""}
    assert refused.json()["revision"] == 1
    assert Rating.objects.get().grade == grade(collection, "0")


def test_a_key_of_another_act_is_refused_with_the_reason(client, collection):
    for document in "ab":
        make_pair(collection, "q1", document)
    (first, second), key = claimed(client)["order"], uuid4()
    save(client, first, client_key=key)
    skipped = client.post(address("skip_pair", second), {"client_key": key})
    undone = client.post(address("undo_rating"), {"client_key": key})
    for refused in (save(client, second, client_key=key), skipped, undone):
        assert refused.status_code == 400
        assert "was not saved" in refused.json()["error"]
    assert str(Rating.objects.get().pair.token) == first


def test_a_document_that_was_never_given_is_not_there(client, collection):
    pair = make_pair(collection)
    refused = save(client, pair.token)
    assert refused.status_code == 404
    assert "never assigned" in refused.json()["error"]


def test_late_work_is_kept_like_any_other(client, collection, alice):
    pair = make_pair(collection, wanted=1)
    token = claimed(client)["order"][0]
    other = make_rater(collection, "boris")
    queue.stop(alice)
    queue.claim(other)
    queue.save(other, pair, queue.Submission(grade=grade(collection, "0")))
    # Of gold that is beside what is wanted it would be so each time: it is not told.
    assert save(client, token).json()["said"] == ""
    assert Rating.objects.count() == 2


@pytest.mark.both_databases
def test_skip_and_undo_answer_their_key(client, collection):
    for document in "ab":
        make_pair(collection, "q1", document)
    token, key = claimed(client)["order"][0], uuid4()
    assert client.post(address("skip_pair", token), {"client_key": key}).json() == {"key": str(key)}
    again = uuid4()
    undone = client.post(address("undo_rating"), {"act": key, "client_key": again}).json()
    assert undone["key"] == str(again)
    assert undone["task"]["token"] == token
    assert undone["revision"] == 0


def test_undo_by_key_takes_back_the_act_that_was_meant(client, collection):
    for document in "abc":
        make_pair(collection, "q1", document)
    tokens, keys = claimed(client)["order"], [uuid4() for _ in range(2)]
    for token, key in zip(tokens, keys, strict=False):
        save(client, token, client_key=key)
    undone = client.post(address("undo_rating"), {"act": keys[0], "client_key": uuid4()}).json()
    assert undone["task"]["token"] == tokens[0]
    assert [str(rating.pair.token) for rating in Rating.objects.all()] == [tokens[1]]
    # What is undone already, or was never done, is nothing to undo; no other act is taken instead.
    for act in (keys[0], uuid4()):
        nothing = client.post(address("undo_rating"), {"act": act, "client_key": uuid4()}).json()
        assert nothing["task"] is None
    assert Rating.objects.count() == 1


@pytest.mark.both_databases
def test_a_warm_up_tells_the_known_grade_after_the_answer_and_not_before(client, collection):
    pair = make_pair(collection)
    anchor(pair, collection)
    answer = claimed(client)
    assert answer["tasks"][0]["warm_up"] is True
    assert "explained" not in str(answer)
    told = save(client, answer["order"][0], grade="1").json()["warm_up"]
    assert told == {"grade": "3", "reason": "", "explanation": "explained"}


def anchor(pair, collection) -> Anchor:
    return set_anchor(pair, use=Anchor.Use.WARM_UP, grade=grade(collection, "3"), explanation="explained")


def test_a_warm_up_has_a_number_that_it_keeps_when_it_is_answered(collection, alice):
    for document in "ab":
        anchor(make_pair(collection, "q1", document), collection)
    browser = Client()
    browser.force_login(alice.user)
    for number, left in ((1, 1), (2, 0)):
        page = browser.post(address("claim"), follow=True)
        assert (page.context["place"], page.context["warm_ups"]) == (number, 2)
        token = page.context["token"]
        told = browser.post(address("save_rating", token), {"grade": "1", "base_revision": "0"})
        assert told.context["left"] == left
    page = browser.get(address("rate_pair", token))
    assert (page.context["place"], page.context["warm_ups"]) == (2, 2)


def test_signed_out_is_told_and_not_redirected(collection):
    answer = Client(headers={"Accept": "application/json"}).post(address("claim"), {"count": 1})
    assert (answer.status_code, answer.json()) == (401, {"error": "Nobody is signed in."})


def test_a_page_of_somebody_else_does_nothing_in_this_name(client, collection, alice):
    make_pair(collection)
    boris = make_rater(collection, "boris")
    token = claimed(client)["order"][0]
    refused = save(client, token, account=account_key(boris.user))
    assert refused.status_code == 401
    assert not Rating.objects.exists()
    assert save(client, token, account=account_key(alice.user)).status_code == 200


def test_who_reads_results_now_rates_no_more(client, collection, alice):
    """The rater stays, with what they rated; the role decides."""
    make_pair(collection)
    token = claimed(client)["order"][0]
    collection.memberships.filter(user=alice.user).update(role=Role.ANALYST)
    assert save(client, token).status_code == 404
    assert client.get(address("rate")).status_code == 404
    assert not Rating.objects.exists()


def test_accounts_have_keys_of_their_own(alice, collection):
    boris = make_rater(collection, "boris")
    assert account_key(alice.user) != account_key(boris.user)
    key = account_key(alice.user)
    alice.user.set_password("another pass phrase")
    alice.user.save()
    alice.user.refresh_from_db()
    assert account_key(alice.user) == key  # what is unsent survives a new password


def test_a_busy_database_asks_to_come_again(client, collection, monkeypatch):
    def locked(*arguments, **facts):
        raise OperationalError("database is locked")

    make_pair(collection)
    token = claimed(client)["order"][0]
    monkeypatch.setattr(queue, "save", locked)
    client.raise_request_exception = False  # as a server, which answers with config.urls.handler500
    answer = save(client, token)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "cannot write" in answer.json()["error"]


def test_the_session_tells_who_is_signed_in_and_a_token_for_forms(client, alice):
    told = client.get(reverse("session")).json()
    assert (told["account"], told["name"]) == (account_key(alice.user), "alice")
    assert len(told["csrf"]) == 64
    nobody = Client().get(reverse("session")).json()
    assert (nobody["account"], nobody["name"]) == (None, "")


@pytest.mark.both_databases
def test_an_act_asks_the_database_a_fixed_number_of_times(client, collection, django_assert_num_queries):
    for query in ("q1", "q2"):
        for document in "abcd":
            make_pair(collection, query, document)
    tokens = claimed(client)["order"]
    # Django's session and user 2, the rater with collection and role 1, the task 1, the grade 1, the queue's save
    # 4; and 2 for the savepoint that a test has where a server has the transaction.
    with django_assert_num_queries(11):
        save(client, tokens[0], client_key=UUID(int=1))
    # The same 3, the queue's claim 6 (4 and what is left to share near the end), the savepoint 2.
    with django_assert_num_queries(11):
        claimed(client)
    # The same, but the claim 4 as enough is held already; and the outlook 3, and 6 of the query.
    with django_assert_num_queries(20):
        claimed(client, outlook="1")


@pytest.mark.both_databases
def test_a_claim_counts_what_is_left_when_it_is_asked_to_or_there_is_less_than_wanted(client, collection):
    for document in "abcd":
        make_pair(collection, "q1", document)
    assert claimed(client, count=3)["outlook"] is None
    assert claimed(client, count=3, outlook="1")["outlook"]["left"] == "4 left"
    assert claimed(client, count=9)["outlook"]["left"] == "4 left"
