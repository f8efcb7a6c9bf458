"""Batches over the API: the rules of the imports, the place of what is refused, and that a retry does nothing."""

import pytest
from django.db import IntegrityError, connection

from ratings.importing import intake
from ratings.importing.intake.publishing import land
from ratings.models import Collection, Rating, Receipt, Role
from ratings.tests.calls import Caller, make_caller, pointers
from ratings.tests.cast import make_collection, make_member, make_ranking, make_user
from ratings.tests.races import race

pytestmark = pytest.mark.django_db

HILLS = "/collections/hills"


@pytest.fixture
def collection():
    return make_collection()


@pytest.fixture
def caller(collection) -> Caller:
    return make_caller(make_member(collection, "boss", Role.ADMIN), collection, "read", "import")


def one_ranking(documents=("a", "b"), **more) -> dict:
    return {"system": "new", "rankings": [{"query": "q1", "documents": list(documents), **more}]}


def one_rating(**changes) -> dict:
    return {"query": "q1", "document": "a", "rater": "tool", "grade": 2} | changes


def test_queries_are_added_and_corrected_and_what_is_not_said_stays(caller, collection):
    batch = [{"key": "q1", "text": "new text"}, {"key": "q9", "text": "nine", "need": "much", "tags": ["long"]}]
    answer = caller.post(f"{HILLS}/queries", {"queries": batch})
    assert answer.status_code == 200
    assert {name: answer.json()[name] for name in ("new", "changed", "unchanged")} == {
        "new": 1, "changed": 1, "unchanged": 0
    }  # fmt: skip
    first, ninth = (collection.queries.get(key=key) for key in ("q1", "q9"))
    assert (first.text, first.need) == ("new text", "need of q1")
    assert (ninth.text, ninth.need, ninth.tags) == ("nine", "much", ["long"])
    assert caller.post(f"{HILLS}/queries", {"queries": [batch[1] | {"tags": []}]}).json()["changed"] == 1
    ninth.refresh_from_db()
    assert ninth.tags == []


def test_what_a_document_leaves_out_stays_and_what_is_sent_empty_is_emptied(caller, collection):
    whole = {"key": "a", "title": "T", "body": "B", "url": "https://a.example", "fields": {"year": 1999}}
    for sent in (whole, {"key": "a", "fields": {"brand": "x"}}, {"key": "a", "url": ""}):
        assert caller.post(f"{HILLS}/documents", {"documents": [sent]}).json()["changed"] == 1
    found = collection.documents.get(key="a")
    assert (found.title, found.body, found.url, found.fields) == ("T", "B", "", {"brand": "x"})


def test_a_ranking_keeps_its_order_and_scores(caller, collection):
    answer = caller.post(f"{HILLS}/rankings", one_ranking("dca", scores=[3.5, 2, 0.1]))
    assert answer.json()["new"] == 1
    ranking = collection.systems.get(name="new").rankings.get()
    keys = dict(collection.documents.values_list("pk", "key"))
    assert [keys[pk] for pk in ranking.documents.tolist()] == ["d", "c", "a"]
    assert ranking.scores.tolist() == [3.5, 2.0, 0.1]


def test_without_scores_the_places_are_kept_and_unknown_queries_are_told(caller, collection):
    batch = one_ranking("ba")
    batch["rankings"].append({"query": "elsewhere", "documents": ["a"]})
    answer = caller.post(f"{HILLS}/rankings", batch).json()
    assert answer["new"] == 1
    assert any("for queries outside the collection skipped (elsewhere)" in fact for fact in answer["facts"])
    assert collection.systems.get().rankings.get().scores.tolist() == [1.0, 0.5]


def test_another_ranking_for_a_query_is_refused_with_its_place(caller, collection):
    make_ranking(collection, "new", "q1", "ab")
    batch = {"system": "new", "rankings": [{"query": q, "documents": ["b", "a"]} for q in ("q2", "q1")]}
    answer = caller.post(f"{HILLS}/rankings", batch)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:idealist:problem:refused")
    (error,) = answer.json()["errors"]
    assert error["index"] == 1 and error["pointer"].startswith("/rankings/1/documents/")
    assert "a ranking is never overwritten" in error["detail"]
    assert collection.systems.get().rankings.count() == 1


