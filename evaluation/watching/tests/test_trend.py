"""What stands beside the nights of a watch: marks of changes, today's judgments, and queries of a log or a tag."""

import io
from datetime import UTC, datetime, timedelta
from math import log2

import pytest

from evaluation.models import Night, Watch
from evaluation.watching import acts, nights, telling, trend
from evaluation.watching.scoring import scored
from evaluation.watching.tests.cast import make_watch
from evaluation.watching.verdicts import Compared
from ratings.formats.source import Source
from ratings.importing import intake
from ratings.importing.sampling.samples import Design, sample_log
from ratings.models import Baseline, Collection, Guidelines, JudgeUse, Pair, Presentation, Query
from ratings.tests.cast import (
    Imported,
    grade,
    make_asked,
    make_collection,
    make_rankings,
    make_rater,
    make_sample,
    record_imported,
)

pytestmark = pytest.mark.django_db

FIRST = datetime(2026, 1, 5, 3, 0, tzinfo=UTC)
QUERIES = [f"q{i}" for i in range(30)]


def judge(collection: Collection, queries: list[str], values: str) -> None:
    """Give a, b, c, d these grades, for each of the queries."""
    documents = dict(collection.documents.values_list("key", "pk"))
    rows = [
        Imported(query.pk, documents[key], grade(collection, value))
        for query in collection.queries.filter(key__in=queries)
        for key, value in zip("abcd", values, strict=True)
    ]
    rater = collection.raters.filter(name="trec").first() or make_rater(collection, "trec")
    record_imported(rater, rows)


@pytest.fixture
def shop(db) -> Collection:
    """A collection with the fixed baseline `base`, and the systems `same` and `worse`."""
    shop = make_collection(queries=QUERIES)
    judge(shop, QUERIES, "3200")
    lists = {"base": "abcd", "same": "abcd", "worse": "dcba"}
    make_rankings(shop, {name: dict.fromkeys(QUERIES, documents) for name, documents in lists.items()})
    make_baseline(shop, "fixed", "base")
    return shop


@pytest.fixture
def watch(shop) -> Watch:
    return make_watch(shop, asked={"measure": "nDCG@4"}, created_at=FIRST)


def make_baseline(collection: Collection, kind: str, name: str) -> None:
    system = collection.systems.get(name=name)
    Baseline.objects.create(collection=collection, kind=kind, system=system, name=name, reason="so")


def night_of(watch: Watch, system: str, day: int = 0) -> Night:
    night = nights.night_of_system(watch, system, FIRST + timedelta(days=day))
    telling.tell_due()
    night.refresh_from_db()
    assert night.state == "told", night.problem
    return night


# Marks


def change_scale(watch: Watch) -> None:
    Collection.objects.filter(pk=watch.collection_id).update(scale_version=2)


def change_guidelines(watch: Watch) -> None:
    Guidelines.objects.create(collection=watch.collection, version=1, text="Be kind.")


def change_presentation(watch: Watch) -> None:
    Presentation.objects.create(collection=watch.collection, version=7, content={})


def change_measure(watch: Watch) -> None:
    watch.asked = {"measure": "nDCG@3"}


def change_rule(watch: Watch) -> None:
    watch.asked = {"measure": "nDCG@4", "rule": "median"}


def swap_a_query(watch: Watch) -> None:
    watch.collection.queries.filter(key="q1").delete()
    Query.objects.create(collection=watch.collection, key="q99", text="new")


def change_a_text(watch: Watch) -> None:
    source = Source("texts.jsonl", io.BytesIO(b'{"id": "a", "title": "other", "body": "text"}'))
    assert not intake.import_documents(watch.collection, [source]).refused


def use_a_judge(watch: Watch) -> None:
    run = make_asked(watch.collection, *Pair.objects.all()[:2])
    JudgeUse.objects.create(judge=run.version.judge, version=run.version, use="expected")


def change_fixed(watch: Watch) -> None:
    make_baseline(watch.collection, "fixed", "same")


def change_release(watch: Watch) -> None:
    make_baseline(watch.collection, "release", "same")


def change_request(watch: Watch) -> None:
    watch.depth = 7


@pytest.mark.parametrize(
    ("change", "mark"),
    [
        (change_scale, "scale"),
        (change_guidelines, "guidelines"),
        (change_presentation, "presentation"),
        (change_measure, "measure or options"),
        (change_rule, "measure or options"),
        (swap_a_query, "queries"),
        (change_a_text, "texts of documents"),
        (use_a_judge, "judges"),
        (change_fixed, "fixed baseline"),
        (change_release, "release"),
        (change_request, "request"),
    ],
)
def test_a_change_besides_the_search_is_marked(watch, change, mark):
    night_of(watch, "same", 0)
    night_of(watch, "same", 1)
    change(watch)
    watch.save()
    night_of(watch, "same", 2)
    assert [point.changed for point in trend.points(watch)] == [[], [], [mark]]


# Judgments


def test_a_night_keeps_the_version_of_its_judgments(watch, shop):
    first, second = night_of(watch, "same", 0), night_of(watch, "worse", 1)
    judge(shop, ["q3"], "3210")
    third = night_of(watch, "same", 2)
    versions = [night.means["judgments_version"] for night in (first, second, third)]
    assert versions[0] == versions[1] != versions[2]
    assert first.means["judgments"] == third.means["judgments"] == 120
    assert trend.document(watch, trend.points(watch))["nights"][2]["judgments_version"] == versions[2]


