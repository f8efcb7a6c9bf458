"""What is sent to a rater, read byte by byte: no rank, system, score, gold, lot or rating of anybody else."""

import gzip
import re
from uuid import UUID, uuid4

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from ratings.desk import queue
from ratings.models import (
    Anchor,
    Assignment,
    Drawn,
    Grade,
    Pair,
    Picture,
    Presentation,
    Query,
    Rating,
    Round,
    digest_of,
)
from ratings.pool.anchors import set_anchor
from ratings.presentation.parts import KINDS, MOST_PARTS
from ratings.tests.cast import grade, make_collection, make_pair, make_ranking, make_rater

# Nothing here depends on which database it is.
pytestmark = [pytest.mark.django_db, pytest.mark.slow]

# In which forbidden field each lies, somewhere in the record of the fixture.
CANARIES = {
    "system": "canary-system",
    "score": "7321.625",
    "rater": "canary-rater",
    "account": "canary-account",
    "comment": "canary-comment",
    "number of others' time": "4242.125",
    "document key": "canary-document-key",
    "document fields": "canary-field",
    "query key": "canary-query-key",
    "tag": "canary-tag",
    "weight of a query": "8642.25",
    "lot": "1234567",
    "depth": "7654321",
    "explanation": "canary-explanation",
    "grade that a gold pair has": "-0.515625",
    "description": "canary-description",
    "file of a picture": "5" * 64,
    "round": "4445557",
    "method": "canary-method",
    "seed": "9911823",
    "aim": "canary-aim",
    "threshold": "5151.625",
    "precision": "6262.125",
    "frame": "3332221",
    "judged pairs": "6667778",
    "kind of a draw": "greedy",
    "unit": "8889991",
    "key of a draw": "3131.375",
    "rate": "2424.875",
    "chance within a unit": "0.640625",
    "chance of a draw": "0.6406",
    "predicted chance": "0.734375",
    "rounds before": "1212123",
}
PHOTO = "https://canary-system.example/canary-document-key/canary-field.png"


@pytest.fixture(params=["a web page", "every kind of part", "rounds"])
def collection(request):
    keys = ["a", "b", "c", "d", "e", "canary-document-key"]
    collection = make_collection(queries=["canary-query-key", "q2"], documents=keys)
    collection.queries.update(
        text="how to cross a stream", need="to stay dry", tags=["canary-tag"], weight="8642.25"
    )
    collection.documents.update(
        title="Streams", body="Cross where it is wide.", fields={"by": "canary-field", "colour": ["red"]}
    )
    if request.param == "every kind of part":
        parts = [{"kind": kind, "path": path} for kind in KINDS for path in ("title", "body", "url", "colour")]
        parts.insert(0, {"kind": "image", "path": "photo"})
        content = {"document": parts[:MOST_PARTS], "query": parts[MOST_PARTS:]}
        show_photos(collection)
        Presentation.objects.create(collection=collection, version=1, content=content)
    type(collection).objects.update(description="canary-description", gold_share="0.5", repeat_share="0.5")
    make_ranking(collection, "canary-system", "canary-query-key", "ab", scores=[7321.625, 3.0])
    pairs = [make_pair(collection, "canary-query-key", document, wanted=2) for document in keys]
    other = make_rater(collection, "canary-rater")
    get_user_model().objects.filter(pk=other.user_id).update(email="canary-account@hills.example")
    for pair in pairs[:3]:
        queue.save(
            other,
            pair,
            queue.Submission(grade=grade(collection, "-1"), comment="canary-comment", seconds=4242.125),
        )
    if request.param == "rounds":
        draw(collection, pairs)
    Assignment.objects.update(lot=1234567, depth=7654321)
    # A step that no button shows any more, so that its number can only come from the anchor.
    hidden = Grade.objects.create(collection=collection, value="-0.515625", label="hidden")
    set_anchor(pairs[0], use=Anchor.Use.GOLD, grade=hidden, explanation="canary-explanation")
    make_rater(collection, "alice")
    return collection


def draw(collection, pairs: list[Pair]) -> None:
    """A round of some of these pairs, one of them chosen for certain."""
    type(collection).objects.update(order="decisive", aim={"measure": "canary-aim", "systems": ["canary-system"]})
    Pair.objects.update(born=1212123)
    facts = {"number": 4445557, "method": "canary-method", "seed": 9911823, "aim": {"measure": "canary-aim"}}
    facts["seen"] = {"mean": [0.98765432]}
    facts |= {"threshold": 5151.625, "precision": 6262.125, "frame": 3332221, "judged": 6667778, "version": 0}
    chance = {"unit": 8889991, "key": 3131.375, "rate": 2424.875, "within": 0.640625, "chances": [0.734375]}
    drawn = [Drawn(pair=pair, kind="random", **chance) for pair in (pairs[3], pairs[1], pairs[5])]
    drawn.append(Drawn(pair=pairs[2], kind="greedy", chances=[0.734375]))
    assert queue.store_round(collection, Round(**facts), drawn)