@pytest.mark.parametrize("more", [{}, {"keep_first": True, "order": "score"}])
def test_two_rankings_of_a_query_in_one_batch_never_become_one(caller, collection, more):
    batch = one_ranking("ab") | more
    batch["rankings"].append({"query": batch["rankings"][0]["query"], "documents": ["c", "a"], "scores": [9, 8]})
    answer = caller.post(f"{HILLS}/rankings", batch)
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["pointer"]) == (422, "/rankings")
    assert "has 2 rankings" in error["detail"] and not collection.systems.exists()


def test_rankings_of_further_queries_join_a_system_without_a_warning(caller, collection):
    for query in ("q1", "q2"):
        batch = {"system": "new", "rankings": [{"query": query, "documents": ["a"]}]}
        assert not any("join" in warning for warning in caller.post(f"{HILLS}/rankings", batch).json()["warnings"])
    assert collection.systems.get().rankings.count() == 2


def test_places_in_words_are_places_of_the_batch(caller):
    answer = caller.post(f"{HILLS}/rankings", one_ranking("aba"))
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/rankings/0/documents/2"
    assert error["detail"] == "document a of this ranking of new already appears at /rankings/0/documents/0."
    assert error["cure"] == 'Keep one of the two. If the better place counts, send true as "keep_first".'
    assert caller.post(f"{HILLS}/rankings", one_ranking("aba") | {"keep_first": True}).status_code == 200


def test_scores_that_contradict_the_places_want_a_word(caller, collection):
    batch = one_ranking("ab", scores=[1, 2])
    (error,) = caller.post(f"{HILLS}/rankings", batch).json()["errors"]
    assert 'send "rank" as "order"' in error["cure"] and 'send "score" as "order"' in error["cure"]
    assert caller.post(f"{HILLS}/rankings", batch | {"order": "score"}).status_code == 200
    assert collection.systems.get().rankings.get().scores.tolist() == [2.0, 1.0]


def test_one_wrong_row_leaves_all_unwritten(caller):
    batch = [one_rating(), one_rating(document="b", grade=77), one_rating(document="c", grade=0.5)]
    answer = caller.post(f"{HILLS}/ratings", {"ratings": batch})
    assert pointers(answer) == ["/ratings/1", "/ratings/2"]
    assert [error["index"] for error in answer.json()["errors"]] == [1, 2]
    assert not Rating.objects.exists()


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("queries", {"queries": []}, "/queries"),
        ("queries", {"queries": [{"key": "q", "text": "t", "txet": "u"}]}, "/queries/0/txet"),
        ("queries", {"queries": [{"key": "a b", "text": "t"}]}, "/queries/0/key"),
        ("queries", {"queries": [{"key": 7, "text": "t"}]}, "/queries/0/key"),
        ("queries", {"queries": [{"key": "q" * 501, "text": "t"}]}, "/queries/0/key"),
        ("queries", {"queries": [{"key": "q", "text": "t"}], "more": 1}, "/more"),
        ("documents", {"documents": [{"key": "a", "fields": {"title": "T"}}]}, "/documents/0/fields"),
        ("rankings", one_ranking("ab", scores=[1]), "/rankings/0"),
        ("rankings", one_ranking("ab", scores=[True, False]), "/rankings/0/scores/0"),
        ("rankings", one_ranking("ab") | {"keep_first": 1}, "/keep_first"),
        ("ratings", {"ratings": [one_rating(grade=False)]}, "/ratings/0/grade"),
        ("ratings", {"ratings": [one_rating(grade="2")]}, "/ratings/0/grade"),
        ("ratings", {"ratings": [one_rating(grade=None)]}, "/ratings/0"),
        ("ratings", {"ratings": [one_rating(reason="language")]}, "/ratings/0"),
        ("ratings", {"ratings": [one_rating(seconds=-1)]}, "/ratings/0/seconds"),
    ],
)
def test_what_is_not_as_described_is_refused_at_its_place(caller, path, body, place):
    answer = caller.post(f"{HILLS}/{path}", body)
    assert answer.status_code == 422
    assert place in pointers(answer)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"null", "The body is null, not an object."),
        (b"{", "The body is not JSON"),
        (b"[1]", "The body is [1], not an object."),
        (b'{"queries": [{"key": "q", "key": "r"}]}', "The name 'key' appears twice in one object."),
        (b'{"queries": [{"key": NaN}]}', "NaN is not a JSON number."),
        (b'{"queries": [{"key": "\\u0000"}]}', "holds a NUL"),
        (b'{"queries": [{"key": "\\ud800"}]}', "half a surrogate pair"),
        (b"\xff", "The body is not UTF-8, from byte 1 on."),
        (b'{"queries": ' + b"9" * 5_000 + b"}", "The body has a number with too many digits."),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_body_that_cannot_be_read_says_why(caller, body, said):
    answer = caller.post(f"{HILLS}/queries", body)
    assert answer.status_code == 400
    assert said in answer.json()["detail"]


