"""Ratings to an older text: found by what was seen, shown where numbers are, and asked again."""

import csv
import io
import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from evaluation import frozen, scores
from ratings.desk import queue
from ratings.formats.source import Source
from ratings.importing import intake
from ratings.models import Assignment, Document, Rating, Role
from ratings.pool import ageing
from ratings.tests.calls import make_caller
from ratings.tests.cast import (
    grade,
    make_collection,
    make_member,
    make_pair,
    make_rankings,
    make_rater,
    signed_in,
    text,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db):
    shop = make_collection()
    make_rankings(shop, {"bm25": {"q1": "ba", "q2": "a"}})
    return shop


def rate(shop, document: str = "a", query: str = "q1", rater: str = "alice"):
    pair = make_pair(shop, query, document)
    sent = {"grade": grade(shop, "3"), "base_revision": 0, "client_key": f"{pair.pk:032}"}
    me = make_rater(shop, rater) if not shop.raters.filter(name=rater).exists() else shop.raters.get(name=rater)
    queue.save(me, pair, queue.Submission(**sent))
    return pair


def bring(shop, key: str, body: str, title: str = "") -> None:
    title = title or f"Title {key}"
    line = f'{{"id": "{key}", "title": "{title}", "body": "{body}"}}\n'
    report = intake.import_documents(shop, [Source("new.jsonl", io.BytesIO(line.encode()))])
    assert not report.refused


def older(shop) -> int:
    return ageing.to_older_text(ageing.of_collection(shop)).count()


def test_a_rating_to_a_text_that_changed_is_found_with_what_was_seen(shop):
    rate(shop)
    assert older(shop) == 0
    bring(shop, "a", "Second text of it.")
    (rating,) = ageing.to_older_text(ageing.of_collection(shop))
    assert rating.seen_body == "First of a.\n\nSecond." and rating.seen_title == "Title a"


def test_a_rating_after_the_change_and_a_text_that_came_back_are_not(shop):
    bring(shop, "a", "Another.")
    rate(shop)
    assert older(shop) == 0
    bring(shop, "a", "A third.")
    assert older(shop) == 1
    bring(shop, "a", "Another.")
    assert older(shop) == 0


def test_what_the_rater_saw_is_the_first_text_after_the_rating(shop):
    rate(shop)
    bring(shop, "a", "One.")
    bring(shop, "a", "Two.")
    (rating,) = ageing.to_older_text(ageing.of_collection(shop))
    assert rating.seen_body.startswith("First of a.")


def test_a_text_that_came_after_the_rating_is_no_change(shop):
    Document.objects.filter(key="a").update(title="", body="")
    rate(shop)
    bring(shop, "a", "The text.")
    assert older(shop) == 0


def test_those_that_changed_most_and_stand_high_come_first(shop):
    rate(shop, "a")
    rate(shop, "b")
    rate(shop, "c")
    bring(shop, "a", "New words everywhere here")  # second place
    bring(shop, "b", "First of b.\\n\\nSecond. More")  # first place, little changed
    bring(shop, "c", "New words everywhere here")  # in no ranking
    rows = ageing.aged_pairs(shop, ageing.to_older_text(ageing.of_collection(shop)))
    assert [row.pair.document.key for row in rows] == ["a", "b", "c"]
    assert [row.place for row in rows] == [2, 1, ageing.PLACE_IF_UNRANKED]
    assert rows[1].change == pytest.approx(1 - 6 / 7)


@pytest.mark.parametrize(
    ("before", "after", "share"), [("a b", "a b", 0), ("a b", "c d", 1), ("a b c", "a b d", 0.5), ("", "", 0)]
)
def test_the_share_of_words_that_changed(before, after, share):
    assert ageing.changed_share(before, after) == share


def test_the_page_lists_them_and_asks_again(shop):
    pair = rate(shop)
    bring(shop, "a", "Another.")
    client = signed_in(make_member(shop, "lead", Role.ADMIN))
    shown = text(client.get(reverse("aged", args=["hills"])))
    assert "1 rating was given to an older text" in shown and "Title a" in shown
    assert "What alice saw" in text(client.get(reverse("pair_life", args=["hills", pair.token])))
    assert "Older text:" in text(client.get(reverse("query", args=["hills", pair.query_id])))
    assert "To an older text" in text(client.get(reverse("overview", args=["hills"])))
    client.post(reverse("ask_aged_again", args=["hills"]), {"pair": [str(pair.token), "nonsense"]})
    assert not Rating.objects.counted().exists() and older(shop) == 0
    assert Assignment.objects.get(pair=pair).state == "open"


def test_a_newer_rating_of_the_pair_is_not_asked_again(shop):
    pair = rate(shop)
    bring(shop, "a", "Another.")
    sent = {"grade": grade(shop, "0"), "base_revision": 0, "client_key": "b" * 32}
    queue.save(make_rater(shop, "bob"), pair, queue.Submission(**sent))
    client = signed_in(make_member(shop, "lead", Role.ADMIN))
    client.post(reverse("ask_aged_again", args=["hills"]), {"pair": [str(pair.token)]})
    assert [rating.rater.name for rating in Rating.objects.counted()] == ["bob"]


def test_those_that_are_too_old_are_asked_again(shop):
    pair = rate(shop)
    Rating.objects.update(changed_at=timezone.now() - timedelta(days=200))
    client = signed_in(make_member(shop, "lead", Role.ADMIN))
    address = reverse("ask_aged_again", args=["hills"])
    client.post(address, {"pair": [str(pair.token)], "days": "300"})
    assert Rating.objects.counted().exists()
    assert client.post(address, {"pair": [str(pair.token)], "days": "100"}).url.endswith("?days=100")
    assert not Rating.objects.counted().exists()


def test_old_ratings_are_listed_by_their_age(shop):
    rate(shop)
    rate(shop, "b")
    Rating.objects.filter(document__key="b").update(changed_at=timezone.now() - timedelta(days=200))
    client = signed_in(make_member(shop, "lead", Role.ADMIN))
    shown = text(client.get(reverse("aged", args=["hills"]), {"days": "100"}))
    assert "1 rating is older than 100 days" in shown and "Title b" in shown and "Title a" not in shown
    assert client.get(reverse("aged", args=["hills"]), {"days": "x"}).status_code == 400


def test_files_and_calls_of_results_say_how_many_there_are(shop, capsys):
    pair = rate(shop)
    bring(shop, "a", "Another.")
    lead = make_member(shop, "lead", Role.ADMIN)
    client = signed_in(lead)
    for name, *more in (("overview_json",), ("queries_json",), ("query_json", pair.query_id)):
        assert client.get(reverse(name, args=["hills", *more])).json()["older_texts"] == 1, name
    table = client.get(reverse("overview_csv", args=["hills"]), {"raw": "1"}).content.decode()
    assert {row["older_texts"] for row in csv.DictReader(io.StringIO(table))} == {"1"}
    caller = make_caller(lead, shop, "read")
    assert caller.get("/collections/hills/evaluation").json()["older_texts"] == 1
    call_command("evaluate", "hills", "--format", "json")
    assert json.loads(capsys.readouterr().out)["older_texts"] == 1
    queue.ask_again(ageing.of_collection(shop), by=lead, of_others=False)
    assert caller.get("/collections/hills/evaluation").json()["older_texts"] == 0


def test_a_frozen_evaluation_says_how_many_there_were(shop):
    rate(shop)
    bring(shop, "a", "Another.")
    stored, _ = frozen.freeze(shop, "first", scores.Asked.of(shop))
    assert frozen.about(stored).older_texts == 1