def show_photos(collection) -> None:
    """A picture that is here and one that is missing; the source of each tells everything."""
    states = {Picture.State.READY: PHOTO, Picture.State.REFUSED: "missing/" + PHOTO}
    for document in collection.documents.all():
        document.fields |= {"photo": list(states.values())}
        document.save()
    for state, source in states.items():
        Picture.objects.create(
            collection=collection,
            digest=digest_of(source),
            source=source,
            named_by="canary-document-key",
            state=state,
            problem="canary-system does not answer",
            small="5" * 64,
            large="6" * 64,
        )


@pytest.fixture
def client(collection):
    client = Client()
    client.force_login(get_user_model().objects.get(username="alice"))
    return client


def everything(response) -> str:
    """All bytes of an answer, also where they are compressed, and its headers."""
    body = response.content
    if response.headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    return "\n".join([body.decode(), *(f"{k}: {v}" for k, v in response.headers.items())])


def leaks(sent: list[str]) -> list[str]:
    return [field for field, canary in CANARIES.items() if any(canary in text for text in sent)]


def without_the_hidden_step(text: str) -> str:
    """The scale is everybody's to see, on the buttons and in the guidelines; elsewhere a number is a leak."""
    return re.sub(r'<button class="grade".*?</button>|<aside.*?</aside>', "", text, flags=re.DOTALL)


def test_a_whole_round_of_judging_by_pages_sends_no_canary(client):
    sent = [everything(client.get(reverse("home")))]
    sent.append(everything(client.post(reverse("claim", args=["hills"]), follow=True)))
    for _ in range(6):
        page = client.get(reverse("rate", args=["hills"]))
        sent.append(everything(page))
        save = reverse("save_rating", args=["hills", page.context["token"]])
        sent.append(everything(client.post(save, {"grade": "1", "base_revision": "0"}, follow=True)))
    sent.append(everything(client.get(reverse("my_ratings", args=["hills"]))))
    sent.append(everything(client.post(reverse("undo_rating", args=["hills"]), follow=True)))
    assert Rating.objects.filter(rater__name="alice").count() == 5
    assert leaks(list(map(without_the_hidden_step, sent))) == []


def test_a_whole_round_in_lists_sends_no_canary(client):
    client.post(reverse("desk_settings", args=["hills"]), {"shown": "list"})
    sent = [everything(client.get(reverse("desk_settings", args=["hills"])))]
    page = client.post(reverse("claim", args=["hills"]), follow=True)
    listed = 0
    while "rows" in page.context:
        listed += len(page.context["rows"])
        sent.append(everything(page))
        save = reverse("save_rating", args=["hills", page.context["rows"][0]["token"]])
        page = client.post(save, {"grade": "1", "base_revision": "0", "shown": "list"}, follow=True)
    assert listed > 6 and Rating.objects.filter(rater__name="alice").count() >= 5
    assert leaks(list(map(without_the_hidden_step, sent))) == []


def test_a_whole_round_of_judging_by_script_sends_no_canary(client):
    client.defaults["HTTP_ACCEPT"] = "application/json"
    sent = []

    def ask(name: str, *arguments, **data) -> dict:
        answer = client.post(reverse(name, args=["hills", *arguments]), {"client_key": uuid4(), **data})
        sent.append(everything(answer))
        return answer.json()

    for _ in range(10):
        for task in ask("claim", count=20)["tasks"]:
            ask("save_rating", task["token"], grade="1", base_revision=task["base_revision"])
    # A conflict, a refusal, an undo and a document of nobody.
    token = str(Rating.objects.filter(rater__name="alice").first().pair.token)
    ask("save_rating", token, grade="2", base_revision=0)
    ask("save_rating", token, grade="77", base_revision=1)
    ask("undo_rating")
    ask("skip_pair", uuid4())
    sent.append(everything(client.get(reverse("session"))))
    assert Rating.objects.filter(rater__name="alice", grade__isnull=False).count() >= 5
    assert leaks(sent) == []


def test_nothing_tells_gold_and_repeats_from_other_pairs(client, collection):
    """The same fields with the same kinds of values for each task, and random tokens."""
    client.defaults["HTTP_ACCEPT"] = "application/json"
    seen = {}
    for _ in range(40):
        for task in client.post(reverse("claim", args=["hills"]), {"count": 20}).json()["tasks"]:
            seen[task["token"]] = {key: type(value).__name__ for key, value in task.items()}
            sent = {"grade": "1", "base_revision": task["base_revision"], "client_key": uuid4()}
            client.post(reverse("save_rating", args=["hills", task["token"]]), sent)
    gold = str(Anchor.objects.get().pair.token)
    assert gold in seen
    assert len({tuple(fields.items()) for fields in seen.values()}) == 1
    assert {UUID(token).version for token in seen} == {4}


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
    """The twin of the tests above: a canary in a field that is sent is found, on a page and in an answer."""
    Query.objects.update(text="asked by canary-system")
    page = everything(client.post(reverse("claim", args=["hills"]), follow=True))
    assert leaks([without_the_hidden_step(page)]) == ["system"]
    client.defaults["HTTP_ACCEPT"] = "application/json"
    answer = everything(client.post(reverse("claim", args=["hills"]), {"count": 3}))
    assert leaks([answer]) == ["system"]
