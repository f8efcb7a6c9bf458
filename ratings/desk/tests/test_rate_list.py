"""All documents of a query on one page, as plain forms, and the settings that choose it."""

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from ratings.desk import queue
from ratings.models import Anchor, Collection, Guidelines, Rating, RatingEvent
from ratings.pool.anchors import set_anchor
from ratings.tests.cast import grade, make_collection, make_pair, make_ranking, make_rater, signed_in

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
    return signed_in(alice.user)


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
        sent = {name: row[name] for name in ("base_revision", "client_key")} | {"grade": "2", "shown": "list"}
        page = client.post(address("save_rating", row["token"]), sent, follow=True)
    assert Rating.objects.count() == 8
    assert set(RatingEvent.objects.values_list("shown", flat=True)) == {"list"}


def test_a_list_has_documents_of_one_query_only_and_in_the_order_of_the_queue(client, alice):
    choose(client, shown="list")
    page = client.post(address("claim"), follow=True)
    held = queue.held(alice)
    first = [str(task.token) for task in held if task.pair.query_id == held[0].pair.query_id]
    assert len(held) == 8 and [row["token"] for row in page.context["rows"]] == first
    # Fields are named after their documents, for browsers that fill them in again.
    for found in ('data-token="(.*?)"', '<textarea id="comment-(.*?)"', '<label for="comment-(.*?)"'):
        assert re.findall(found, page.content.decode()) == first


def test_one_at_a_time_is_what_comes_without_a_choice(client):
    for cookie in ("", "shown=nonsense&size=7", "%%%", "shown=" + "x" * 3_000):
        client.cookies["preferences"] = cookie
        page = client.post(address("claim"), follow=True)
        assert "token" in page.context and "rows" not in page.context


def test_a_choice_is_kept_and_shown_on_every_page(client):
    assert client.post(address("desk_settings"), {"shown": "nonsense"}).status_code == 400
    assert client.post(reverse("save_appearance"), {"theme": "pink"}).status_code == 400
    assert "preferences" not in client.cookies
    choose(client, shown="list")
    client.post(reverse("save_appearance"), {"size": "large", "theme": "dark", "zone": "Asia/Kolkata"})
    html = client.get(address("my_ratings")).content.decode()
    assert 'data-size="large" data-theme="dark"' in html
    kept = client.get(address("desk_settings")).context["form"]
    assert kept.data == {"shown": "list", "size": "large", "theme": "dark", "language": "", "zone": "Asia/Kolkata"}


def test_times_are_those_of_the_chosen_time_zone(client, alice):
    rate_first = client.post(address("claim"), follow=True)
    sent = {name: rate_first.context[name] for name in ("base_revision", "client_key")} | {"grade": "2"}
    client.post(address("save_rating", rate_first.context["token"]), sent)
    noon = datetime(2026, 1, 31, 20, 15, tzinfo=UTC)
    Rating.objects.update(created_at=noon, changed_at=noon)
    assert "31 Jan 2026, 20:15" in client.get(address("my_ratings")).content.decode()
    client.post(reverse("save_appearance"), {"zone": "Asia/Kolkata"})  # 5:30 h ahead of UTC
    page = client.get(address("my_ratings")).content.decode()
    assert "1 Feb 2026, 01:45" in page and "When (Asia/Kolkata)" in page


def test_a_warm_up_comes_alone_although_a_list_was_chosen(client, alice, collection):
    for document, value in (("a", "3"), ("b", "0")):
        pair = make_pair(collection, "q1", document)
        set_anchor(pair, use=Anchor.Use.WARM_UP, grade=grade(collection, value), explanation="It says so.")
    choose(client, shown="list")
    for place in (1, 2):
        page = client.post(address("claim"), follow=True)
        assert f"{place} of 2" in page.content.decode()
        sent = {"grade": "1", "base_revision": 0}
        answer = client.post(address("save_rating", page.context["token"]), sent)
        assert "It says so." in answer.content.decode()
    assert client.post(address("claim"), follow=True).context["rows"]


@pytest.mark.both_databases
def test_a_list_asks_the_database_as_often_for_many_documents_as_for_few(client, django_assert_num_queries):
    choose(client, shown="list")
    client.post(address("claim"))
    with django_assert_num_queries(20):
        client.get(address("rate"))
    queue.retire(list(Collection.objects.get().queries.get(key="q1").pairs.values_list("pk", flat=True)[:3]))
    with django_assert_num_queries(20):
        client.get(address("rate"))


def test_what_changed_in_the_guidelines_is_marked_until_it_was_read(client, alice, collection):
    for version, text in ((1, "## 3 Perfect\n\nNothing is missing.\n"), (2, "## 3 Perfect\n\nAll is there.\n")):
        Guidelines.objects.create(collection=collection, version=version, text=text)
    client.post(address("claim"))
    assert 'id="unread"' in client.get(address("rate")).content.decode()
    type(alice).objects.update(guidelines_read=1)
    html = client.get(address("rate")).content.decode()
    assert "Changed since you read version 1" in html and "<ins>" in html
    client.post(address("read_guidelines"), {"version": "2"})
    assert 'id="unread"' not in client.get(address("rate")).content.decode()


def test_the_way_in_tells_how_long_it_takes(client, alice, collection):
    for seconds in (10, 20, 60):
        task = queue.claim(alice)[0]
        queue.save(alice, task, queue.Submission(grade=grade(collection, "1"), seconds=seconds))
    queue.stop(alice)
    told = "Half of your ratings took up to 20 s: what is left may take you about 2 minutes."
    assert told in " ".join(client.get(address("rate")).content.decode().split())
    assert "your median is 20 s a grade" in client.get(reverse("home")).content.decode()
