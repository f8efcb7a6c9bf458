"""Large pages step by step: what comes first, where it leads, and when the whole page comes at once."""

import re
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from evaluation.page import step_by_step
from evaluation.tests.hills import analyst, make_hills, text_of
from ratings.desk import queue
from ratings.models import Pair
from ratings.tests.cast import grade, make_rater

pytestmark = pytest.mark.django_db
PAGES = ["", "compare/", "agreement/"]
FIRST = "The means of the systems are being computed."
SECOND = "Intervals, tests and charts are being computed."


@pytest.fixture(autouse=True)
def large(monkeypatch):
    """Every collection with a ranking is large."""
    monkeypatch.setattr(step_by_step, "LARGE_FROM_RANKINGS", 1)


def next_of(response) -> str:
    """The address that the browser goes on to by itself, which is also a link."""
    content = response.content.decode()
    address = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', content)[1]
    assert f'<a href="{address}">' in content
    return unescape(address)


@pytest.mark.parametrize("page", PAGES)
def test_each_step_leads_to_the_next_and_the_last_is_the_whole_page(client, page):
    analyst(client, make_hills())
    url = f"/collections/hills/{page}"
    first = client.get(url)
    assert FIRST in text_of(first) and "0.8155" not in text_of(first)
    second = client.get(next_of(first))
    assert SECOND in text_of(second)
    assert "good 0.8155 2 bad 0.2044 2" in text_of(second)
    assert "nDCG@10 lin log2 ideal=judged" in text_of(second)
    last = client.get(next_of(second))
    assert "being computed" not in text_of(last) and b'http-equiv="refresh"' not in last.content


@pytest.mark.both_databases
def test_the_whole_page_comes_at_once_when_it_was_drawn_before_even_after_a_rating(client):
    collection, url = make_hills(), "/collections/hills/"
    analyst(client, collection)
    rater, pair = make_rater(collection), Pair.objects.get(query__key="q2", document__key="b")
    assert FIRST in text_of(client.get(url))
    assert "bad 0.2044" in text_of(client.get(url, {"step": "all"}))
    queue.save(rater, pair, queue.Submission(grade=grade(collection, "0")))
    drawn_again = text_of(client.get(url))
    assert "being computed" not in drawn_again and "by 2 raters" in drawn_again
    assert FIRST in text_of(client.get(url, {"measure": "P@5"}))  # other options are other numbers


def test_an_import_begins_with_the_first_step_again(client):
    collection = make_hills()
    analyst(client, collection)
    client.get("/collections/hills/", {"step": "all"})
    collection.touch()
    assert FIRST in text_of(client.get("/collections/hills/"))


def test_a_small_collection_has_no_steps(client, monkeypatch):
    monkeypatch.setattr(step_by_step, "LARGE_FROM_RANKINGS", 5)  # two systems on two queries are four rankings
    analyst(client, make_hills())
    assert "0.8155" in text_of(client.get("/collections/hills/"))


def test_the_steps_keep_what_else_the_address_asks_for(client):
    analyst(client, make_hills())
    asked = {"measure": "P@5", "system": ["good", "bad"], "baseline": "bad"}
    first = client.get("/collections/hills/compare/", asked)
    second = client.get(next_of(first))
    last = client.get(next_of(second))
    assert last.context["selection"].systems == ("bad", "good")
    assert str(last.context["asked"].measure) == "P@5"
    # The links of the page ask for what it shows, and not for how it was drawn.
    assert not [link for link in re.findall(r'href="([^"]+)"', last.content.decode()) if "step=" in link]


def test_the_first_step_reads_no_rating(client):
    analyst(client, make_hills())
    with CaptureQueriesContext(connection) as read:
        client.get("/collections/hills/")
    tables = ('FROM "ratings_rating"', 'FROM "ratings_ranking"', 'FROM "ratings_pair"')
    assert not [row["sql"] for row in read if any(table in row["sql"] for table in tables)]
