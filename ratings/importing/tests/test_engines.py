"""Connected engines: the pages, the answers of each dialect, and fetching in turns."""

import contextlib
import json
import time

import pytest
from django.urls import reverse
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from ratings.importing import jobs, signs
from ratings.importing.pull import Limits, Refused, answers, turns
from ratings.importing.pull.dialects import PRESETS, at
from ratings.importing.pull.engines import connection_to, proposed
from ratings.importing.views import engines
from ratings.models import AllowedHost, Document, Engine, Job, Ranking, Role, System
from ratings.pool import ageing
from ratings.presentation.content import sample_of
from ratings.presentation.proposal import proposal
from ratings.tests.cast import (
    Imported,
    grade,
    make_collection,
    make_member,
    make_rater,
    make_user,
    record_imported,
    signed_in,
    text,
)

from .test_pull import elastic, moody, results

pytestmark = pytest.mark.django_db

# What each kind of engine answers, and what a result is then: id, score, title, text, link.
SHOE = ("sku-1", 2.5, "Red shoe", "A shoe that is red", "https://shop.example/1")
ES = {"_id": "sku-1", "_score": 2.5, "_source": {"name": "Red shoe", "description": SHOE[3], "url": SHOE[4]}}
SOLR = {"id": "sku-1", "score": 2.5, "name": ["Red shoe"], "description": SHOE[3], "url": SHOE[4]}
VESPA = {"id": "id:shop:shoe::1", "relevance": 2.5, "fields": {"documentid": "sku-1", "title": "Red shoe"}}
VESPA["fields"] |= {"description": SHOE[3], "url": SHOE[4]}
ALGOLIA = {"objectID": "sku-1", "name": "Red shoe", "description": SHOE[3], "url": SHOE[4], "price": 79}
ANSWERS = {
    "elasticsearch": ({"timed_out": False, "hits": {"total": {"value": 1}, "hits": [ES]}}, SHOE),
    "opensearch": ({"took": 3, "hits": {"max_score": 2.5, "hits": [ES]}}, SHOE),
    "solr": ({"responseHeader": {"status": 0}, "response": {"numFound": 1, "docs": [SOLR]}}, SHOE),
    "vespa": ({"root": {"fields": {"totalCount": 1}, "children": [VESPA]}}, SHOE),
    "algolia": ({"hits": [ALGOLIA], "nbHits": 1, "page": 0}, (SHOE[0], None, *SHOE[2:])),
    "json": ({"data": {"items": [{"uid": "sku-1", "relevance": 2.5, "headline": "Red shoe", "summary": SHOE[3],
              "href": SHOE[4]}]}, "facets": [{"name": "red"}]}, SHOE),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _allowed(settings) -> None:
    settings.PULL_HOSTS = ["127.0.0.1/32"]


@pytest.mark.parametrize("dialect", ANSWERS)
def test_the_answers_of_each_dialect_are_read_where_they_are_guessed(dialect):
    answer, expected = ANSWERS[dialect]
    places = answers.guessed(answer, PRESETS[dialect].dialect)
    row = at(answer, places["results"])[0]
    found = [at(row, places[role]) if places[role] else None for role in ("id", "score", "title", "text", "link")]
    assert tuple(value[0] if isinstance(value, list) else value for value in found) == expected


@pytest.mark.parametrize("dialect", ANSWERS)
def test_an_engine_of_each_dialect_is_connected_as_its_form_proposes(engine, dialect):
    answer, (document, score, title, body, link) = ANSWERS[dialect]

    def reply(handler) -> None:
        sent = json.dumps(getattr(handler, "body", "")) + str(handler.given)
        assert "text of q1" in sent and "10" in sent  # the query, and how many results
        handler.send(answer)

    collection = make_collection(queries=["q1"])
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    proposal = proposed(dialect)
    address = engine(reply).url + proposal.address[proposal.address.find("?") :] * ("?" in proposal.address)
    data = {"dialect": dialect, "name": "Shop", "address": address, "body": proposal.body}
    client.post(reverse("make_engine", args=["hills"]), data)
    shop = Engine.objects.get()
    client.post(reverse("ask_engine", args=["hills", shop.pk]), {"query": "text of q1"})
    client.post(reverse("fetch_engine", args=["hills", shop.pk]), {"system": "live", "depth": 10, "pause": 0})
    jobs.look_at.func(Job.objects.get().pk)
    assert results() == {"q1": [(document, 1.0 if score is None else score)]}
    new = Document.objects.get(key=document)
    assert (new.title, new.body, new.url) == (title, body, link)


def test_rows_of_plain_values_are_found_behind_their_head():
    """As Groonga 13 answers. Its head is a list, too, of the columns: here of more than there are results."""
    answer = [[0, 1.5], [[[1], [["_key", "ShortText"], ["title", "ShortText"]], ["d1", "Red"]]]]
    assert [found.path for found in answers.lists_in(answer)] == ["1.0.2:", "1.0.1"]
    assert [found.path for found in answers.values_in(["d1", "Red"])] == ["0", "1"]


def test_an_engine_is_connected_asked_and_fetched_on_pages(engine):
    collection = make_collection()
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    address = engine(elastic).url
    data = {"dialect": "elasticsearch", "name": "Shop", "address": address, "body": proposed("elasticsearch").body}
    client.post(reverse("make_engine", args=["hills"]), data)
    shop = Engine.objects.get()
    page = reverse("engine", args=["hills", shop.pk])
    assert "Ask it for one query" in text(client.get(page))
    client.post(reverse("ask_engine", args=["hills", shop.pk]), {"query": "text of q1"})
    shown = text(client.get(page))
    assert "T x/1" in shown and "Fetch 2 queries" in shown
    answer = client.post(
        reverse("fetch_engine", args=["hills", shop.pk]), {"system": "Shop", "depth": 2, "pause": 0, "twice": "on"}
    )
    job = Job.objects.get()
    jobs.look_at.func(job.pk)
    assert results("Shop") == {"q1": [("b", 9.5), ("x/1", 8.5)], "q2": []}
    fetched = text(client.get(answer["Location"]))
    assert "It has a ranking for every query." in fetched and "the first 10 results were the same" in fetched
    client.post(reverse("undo_job", args=["hills", job.pk]))
    assert not System.objects.exists() and Document.objects.count() == 4


def test_only_a_superuser_names_a_key_or_changes_an_engine_that_has_one(engine, monkeypatch):
    collection = make_collection()
    admin = signed_in(make_member(collection, "lead", Role.ADMIN))
    boss = signed_in(make_user("boss", is_superuser=True))
    asked = engine(elastic)
    data = {"dialect": "json", "name": "Shop", "address": f"{asked.url}?q={{query}}", "secret_header": "X-Key"}
    admin.post(reverse("make_engine", args=["hills"]), data | {"secret": "IDEALIST_ENGINE_SHOP"})
    shop = Engine.objects.get()
    assert shop.secret == ""
    save = reverse("save_engine", args=["hills", shop.pk])
    for other in ("SECRET_KEY", "IDEALIST_MAIL"):
        assert boss.post(save, data | {"secret": other}).status_code == 400
    boss.post(save, data | {"secret": "IDEALIST_ENGINE_SHOP"})
    admin.post(save, data | {"address": "http://127.0.0.1:9/?q={query}"})
    shop.refresh_from_db()
    assert (shop.secret, shop.address) == ("IDEALIST_ENGINE_SHOP", data["address"])
    assert "has not set IDEALIST_ENGINE_SHOP" in text(admin.get(reverse("engine", args=["hills", shop.pk])))
    monkeypatch.setenv("IDEALIST_ENGINE_SHOP", "hush")
    connection = connection_to(shop)
    assert connection.headers == {"X-Key": "hush"}
    assert "hush" not in text(boss.get(reverse("engine", args=["hills", shop.pk])))


def test_a_superuser_allows_the_name_of_a_host_and_never_an_address(settings):
    settings.PULL_HOSTS = []
    collection = make_collection()
    admin = signed_in(make_member(collection, "lead", Role.ADMIN))
    boss = signed_in(make_user("boss", is_superuser=True))
    for address, allowed in (
        ("https://es.example.org:9200/_search", ["es.example.org:9200"]),
        ("http://10.0.0.7/", []),
    ):
        AllowedHost.objects.all().delete()
        shop = collection.engines.create(name=address, dialect="json", address=address)
        allow = reverse("allow_engine", args=["hills", shop.pk])
        page = text(boss.get(reverse("engine", args=["hills", shop.pk])))
        assert ("Allow requests to" in page) is bool(allowed)
        host = address.split("/")[2]
        admin.post(allow, {"host": host})
        assert not AllowedHost.objects.exists()
        boss.post(allow, {"host": host})
        assert list(AllowedHost.objects.values_list("host", flat=True)) == allowed


def make_job(collection, address: str, **changes) -> Job:
    shop = proposed("elasticsearch")
    shop.collection, shop.name, shop.address = collection, "Shop", address
    shop.save()
    options = turns.options(shop, "live", depth=2, **changes)
    return Job.objects.create(collection=collection, kind="engine", options=options, files=[{"name": "Shop"}])


def test_a_slow_engine_leaves_other_jobs_their_turn_and_what_it_answered_is_kept(engine, monkeypatch):
    monkeypatch.setattr(turns, "SECONDS_PER_TURN", 0.0)
    collection = make_collection()
    asked = engine(elastic)
    job = make_job(collection, asked.url)
    jobs.look_at.func(job.pk)
    job.refresh_from_db()
    assert (job.state, job.answers.count(), Ranking.objects.count()) == ("queued", 1, 0)
    jobs.look_at.func(job.pk)
    job.refresh_from_db()
    assert (job.state, job.answers.count(), len(results())) == ("published", 0, 2)
    assert len(asked.asked) == 2  # nothing was asked again


def test_a_worker_that_dies_loses_no_answer(engine, monkeypatch):
    collection = make_collection()
    asked = engine(elastic)
    job = make_job(collection, asked.url)

    def die(*given) -> None:
        raise SystemExit

    monkeypatch.setattr(turns, "land", die)
    assert job.take_up()
    with pytest.raises(SystemExit), signs.shown(job) as progress:
        turns.work(job, progress)
    monkeypatch.undo()
    jobs._queue_unchanged(job, deaths=1)
    jobs.look_at.func(job.pk)
    assert results()["q1"] == [("b", 9.5), ("x/1", 8.5)] and len(asked.asked) == 2


def test_stopping_imports_what_was_answered_and_the_gaps_come_later(engine, monkeypatch):
    monkeypatch.setattr(turns, "SECONDS_PER_TURN", 0.0)
    collection = make_collection()
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    job = make_job(collection, engine(elastic).url)
    jobs.look_at.func(job.pk)
    client.post(reverse("stop_fetch", args=["hills", job.pk]))
    jobs.look_at.func(job.pk)
    assert list(results()) == ["q1"]
    page = text(client.get(reverse("fetch", args=["hills", job.pk])))
    assert "It has a ranking for all but 1 query." in page and "1 query was not asked" in page


def test_what_is_stopped_before_the_first_answer_brings_no_system(engine):
    collection = make_collection()
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    job = make_job(collection, engine(elastic).url)
    client.post(reverse("stop_fetch", args=["hills", job.pk]))
    jobs.look_at.func(job.pk)
    page = text(client.get(reverse("fetch", args=["hills", job.pk])))
    assert "No system of this name is in the record." in page and "for every query" not in page
    assert not System.objects.exists()


def test_an_engine_that_answers_nothing_is_not_asked_for_all(engine):
    collection = make_collection(queries=[f"q{n}" for n in range(30)])
    asked = engine(lambda handler: handler.send(b"broken", 500))
    job = make_job(collection, asked.url)
    jobs.look_at.func(job.pk)
    job.refresh_from_db()
    assert (job.state, len(asked.asked)) == ("failed", turns.FIRST_QUERIES)
    assert job.message.startswith("The engine gave no usable answer to the first 10 queries: it answers 500")
    assert not System.objects.exists() and not job.answers.exists()


def test_cancelling_keeps_nothing(engine, monkeypatch):
    monkeypatch.setattr(turns, "SECONDS_PER_TURN", 0.0)
    job = make_job(make_collection(), engine(moody).url)
    jobs.look_at.func(job.pk)
    job.refresh_from_db()
    assert jobs.cancel(job)
    jobs.look_at.func(job.pk)
    assert not System.objects.exists() and not job.answers.exists()


def test_a_broken_answer_is_told_on_the_page_and_stored_nowhere(engine):
    collection = make_collection()
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    shop = proposed("elasticsearch")
    shop.collection, shop.name, shop.address = collection, "Shop", engine(lambda h: h.send(b"<html>")).url
    shop.save()
    answer = client.post(reverse("ask_engine", args=["hills", shop.pk]), {"query": "shoe"})
    assert answer.status_code == 400 and "is not JSON" in text(answer)
    shop.refresh_from_db()
    assert shop.answer == ""


def test_places_are_chosen_from_the_answer_alone(engine):
    collection = make_collection()
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    answer = ANSWERS["algolia"][0]
    shop = proposed("algolia")
    shop.collection, shop.name, shop.address, shop.answer = (
        collection,
        "Shop",
        "http://127.0.0.1:9/{query}",
        json.dumps(answer),
    )
    shop.save()
    place = reverse("place_engine", args=["hills", shop.pk])
    places = {"results_at": "hits", "id_at": "objectID", "title_at": "name"}
    assert client.post(place, places | {"id_at": "secret"}).status_code == 400
    client.post(place, places | {"more_at": ["price"]})
    shop.refresh_from_db()
    assert (shop.id_at, shop.title_at, shop.text_at, shop.more_at) == ("objectID", "name", "", ["price"])
    assert "price: 79" in text(client.get(reverse("engine", args=["hills", shop.pk])))


SHOP = "https://shop.example"


@pytest.mark.parametrize(
    ("found", "paths", "field"),
    [
        ({"thumbnail": f"{SHOP}/1.jpg", "page": f"{SHOP}/1"}, ["thumbnail"], "thumbnail"),
        ({"image": {"url": f"{SHOP}/1?w=200", "width": 200}}, ["image.url"], "image"),
        ({"photos": [f"{SHOP}/1", f"{SHOP}/2"]}, ["photos"], "photos"),
        ({"images": [{"src": f"{SHOP}/1"}, {"src": f"{SHOP}/2"}]}, ["images.0.src"], "images"),
        ({"image": "none", "tags": ["red"], "n": 3}, [], ""),
    ],
)
def test_pictures_in_a_first_answer_are_kept_and_shown_as_pictures(engine, found, paths, field):
    collection = make_collection(documents="")
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    answer = {"results": [{"id": "a", "title": "Red shoe", "score": 1.0} | found]}
    shop = make_json_engine(collection, engine(lambda handler: handler.send(answer)).url)
    page = sent(client, shop)
    shop.refresh_from_db()
    assert (shop.more_at, page.context["places"]["more_at"].initial) == (paths, paths)
    assert page.context["pictures"] == ({field} if field else set())
    if field:
        assert f"{field} (picture): " in text(page) and f"{paths[0]} · picture " in text(page)
    client.post(reverse("fetch_engine", args=["hills", shop.pk]), {"system": "live", "depth": 1, "pause": 0})
    jobs.look_at.func(Job.objects.get().pk)
    parts = proposal(sample_of(collection)).document
    assert [part.path for part in parts if part.kind == "image"] == ([field] if field else [])
    # What somebody chose stays when the engine is asked again.
    Engine.objects.update(more_at=[])
    assert sent(client, shop).context["places"]["more_at"].initial == []


def make_json_engine(collection, address: str, **facts) -> Engine:
    places = {"results_at": "results", "id_at": "id", "score_at": "score", "title_at": "title"}
    return collection.engines.create(
        name="Shop", dialect="json", address=f"{address}?q={{query}}", **places | facts
    )


def sent(client, shop: Engine, query: str = "shoe"):
    return client.post(reverse("ask_engine", args=["hills", shop.pk]), {"query": query}, follow=True)


@pytest.mark.parametrize(
    "answer",
    [
        {"results": [{"id": "a", "score": 10**400}]},
        {"K" * 150: {"L" * 150: [{"id": "a"}]}},
        {"results": [{"M" * 300: "a"}]},
    ],
)
def test_a_hostile_answer_breaks_no_page(engine, answer):
    collection = make_collection()
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    shop = make_json_engine(collection, engine(lambda handler: handler.send(answer)).url)
    assert sent(client, shop).status_code == 200
    shop.refresh_from_db()
    assert max(len(getattr(shop, f"{role}_at")) for role in answers.NAMES.keys() | {"results"}) <= 200


def test_the_page_of_an_answer_stays_small_however_long_its_names_are(engine):
    """A hundred thousand letters made a page of 240 MB."""
    answer = {"results": [{"id": "a", "K" * 100_000: {f"a{number}": 0 for number in range(300)}}]}
    collection = make_collection()
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    shop = make_json_engine(collection, engine(lambda handler: handler.send(answer)).url)
    assert len(sent(client, shop).content) < 200_000


@pytest.mark.parametrize("is_failure", [False, True])
def test_a_key_that_an_engine_repeats_is_taken_out(engine, monkeypatch, is_failure):
    monkeypatch.setenv("IDEALIST_ENGINE_SHOP", "ApiKey hush/hush")

    def repeat(handler) -> None:
        key = handler.headers["Authorization"]
        handler.send({"results": [{"id": "a", "title": f"{key} {key[7:]}"}]}, 401 if is_failure else 200)

    collection = make_collection()
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    shop = make_json_engine(collection, engine(repeat).url, secret="IDEALIST_ENGINE_SHOP")
    assert "hush/hush" not in sent(client, shop).content.decode()
    with contextlib.suppress(Refused):
        (hit,) = connection_to(shop).hits({"query": "shoe", "depth": 2}, Limits())
        assert "hush" not in hit.title and not is_failure


def test_a_page_waits_for_one_answer_and_never_in_a_queue(engine):
    """Eight threads answer all requests. An overloaded engine held one for 30 seconds, and a queue each for 5."""
    asked = engine(lambda handler: handler.send(b"later", 503, Retry_After="60"))
    collection = make_collection()
    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    shop = make_json_engine(collection, asked.url)
    begun = time.monotonic()
    assert "503" in text(sent(client, shop)) and len(asked.asked) == 1
    with engines._turns, engines._turns:
        assert "Others ask" in text(sent(client, shop))
    assert time.monotonic() - begun < 3


def test_a_long_pause_between_queries_gives_other_jobs_their_turn(engine, monkeypatch):
    slept = []
    monkeypatch.setattr(turns.time, "sleep", slept.append)
    collection = make_collection()
    job = make_job(collection, engine(elastic).url, pause=60)
    jobs.look_at.func(job.pk)
    job.refresh_from_db()
    assert (job.state, job.answers.count(), slept) == ("queued", 1, [])
    wait = DBTaskResult.objects.latest("enqueued_at").run_after - timezone.now()
    assert 50 < wait.total_seconds() <= 60
    jobs.look_at.func(job.pk)
    assert len(results()) == 2


def test_the_stored_answers_of_a_fetch_have_a_limit(engine, monkeypatch):
    monkeypatch.setattr(turns, "MOST_BYTES", 30)
    collection = make_collection()
    job = make_job(collection, engine(elastic).url)
    jobs.look_at.func(job.pk)
    job.refresh_from_db()
    assert job.state == "failed" and job.message.startswith("The answers are larger than")
    assert not System.objects.exists() and not job.answers.exists()


def test_a_collection_has_few_fetches_at_a_time(engine):
    collection = make_collection()
    shop = make_json_engine(collection, "http://127.0.0.1:9/")
    for number in range(turns.MOST_FETCHES):
        jobs.fetch_system(shop, turns.options(shop, f"live {number}", depth=2), None)
    with pytest.raises(ValueError, match="under way"):
        turns.options(shop, "live", depth=2)


def test_a_superuser_allows_the_host_that_the_page_showed(settings):
    """An admin can change the address after the page was opened."""
    settings.PULL_HOSTS = []
    collection = make_collection()
    boss = signed_in(make_user("boss", is_superuser=True))
    shop = collection.engines.create(name="Shop", dialect="json", address="https://es.example.org/")
    page = boss.get(reverse("engine", args=["hills", shop.pk])).content.decode()
    assert '<input type="hidden" name="host" value="es.example.org">' in page
    Engine.objects.update(address="https://other.example.net/")
    boss.post(reverse("allow_engine", args=["hills", shop.pk]), {"host": "es.example.org"})
    assert not AllowedHost.objects.exists()


def test_a_superuser_ends_that_a_host_is_allowed():
    collection = make_collection()
    admin = signed_in(make_member(collection, "lead", Role.ADMIN))
    boss = signed_in(make_user("boss", is_superuser=True))
    host = AllowedHost.objects.create(host="es.example.org", purpose="engines")
    pictures = AllowedHost.objects.create(host="es.example.org", purpose="pictures")
    page = reverse("engines", args=["hills"])
    end = reverse("end_engine_host", args=["hills", host.pk])
    assert end in boss.get(page).content.decode() and end not in admin.get(page).content.decode()
    assert admin.post(end).status_code == 404
    assert boss.post(reverse("end_engine_host", args=["hills", pictures.pk])).status_code == 404
    boss.post(end)
    assert list(AllowedHost.objects.all()) == [pictures]


# Texts of documents that are stored


def fetched(shop: Engine, system: str) -> Job:
    """The job that fetched this system."""
    options = turns.options(shop, system, depth=5)
    files = [{"name": shop.name}]
    job = Job.objects.create(collection=shop.collection, kind="engine", options=options, files=files)
    jobs.look_at.func(job.pk)
    job.refresh_from_db()
    return job


def newer_texts(handler) -> None:
    """The texts of a and b are others than from the file, that of b varies with the query, and c has a price."""
    of_query = handler.given["q"]
    rows = [
        {"id": "a", "title": "A new title", "text": "New."},
        {"id": "b", "title": "Title b", "text": f"… <em>{of_query}</em> …"},
        {"id": "c", "title": "Title c", "text": "First of c.\n\nSecond.", "price": 999},
        {"id": "d", "title": "Title d"},
    ]
    handler.send({"results": rows})


def text_of(key: str) -> tuple[str, str]:
    return Document.objects.values_list("title", "body").get(key=key)


def test_texts_of_files_stay_and_are_counted_until_an_admin_takes_those_of_the_engine(engine):
    collection = make_collection()
    before = {key: text_of(key) for key in "abcd"}
    rated = collection.queries.get(key="q1").pk, collection.documents.get(key="a").pk
    record_imported(make_rater(collection), [Imported(*rated, grade(collection, "3"))])
    shop = make_json_engine(collection, engine(newer_texts).url, text_at="text", more_at=["price"])
    first = fetched(shop, "first")
    kept = {"texts_of_files": 1, "texts_that_vary": 1, "fields": 1}
    assert kept.items() <= first.report["counts"].items()
    assert {key: text_of(key) for key in "abcd"} == before
    older = ageing.to_older_text(ageing.of_collection(collection))
    assert not older.exists()

    client = signed_in(make_member(collection, "lead", Role.ADMIN))
    page = text(client.get(reverse("fetch", args=["hills", first.pk])))
    assert "1 document has another text in the engine" in page and "Take the engine" in page
    client.post(reverse("replace_texts", args=["hills", shop.pk]), {"replaces": "1"})
    assert "Take the engine" not in text(client.get(reverse("fetch", args=["hills", first.pk])))

    second = fetched(shop, "second")
    assert "texts_of_files" not in second.report["counts"] and second.report["counts"]["texts_that_vary"] == 1
    assert text_of("a") == ("A new title", "New.")
    # What the engine does not bring stays, and so does what varies with the query.
    assert {key: text_of(key) for key in "bcd"} == {key: before[key] for key in "bcd"}
    assert [aged.seen_body for aged in older.all()] == [before["a"][1]]
    client.post(reverse("undo_job", args=["hills", second.pk]))
    assert text_of("a") == before["a"] and not older.all().exists()
