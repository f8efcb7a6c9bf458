"""All documents of a query on one page, as plain forms, and the settings that choose it."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from ratings import queue
from ratings.models import Anchor, Collection, Guidelines, Rating, RatingEvent
from ratings.pool.anchors import set_anchor

from .cast import grade, make_collection, make_pair, make_ranking, make_rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection():
    collection = make_collection(queries=("q1", "q2"))
    for query in ("q1", "q2"):
        make_ranking(collection, "bm25", query, "abcd")
        for document in "abcd":
            make_pair(collection, query, document)
    return collection


@pytest.fixture
def alice(collection):
    return make_rater(collection, "alice")


@pytest.fixture
def client(alice):
    client = Client()
    client.force_login(alice.user)
    return client


def address(name: str, *arguments) -> str:
    return reverse(name, args=["hills", *arguments])


def choose(client: Client, **choice) -> None:
    response = client.post(address("desk_settings"), choice)
    assert response.status_code == 302


@pytest.mark.slow
def test_a_round_in_lists_by_plain_forms_ends_with_thanks(client):
    choose(client, shown="list")
    page = client.post(address("claim"), follow=True)
    assert len(page.context["rows"]) == 4
    for _ in range(8):
        row = page.context["rows"][0]
        sent = {
            "grade": "2",
            "base_revision": row["base_revision"],
            "client_key": row["client_key"],
            "shown": "list",
        }
        page = client.post(address("save_rating", row["token"]), sent, follow=True)
    assert "All done" in page.content.decode()
    assert set(RatingEvent.objects.values_list("shown", flat=True)) == {"list"}


def test_a_list_has_documents_of_one_query_only_and_in_the_order_of_the_queue(client, alice):
    choose(client, shown="list")
    page = client.post(address("claim"), follow=True)
    held = queue.held(alice)
    first = [str(task.token) for task in held if task.pair.query_id == held[0].pair.query_id]
    assert len(held) == 8
    assert [row["token"] for row in page.context["rows"]] == first
    assert re.findall(r'data-token="(.*?)"', page.content.decode()) == first


def test_the_field_of_a_comment_is_named_after_its_document(client):
    choose(client, shown="list")
    tokens = []
    for _ in range(2):  # the second page has other documents at the same places
        page = client.post(address("claim"), follow=True)
        html = page.content.decode()
        shown = [str(row["token"]) for row in page.context["rows"]]
        assert re.findall(r'<textarea id="comment-(.*?)"', html) == re.findall(r'<label for="comment-(.*?)"', html)
        assert re.findall(r'<textarea id="comment-(.*?)"', html) == shown
        tokens += shown
        for row in page.context["rows"]:
            sent = {"grade": "2", "base_revision": row["base_revision"], "client_key": row["client_key"]}
            client.post(address("save_rating", row["token"]), sent)
    assert len(set(tokens)) == 8


@pytest.mark.both_databases
def test_choosing_the_list_brings_the_rest_of_the_query(client):
    client.post(address("claim"))
    choose(client, shown="list")
    assert len(client.get(address("rate")).context["rows"]) == 4


def test_one_at_a_time_is_what_comes_without_a_choice(client):
    for cookie in ("", "shown=nonsense&size=7", "%%%", "shown=" + "x" * 3_000):
        client.cookies["preferences"] = cookie
        page = client.post(address("claim"), follow=True)
        assert "token" in page.context and "rows" not in page.context


def test_a_choice_is_kept_and_shown_on_every_page(client):
    choose(client, shown="list", size="large", theme="dark")
    html = client.get(address("my_ratings")).content.decode()
    assert 'data-size="large" data-theme="dark"' in html
    kept = client.get(address("desk_settings")).context["form"]
    assert kept.data == {"shown": "list", "size": "large", "theme": "dark"}


def test_a_choice_that_is_none_is_refused(client):
    assert client.post(address("desk_settings"), {"theme": "pink"}).status_code == 400
    assert "preferences" not in client.cookies


def test_a_warm_up_comes_alone_although_a_list_was_chosen(client, alice, collection):
    for document, value in (("a", "3"), ("b", "0")):
        pair = make_pair(collection, "q1", document)
        set_anchor(pair, use=Anchor.Use.WARM_UP, grade=grade(collection, value), explanation="It says so.")
    choose(client, shown="list")
    for place in (1, 2):
        page = client.post(address("claim"), follow=True)
        assert f"{place} of 2" in page.content.decode()
        sent = {"grade": "1", "base_revision": 0}
        answer = client.post(address("save_rating", page.context["token"]), sent).content.decode()
        assert "It says so." in answer
        assert ("1 of 2 warm-ups are left" if place == 1 else "That was the last warm-up") in answer
    assert client.post(address("claim"), follow=True).context["rows"]


@pytest.mark.both_databases
def test_a_list_asks_the_database_as_often_for_many_documents_as_for_few(client, django_assert_num_queries):
    choose(client, shown="list")
    client.post(address("claim"))
    with django_assert_num_queries(13):
        client.get(address("rate"))
    queue.retire(list(Collection.objects.get().queries.get(key="q1").pairs.values_list("pk", flat=True)[:3]))
    with django_assert_num_queries(13):
        client.get(address("rate"))


def test_what_changed_in_the_guidelines_is_marked_until_it_was_read(client, alice, collection):
    for version, text in ((1, "## 3 Perfect\n\nNothing is missing.\n"), (2, "## 3 Perfect\n\nAll is there.\n")):
        Guidelines.objects.create(collection=collection, version=version, text=text)
    client.post(address("claim"))
    assert "You have not read this version yet." in client.get(address("rate")).content.decode()
    type(alice).objects.update(guidelines_read=1)
    html = client.get(address("rate")).content.decode()
    assert "Changed since you read version 1" in html and "<ins>" in html
    assert 'id="guide-grade-3"' in html
    client.post(address("read_guidelines"), {"version": "2"})
    assert 'id="unread"' not in client.get(address("rate")).content.decode()


def test_the_way_in_tells_how_long_it_takes(client, alice, collection):
    html = client.get(address("rate")).content.decode()
    assert "Half of yours" not in html
    for seconds in (10, 20, 60):
        task = queue.claim(alice)[0]
        queue.save(alice, task, queue.Submission(grade=grade(collection, "1"), seconds=seconds))
    queue.stop(alice)
    assert "Half of yours took up to 20 s: what is left may take you about 2 minutes." in client.get(
        address("rate")
    ).content.decode().replace("\n", " ")
    assert "your median is 20 s a grade" in client.get(reverse("home")).content.decode()
    assert Rating.objects.count() == 3