TOO_LARGE = "urn:idealist:problem:too-large"


def test_a_body_of_another_kind_or_size_is_refused(caller, settings):
    address, headers = "/api/v1/collections/hills/queries", caller.headers()
    form = caller.client.post(address, {"queries": "x"}, headers=headers)
    packed = caller.client.post(
        address, b"{}", content_type="application/json", headers=headers | {"Content-Encoding": "gzip"}
    )
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    long = caller.post(f"{HILLS}/queries", b'{"queries": "' + b"x" * 100)
    assert [form.status_code, packed.status_code, long.status_code] == [415, 415, 413]
    assert {a["Content-Type"] for a in (form, packed, long)} == {"application/problem+json"}
    assert (long.json()["type"], "Send smaller batches" in long.json()["detail"]) == (TOO_LARGE, True)
    # One that the server asks about before it reads it.
    settings.SMALL_BODY, settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 10, 100
    assert caller.post(f"{HILLS}/queries", b" " * 200).json() == long.json()


def test_too_many_results_are_refused(caller, monkeypatch):
    monkeypatch.setattr("ratings.api.bringing.RESULTS_PER_BATCH", 1)
    assert caller.post(f"{HILLS}/rankings", one_ranking("ab")).status_code == 413


def test_a_parameter_that_is_not_known_is_refused(caller):
    answer = caller.get(f"{HILLS}/evaluation", mesure="AP")
    assert answer.status_code == 422 and pointers(answer) == ["mesure"]
    assert "did you mean measure?" in answer.json()["errors"][0]["detail"]


def test_a_parameter_that_stands_twice_is_refused_unless_it_is_a_list(caller):
    address = "/api/v1/collections/hills/"
    twice = caller.client.get(f"{address}ratings?query=q1&query=q2", headers=caller.headers())
    assert twice.status_code == 422 and pointers(twice) == ["query"]
    measures = caller.client.get(f"{address}evaluation?measure=AP&measure=RR", headers=caller.headers())
    assert measures.status_code == 200


def test_collections_are_made_with_their_scale(caller, collection):
    site = make_caller(make_user("root", is_superuser=True), None, "manage", "import")
    grades = [{"value": -1, "label": "Harmful"}, {"value": 0.5}]
    made = site.post("/collections", {"slug": "sea", "grades": grades})
    assert made.status_code == 201
    assert [grade["value"] for grade in made.json()["grades"]] == [-1.0, 0.5]
    assert site.post("/collections", {"slug": "sea"}).status_code == 409
    wrong = [{"value": 1}, {"value": 1e9}, {"value": 0.1234567891}]
    assert pointers(site.post("/collections", {"slug": "lake", "grades": wrong})) == [
        "/grades/1/value", "/grades/2/value"
    ]  # fmt: skip
    assert pointers(site.post("/collections", {"slug": "lake", "grades": [{"value": 1}, {"value": 1.0}]})) == [
        "/grades"
    ]
    assert site.post("/collections/sea/queries", {"queries": [{"key": "q", "text": "t"}]}).status_code == 200


def test_who_is_no_superuser_any_more_makes_no_collection(collection):
    root = make_user("root", is_superuser=True)
    site = make_caller(root, None, "manage")
    root.is_superuser = False
    root.save()
    answer = site.post("/collections", {"slug": "sea"})
    assert (answer.status_code, answer.json()["type"]) == (403, "urn:idealist:problem:role")
    assert not Collection.objects.filter(slug="sea").exists()


# While another import is under way