def test_a_night_by_todays_judgments(shop, watch):
    """P@2 of d c b a: 0 of each query that night; of one in 30, half once d is relevant."""
    watch.asked = {"measure": "P@2"}
    watch.save()
    night = night_of(watch, "worse")
    judge(shop, ["q3"], "3203")
    (point,) = trend.points(watch, today=True)
    assert point.means.mean == 0 and point.today == pytest.approx(0.5 / 30)
    assert point.verdicts["fixed"].kind == night.verdicts.get().kind


# Which queries


def test_a_watch_of_a_tag_asks_for_its_queries_alone(watch, shop):
    Query.objects.filter(key__in=QUERIES[:20]).update(tags=["core"])
    watch.tag = "core"
    watch.save()
    night = night_of(watch, "worse")
    told = night.verdicts.get()
    assert (len(night.queries), night.means["queries"], night.means["gaps"]) == (20, 20, 0)
    assert (told.kind, told.numbers["queries"]) == ("worse", 20)


def test_the_head_of_a_log_counts_and_is_not_flipped(watch, shop):
    """The head has 300 of 400 searches. It stays, and the tail loses all of its nDCG@1."""
    watch.asked = {"measure": "nDCG@1"}
    watch.save()
    head, tail = QUERIES[:4], QUERIES[4:]
    make_sample(shop, [*((key, 75, 1.0) for key in head), *((key, 1, 0.26) for key in tail)])
    make_rankings(shop, {"lost tail": dict.fromkeys(head, "abcd") | dict.fromkeys(tail, "dcba")})
    night = night_of(watch, "lost tail")
    told = night.verdicts.get()
    assert told.kind == "worse" and told.numbers["difference"] == pytest.approx(-0.25)
    readings, keys = Compared.of(scored(night), "fixed").tested
    assert keys == list(shop.queries.filter(key__in=tail).order_by("pk").values_list("pk", flat=True))
    assert readings[0].mean() == pytest.approx(-0.25)


def test_fewer_than_20_drawn_queries_of_a_log_tell_nothing(watch, shop):
    make_sample(shop, [(key, 1, 1.0 if place < 11 else 0.1) for place, key in enumerate(QUERIES)])
    told = night_of(watch, "worse").verdicts.get()
    assert told.kind == "cannot tell" and "fewer than 20 queries" in told.numbers["why"]


def log_of(month: str, names: list[str]) -> Source:
    lines = ["query,count", *(f"{name},{50 + place}" for place, name in enumerate(names))]
    return Source(f"{month}.csv", io.BytesIO("\n".join(lines).encode()))


def draw(collection: Collection, log: Source, count: int) -> set[str]:
    """Draw queries from the log and judge those that are new. Returns the texts of the sample."""
    assert not sample_log(collection, [log], Design(count, seed=5)).refused
    unjudged = collection.queries.filter(pairs__isnull=True)
    judge(collection, list(unjudged.values_list("key", flat=True)), "3200")
    drawn = collection.samples.last().drawn
    return set(drawn.values_list("text", flat=True))


def test_a_panel_rotates_and_the_alarm_stays_with_the_queries_of_its_baseline(db):
    """As docs/watch.md says: draw from the new log, promote a release, and let the older queries rest."""
    shop = make_collection(queries=())
    make_rater(shop, "trec")
    old = draw(shop, log_of("september", [f"query {i}" for i in range(60)]), 30)
    keys = list(shop.queries.values_list("key", flat=True))
    make_rankings(shop, {"base": dict.fromkeys(keys, "abcd")})
    make_baseline(shop, "fixed", "base")
    watch = make_watch(shop, asked={"measure": "nDCG@4"}, created_at=FIRST)

    new = draw(shop, log_of("october", [f"query {i}" for i in range(30, 120)]), 40)
    assert len(old) == 30 and len(new) == 40 and old - new and new - old
    every = list(shop.queries.values_list("key", flat=True))
    make_rankings(shop, {"night": dict.fromkeys(every, "abcd") | dict.fromkeys(keys, "dcba")})
    night = night_of(watch, "night", 1)
    told = night.verdicts.get()
    assert (told.kind, told.numbers["queries"], told.numbers["is_minority"]) == ("worse", 30, len(every) > 60)
    lost = 1 - (2 / 2 + 3 / log2(5)) / (3 + 2 / log2(3))  # of each query that was drawn in September
    assert told.numbers["difference"] == pytest.approx(-lost)
    share = len(old & new) / 40  # each drawn query stands for as many searches
    assert night.means["mean"] == pytest.approx(1 - share * lost)

    acts.answer(told, "release", "wanted so", None, "october")
    keys_and_texts = shop.queries.filter(text__in=new).values_list("key", "text")
    lines = ["id,text,tags", *(f"{key},{text},october" for key, text in keys_and_texts)]
    source = Source("tagged.csv", io.BytesIO("\n".join(lines).encode()))
    assert not intake.import_queries(shop, [source]).refused
    watch.tag = "october"
    watch.save()
    make_rankings(shop, {"later": dict.fromkeys(every, "dcba")})
    later = night_of(watch, "later", 2)
    assert len(later.queries) == 40 == later.means["queries"]
    assert {verdict.numbers["queries"] for verdict in later.verdicts.all()} == {40}
    assert later.verdicts.get(baseline="fixed").name == "october"


def test_an_alarm_that_rests_on_fewer_than_half_of_the_queries_says_so(watch, shop):
    assert not night_of(watch, "worse").verdicts.get().numbers["is_minority"]
    more = [f"n{i}" for i in range(31)]
    Query.objects.bulk_create(Query(collection=shop, key=key, text=key) for key in more)
    shop.touch()
    judge(shop, more, "3200")
    night_of(watch, "worse", 1)
    (*_, last) = trend.document(watch, trend.points(watch))["nights"]
    assert last["verdicts"][0]["is_minority"] and last["verdicts"][0]["queries"] == 30
