import re
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.urls import reverse

from ratings.desk import queue
from ratings.models import Anchor, Rating
from ratings.pool.anchors import set_anchor
from ratings.tests.cast import NOW, grade, make_collection, make_pair, make_rater, signed_in, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection():
    return make_collection()


@pytest.fixture
def alice(collection):
    return make_rater(collection, "alice")


@pytest.fixture
def client(alice):
    return signed_in(alice.user)


def address(name: str, *arguments) -> str:
    return reverse(name, args=["hills", *arguments])


def test_a_round_by_plain_forms_ends_with_thanks(client, collection):
    for document in "abc":
        make_pair(collection, "q1", document)
    page = client.post(address("claim"), follow=True)
    for value in ("-1", "0", "3"):
        token = page.context["token"]
        # Firefox fills fields by their ids when it restores its windows, though another document may be here now.
        assert re.findall('<textarea id="(.*?)"', page.content.decode()) == [f"comment-{token}"]
        sent = {name: page.context[name] for name in ("base_revision", "client_key")}
        page = client.post(address("save_rating", token), sent | {"grade": value}, follow=True)
    assert sorted(float(r.grade.value) for r in Rating.objects.all()) == [-1, 0, 3]


def test_a_warm_up_is_announced_as_what_it_is_and_answered_in_a_sentence(client, collection, alice):
    for document in "ab":
        anchor = grade(collection, "0")
        set_anchor(make_pair(collection, "q1", document), use=Anchor.Use.WARM_UP, grade=anchor, explanation="No.")
    make_pair(collection, "q1", "c")
    assert "2 warm-ups come first." in text(client.get(address("rate")))
    page = client.post(address("claim"), follow=True)
    sent = {name: page.context[name] for name in ("base_revision", "client_key")} | {"grade": "3"}
    answer = client.post(address("save_rating", page.context["token"]), sent).content.decode()
    assert "Perfect<br>The known grade is:" in answer
    assert "1 warm-up comes first." in text(client.get(address("rate"))) or queue.held(alice)


def test_opening_the_desk_claims_nothing(client, collection, alice):
    make_pair(collection)
    assert client.get(address("rate")).status_code == 200
    assert queue.held(alice) == []


def test_decimal_grades_have_their_buttons_and_others_than_digits_other_keys(client):
    values = ["-0.5", "0", "0.25", "10"]
    collection = make_collection("tenths", scale=dict.fromkeys(values, "Some"))
    make_pair(collection)
    bob = signed_in(make_rater(collection, "bob").user)
    page = bob.post(reverse("claim", args=["tenths"]), follow=True)
    keys = re.findall(r'name="grade" value="([^"]+)".*?<kbd [^>]*>(\w)</kbd>', page.text, re.DOTALL)
    assert keys == list(zip(values, "1234", strict=True))
    save = reverse("save_rating", args=["tenths", page.context["token"]])
    bob.post(save, {"grade": "0.25", "base_revision": "0"})
    assert str(Rating.objects.get().grade.value.normalize()) == "0.25"


def test_a_form_that_makes_no_sense_is_refused_and_nothing_is_saved(client, collection):
    make_pair(collection)
    save = address("save_rating", client.post(address("claim"), follow=True).context["token"])
    grades = {"grade": "7"}, {"grade": "x"}, {"grade": "1", "reason": "broken"}
    for sent in ({}, *grades, {"reason": "bored"}):
        assert client.post(save, {**sent, "base_revision": "0"}).status_code == 400
    assert not Rating.objects.exists()


def test_a_conflict_lets_the_rater_choose_and_its_undo_leads_back_to_what_was_stored(client, collection, alice):
    pair = make_pair(collection)
    client.post(address("claim"))
    queue.save(alice, pair, queue.Submission(grade=grade(collection, "2")), now=NOW)
    response = client.post(address("save_rating", pair.token), {"grade": "0", "base_revision": "0"})
    assert (response.status_code, response.context["base_revision"]) == (409, 1)
    client.post(address("save_rating", pair.token), {"grade": "0", "base_revision": "1"})
    assert Rating.objects.get().grade == grade(collection, "0")
    page = client.post(address("undo_rating"), follow=True)
    assert (page.context["token"], page.context["own"].grade) == (pair.token, grade(collection, "2"))
    assert page.context["base_revision"] == Rating.objects.get().revision == 3


def test_a_form_sent_again_with_another_comment_is_no_retry(client, collection):
    pair = make_pair(collection)
    client.post(address("claim"))
    sent = {"grade": "3", "base_revision": "0", "client_key": "0" * 32}
    client.post(address("save_rating", pair.token), sent)
    assert client.post(address("save_rating", pair.token), sent).status_code == 302
    response = client.post(address("save_rating", pair.token), {**sent, "comment": "a second thought"})
    assert response.status_code == 409
    assert response.context["comment"] == "a second thought"


