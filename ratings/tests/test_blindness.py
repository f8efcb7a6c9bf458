"""What is sent to a rater, read byte by byte: no rank, system, score or rating of anybody else."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from ratings import queue
from ratings.models import Query, Rating

from .cast import grade, make_collection, make_pair, make_ranking, make_rater

pytestmark = pytest.mark.django_db

CANARIES = [
    "canary-system",
    "7321.625",
    "canary-rater",
    "canary-comment",
    "canary-document-key",
    "canary-query-key",
]


@pytest.fixture
def client():
    collection = make_collection(queries=["canary-query-key", "q2"], documents=["a", "b", "canary-document-key"])
    collection.queries.update(text="how to cross a stream", need="to stay dry")
    collection.documents.update(title="Streams", body="Cross where it is wide.")
    make_ranking(collection, "canary-system", "canary-query-key", "ab", scores=[7321.625, 3.0])
    pairs = [make_pair(collection, "canary-query-key", d, wanted=2) for d in ("a", "b", "canary-document-key")]
    other = make_rater(collection, "canary-rater")
    for pair in pairs:
        queue.save(other, pair, grade=grade(collection, "-1"), comment="canary-comment")
    client = Client()
    client.force_login(make_rater(collection, "alice").user)
    return client


def everything(response) -> str:
    return "\n".join([response.content.decode(), *(f"{k}: {v}" for k, v in response.headers.items())])


def test_a_whole_round_of_judging_sends_no_canary(client):
    sent = [everything(client.get(reverse("home")))]
    sent.append(everything(client.post(reverse("claim", args=["hills"]), follow=True)))
    for _ in range(3):
        page = client.get(reverse("rate", args=["hills"]))
        sent.append(everything(page))
        save = reverse("save_rating", args=["hills", page.context["token"]])
        sent.append(everything(client.post(save, {"grade": "1", "base_revision": "0"}, follow=True)))
    sent.append(everything(client.get(reverse("my_ratings", args=["hills"]))))
    sent.append(everything(client.post(reverse("undo_rating", args=["hills"]), follow=True)))
    assert Rating.objects.filter(rater__name="alice").count() == 2
    for canary in CANARIES:
        assert not any(canary in text for text in sent), canary


def test_the_page_is_the_same_whatever_others_rated(client):
    """Neither the number nor the grades of other ratings change a byte (but for the keys of the form)."""

    def page() -> str:
        text = client.get(reverse("rate", args=["hills"])).content.decode()
        return re.sub(r'(name="(client_key|csrfmiddlewaretoken)" value=")[^"]+', r"\1", text)

    client.post(reverse("claim", args=["hills"]))
    before = page()
    Rating.objects.filter(rater__name="canary-rater").delete()
    assert page() == before


def test_a_leak_would_be_seen(client):
    """The twin of the tests above: a canary in a field that is sent is found on the page."""
    Query.objects.update(text="asked by canary-system")
    page = client.post(reverse("claim", args=["hills"]), follow=True)
    assert any(canary in everything(page) for canary in CANARIES)