def test_a_batch_is_looked_at_again_where_somebody_wrote_meanwhile(caller, collection, monkeypatch):
    collection.grades.all().delete()
    real = land

    def late(*arguments):
        monkeypatch.setattr("ratings.importing.intake.stage.land", real)
        collection.grades.create(value=2)
        real(*arguments)

    monkeypatch.setattr("ratings.importing.intake.stage.land", late)
    answer = caller.post(f"{HILLS}/ratings", {"ratings": [one_rating()]})
    assert (answer.status_code, answer.json().get("new")) == (200, 1)


def test_what_the_database_refuses_each_time_is_said(caller, monkeypatch):
    def refuse(*arguments):
        raise IntegrityError("no such row")

    monkeypatch.setattr("ratings.importing.intake.ratings.RatingsImport._write", refuse)
    answer = caller.post(f"{HILLS}/ratings", {"ratings": [one_rating()]})
    assert answer.status_code == 422 and "no such row" in answer.json()["errors"][0]["detail"]


@pytest.mark.django_db(transaction=True)
def test_rankings_that_are_pushed_at_once_are_all_taken(caller):
    def send(number: int) -> int:
        ranking = {"query": "q1", "documents": ["a", "new", f"own{number}"]}
        body = {"system": f"system{number}", "rankings": [ranking]}
        answer = Caller(caller.key).post(f"{HILLS}/rankings", body, key=f"k{number}" if number % 2 else None)
        return answer.status_code, answer.content

    assert {status for status, _ in race(range(4), send)} == {200}


# A batch with a key


def test_a_batch_that_is_sent_again_with_its_key_gets_the_same_answer(caller):
    first = caller.post(f"{HILLS}/ratings", {"ratings": [one_rating()]}, key="k1")
    caller.post(f"{HILLS}/ratings", {"ratings": [one_rating(grade=3)]}, key="k2")
    again = caller.post(f"{HILLS}/ratings", {"ratings": [one_rating()]}, key="k1")
    assert again.json() == first.json() and again.json()["new"] == 1
    assert Rating.objects.get().grade.value == 3  # without the key the late retry would have turned it back
    caller.post(f"{HILLS}/ratings", {"ratings": [one_rating()]})
    assert Rating.objects.get().grade.value == 2


def test_a_key_that_came_with_something_else_is_refused(caller):
    caller.post(f"{HILLS}/ratings", {"ratings": [one_rating()]}, key="k1")
    answer = caller.post(f"{HILLS}/ratings", {"ratings": [one_rating(grade=1)]}, key="k1")
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:idealist:problem:key-reused")


def test_what_was_refused_leaves_its_key_free(caller):
    assert caller.post(f"{HILLS}/ratings", {"ratings": [one_rating(grade=9)]}, key="k1").status_code == 422
    assert not Receipt.objects.exists()
    assert caller.post(f"{HILLS}/ratings", {"ratings": [one_rating()]}, key="k1").status_code == 200


@pytest.mark.parametrize("key", ["a b", "x" * 201, "ü"])
def test_a_key_that_is_none_is_refused(caller, key):
    answer = caller.post(f"{HILLS}/ratings", {"ratings": [one_rating()]}, key=key)
    assert answer.status_code == 422 and not Rating.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_that_send_one_batch_at_once_one_acts(caller, monkeypatch):
    acted, real = [], intake.import_ratings
    monkeypatch.setattr(intake, "import_ratings", lambda *a, **k: acted.append(1) or real(*a, **k))
    assert race_of_batches(caller, "k1") == [{"new": 1, "unchanged": 0}] * 3
    assert len(acted) == 1


def race_of_batches(caller: Caller, key: str | None) -> list[dict]:
    def send(one: Caller) -> dict:
        answer = one.post(f"{HILLS}/ratings", {"ratings": [one_rating()]}, key=key).json()
        connection.close()
        return {name: answer.get(name) for name in ("new", "unchanged")}

    return race([Caller(caller.key) for _ in range(3)], send)


@pytest.mark.django_db(transaction=True)
def test_without_a_key_each_of_them_acts(caller, monkeypatch):
    """The twin of the test above."""
    acted, real = [], intake.import_ratings
    monkeypatch.setattr(intake, "import_ratings", lambda *a, **k: acted.append(1) or real(*a, **k))
    assert sum(answer["new"] for answer in race_of_batches(caller, None)) == 1
    assert len(acted) >= 3  # more where one was kept out by another, and tried again