def test_a_page_that_was_sent_already_gives_the_rating_back_to_send_again(client, collection):
    """The browser goes back to a page from which the document was put off."""
    pair, key = make_pair(collection), "0" * 32
    client.post(address("claim"))
    client.post(address("skip_pair", pair.token), {"client_key": key})
    sent = {"grade": "3", "comment": "kept", "base_revision": "0", "client_key": key}
    response = client.post(address("save_rating", pair.token), sent)
    assert (response.status_code, response.context["comment"]) == (409, "kept")
    again = {**sent, "client_key": response.context["client_key"]}
    client.post(address("save_rating", pair.token), again)
    assert Rating.objects.get().grade == grade(collection, "3")
    for act in (address("skip_pair", pair.token), address("undo_rating")):
        client.post(act, {"client_key": again["client_key"]})
    assert Rating.objects.exists()


def test_an_ended_session_leads_to_the_desk(client, collection):
    pair = make_pair(collection)
    client.post(address("claim"))
    client.logout()
    response = client.post(address("save_rating", pair.token), {"grade": "3", "base_revision": "0"})
    assert response.url == f"{reverse('sign_in')}?next={address('rate')}"


def test_a_busy_database_gives_the_rating_back_to_send_again(client, collection, monkeypatch):
    def locked(*arguments, **facts):
        raise OperationalError("database is locked")

    pair = make_pair(collection)
    client.post(address("claim"))
    client.raise_request_exception = False  # as a server, which answers with config.urls.handler500
    sent = {"grade": "3", "comment": "kept", "base_revision": "0", "client_key": "0" * 32}
    with monkeypatch.context() as patched:
        patched.setattr(queue, "save", locked)
        response = client.post(address("save_rating", pair.token), sent)
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    again = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', response.content.decode()))
    client.post(address("save_rating", pair.token), {name: again[name] for name in sent})
    assert (Rating.objects.get().grade, Rating.objects.get().comment) == (grade(collection, "3"), "kept")


def test_a_grade_changed_from_my_ratings_returns_there(client, collection, alice):
    done, waiting = make_pair(collection, "q1", "a"), make_pair(collection, "q1", "b")
    queue.save(alice, done, queue.Submission(grade=grade(collection, "1")), now=NOW)
    client.post(address("claim"))
    assert 'name="back"' in client.get(address("rate_pair", done.token)).text
    sent = {"grade": "3", "base_revision": "1", "back": "1"}
    assert client.post(address("save_rating", done.token), sent).url == address("my_ratings")
    assert [task.pair for task in queue.held(alice)] == [waiting]


@pytest.mark.both_databases
def test_my_ratings_come_twenty_a_page_the_latest_first(client, collection, alice, django_assert_num_queries):
    for place in range(22):
        collection.documents.create(key=f"d{place}", title=f"Document {place}.")
        pair = make_pair(collection, "q1", f"d{place}")
        queue.save(alice, pair, queue.Submission(grade=grade(collection, "1")), now=NOW + timedelta(minutes=place))
    with django_assert_num_queries(14):
        first = client.get(address("my_ratings"))
    assert titles(first) == [f"Document {n}." for n in range(21, 1, -1)]
    assert 'href="?page=2"' in first.content.decode()
    second = client.get(address("my_ratings"), {"page": "2"})
    assert titles(second) == ["Document 1.", "Document 0."]


def titles(page) -> list[str]:
    return [answer.rating.pair.document.title for answer in page.context["answers"]]


def test_my_ratings_are_found_by_query_and_grade(client, collection, alice):
    for query, document, value in (("q1", "a", "1"), ("q1", "b", "3"), ("q2", "a", "3")):
        queue.save(alice, make_pair(collection, query, document), queue.Submission(grade=grade(collection, value)))
    perfect = grade(collection, "3").pk

    def shown(**asked) -> list[tuple[str, str]]:
        page = client.get(address("my_ratings"), asked)
        queries = [answer.rating.pair.query.text for answer in page.context["answers"]]
        return sorted(zip(queries, titles(page), strict=True))

    assert shown(query="OF Q1") == [("text of q1", "Title a"), ("text of q1", "Title b")]
    assert shown(grade=perfect) == [("text of q1", "Title b"), ("text of q2", "Title a")]
    assert shown(query="q2", grade=perfect) == [("text of q2", "Title a")]
    assert shown(query="%") == [] and len(shown(grade="x")) == 3
    assert "You gave no such rating." in text(client.get(address("my_ratings"), {"query": "%"}))


def test_the_desk_asks_the_database_a_fixed_number_of_times(client, collection, django_assert_num_queries):
    for query in ("q1", "q2"):
        for document in "abcd":
            make_pair(collection, query, document)
    client.post(address("claim"))
    with django_assert_num_queries(20):
        client.get(address("rate"))
