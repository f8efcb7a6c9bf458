"""The first page: what strangers, raters and analysts see on it, and what they do not."""

import re

import numpy as np
import pytest

from evaluation import measures
from evaluation.results.views import home
from evaluation.tests.hills import analyst, make_hills, text_of
from ratings.desk import queue
from ratings.models import Pair, Role
from ratings.tests.cast import grade, make_member, make_pair, make_rater, make_user

pytestmark = pytest.mark.django_db


def test_the_drawing_adds_up(client):
    page = client.get("/").content.decode()
    lists = re.findall(r'<ol class="ladder".*?</ol>', page, re.S)
    grades = [[int(g.replace("−", "-")) for g in re.findall(r'class="rung[^>]*>([^<]+)<', part)] for part in lists]
    returned, ideal = grades
    assert len(returned) == len(ideal) == 5
    # What was judged: the documents returned (0 to 4), and of the ideal a 3 and a 1 that were not.
    judged = np.array([*returned, 3, 1], float)
    judgments = measures.Judgments(1, np.zeros(7, int), np.arange(7), judged)
    rankings = measures.Rankings(np.array([0, 5]), np.arange(5))
    found = measures.explain(5, judgments, rankings, measures.Options(), 0)
    assert [row.grade for row in found.ideal] == ideal
    assert [f"{row.contribution:+.2f}".replace("-", "−").replace("+0.00", "0.00") for row in found.ranking] == (
        re.findall(r'<span class="num">([^<]+)<', lists[0])
    )
    for value in (found.dcg, found.idcg, found.ndcg):
        assert f"<b>{value:.2f}</b>" in page


def test_the_two_lists_have_the_scores_that_stand_above_them(client):
    page = client.get("/").content.decode()
    sections = re.findall(r'<section class="l">.*?</section>', page, re.S)
    assert len(sections) == 2
    for section in sections:
        returned = [int(grade.replace("−", "-")) for grade in re.findall(r'class="g g-[^>]*>([^<]+)<', section)]
        others = [3, 3, 2, 1, 1, 0, -1]
        for each in returned:
            others.remove(each)
        judgments = measures.Judgments(1, np.zeros(7, int), np.arange(7), np.array([*returned, *others], float))
        rankings = measures.Rankings(np.array([0, 5]), np.arange(5))
        found = measures.explain(5, judgments, rankings, measures.Options(), 0)
        assert f'<b class="score">{found.ndcg:.2f}</b>' in section


def test_an_analyst_sees_counts_and_the_leader(client):
    page = text_of(analyst(client, make_hills()).get("/"))
    assert "good has the highest mean nDCG@10, 0.82. Its 95 % interval is" in page
    assert "n = 2" in page
    assert "2 queries, 4 documents, 2 systems, 5 ratings" in page


def test_each_visit_computes_the_best_systems_of_some_collections_and_keeps_them(client, monkeypatch):
    monkeypatch.setattr(home, "RANKINGS_AT_ONCE", 1)  # ranking: each of the collections has four
    names = ["airs", "bays", "caves"]
    collections = [make_hills(name) for name in names]
    user = make_member(collections[0], "ann", Role.ANALYST)
    for collection in collections[1:]:
        make_member(collection, "ann", Role.ANALYST)
    client.force_login(user)
    assert best_of(client) == {"airs"}
    assert best_of(client) == {"airs", "bays"}
    assert best_of(client) == {"airs", "bays", "caves"}
    pair = Pair.objects.get(query__collection=collections[1], query__key="q2", document__key="b")
    queue.save(make_rater(collections[1]), pair, queue.Submission(grade=grade(collections[1], "0")))
    computed, evaluated = [], home.evaluated
    monkeypatch.setattr(
        home, "evaluated", lambda collection, *a: computed.append(collection.slug) or evaluated(collection, *a)
    )
    shown = best_of(client)
    assert computed == ["bays"]
    assert shown == {"airs", "bays", "caves"}


def best_of(client) -> set[str]:
    """The collections whose best system the page shows."""
    return {row["collection"].slug for row in client.get("/").context["mine"] if row["leader"]}


def test_a_rater_sees_their_own_progress_and_no_result(client):
    collection = make_hills()
    client.force_login(make_member(collection, "rita", Role.RATER))
    make_pair(collection, "q2", "a")
    collection.description = "Searched in three ways."
    collection.save()
    response = client.get("/")
    page = text_of(response)
    assert "0 rated, 1 left" in page
    assert 'action="/collections/hills/rate/next/"' in response.content.decode()
    for hidden in ("good", "bad", "0.8155", "nDCG", "three ways"):
        assert hidden not in page


def test_collections_of_others_are_not_listed(client):
    make_hills("secret")
    page = text_of(analyst(client, make_hills()).get("/"))
    assert "Secret" not in page


def test_a_superuser_is_an_admin_everywhere(client):
    make_hills()
    client.force_login(make_user("root", is_superuser=True))
    assert "You are an admin here" in text_of(client.get("/"))


def test_each_collection_has_its_progress_and_one_warning(client):
    """Of two wanted ratings one is given. good has 3 of 3 and 1 of 2 of its places judged, bad all."""
    collection = make_hills()
    pair = make_pair(collection, "q1", "a")
    queue.want([pair.pk, make_pair(collection, "q2", "a").pk], 1)
    queue.save(make_rater(collection), pair, queue.Submission(grade=grade(collection, "3")))
    page = text_of(analyst(client, collection).get("/"))
    assert "1 of 2 ratings requested" in page
    assert "Judged unevenly: Judged@10 is 100 % for bad and 75.0 % for good ." in page
    assert 'stroke-dasharray="50 100"' in client.get("/").content.decode()


def test_a_collection_without_anything_wrong_has_no_warning(client):
    page = text_of(analyst(client, make_hills(rankings={"good": {"q1": "ad"}, "bad": {"q1": "ca"}})).get("/"))
    assert "Judged" not in page and "ratings requested" not in page


def test_the_questions_of_a_buyer_are_one_link_from_the_first_page(client):
    part = client.get("/").content.decode().split('id="decide"')[1].split("</section>")[0]
    links = re.findall(r'href="([^"#]+)#?([^"]*)"', part)
    assert len(links) == 7
    for address, anchor in links:
        page = client.get(address).content.decode()
        assert not anchor or f'id="{anchor}"' in page
