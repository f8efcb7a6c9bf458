"""Nights of a watch: asked by the worker, stored once, scored, and told against the baselines."""

import io
from datetime import UTC, date, datetime, time, timedelta
from time import sleep

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

from evaluation.models import Night, NightRanking, Verdict, Watch
from evaluation.watching import acts, nights, telling
from evaluation.watching.timetable import following
from ratings.formats.source import Source
from ratings.importing import intake, jobs
from ratings.importing.pull.engines import proposed
from ratings.models import (
    Assignment,
    Baseline,
    Collection,
    Document,
    Engine,
    FormerText,
    Job,
    Notice,
    Query,
    System,
)
from ratings.notices import gathering
from ratings.pool import ageing
from ratings.tests.cast import Imported, grade, make_collection, make_rankings, make_rater, record_imported

pytestmark = pytest.mark.django_db

QUERIES = [f"q{i}" for i in range(40)]
GOOD, BAD = "abcd", "dcba"
FIRST = datetime(2026, 1, 5, 3, 0, tzinfo=UTC)  # a Monday
EVERY_DAY = list(range(7))


@pytest.fixture(autouse=True)
def _allowed(settings) -> None:
    settings.PULL_HOSTS = ["127.0.0.1/32"]


@pytest.fixture
def shop(db):
    """A collection in which a is highly relevant, b relevant, and the system `base` ranks them first."""
    shop = make_collection(queries=QUERIES)
    documents = {document.key: document.pk for document in shop.documents.all()}
    grades = {value: grade(shop, value) for value in "023"}
    rows = [
        Imported(query, documents[key], grades[value])
        for query in shop.queries.values_list("pk", flat=True)
        for key, value in (("a", "3"), ("b", "2"), ("c", "0"), ("d", "0"))
    ]
    record_imported(make_rater(shop, "trec"), rows)
    make_rankings(shop, {"base": dict.fromkeys(QUERIES, GOOD)})
    return shop


class Search:
    """An engine on this machine that answers each query with the documents of `lists`, or fails."""

    def __init__(self, engine) -> None:
        self.lists: dict[str, str] = {}
        self.usual = GOOD
        self.text = ""  # of each document
        self.url = engine(self).url
        self.asked = 0

    def __call__(self, handler) -> None:
        self.asked += 1
        query = handler.given["q"].removeprefix("text of ")
        found = self.lists.get(query, self.usual)
        if callable(found):
            found = found()
        if found is None:
            handler.send({"error": "broken"}, 500)
            return
        source = {"body": self.text}
        hits = [{"_id": key, "_score": 9 - place, "_source": source} for place, key in enumerate(found)]
        handler.send({"hits": {"hits": hits}})


@pytest.fixture
def search(engine) -> Search:
    return Search(engine)


@pytest.fixture
def watch(shop, search) -> Watch:
    engine = proposed(Engine.Dialect.ELASTICSEARCH)
    engine.collection, engine.name, engine.body = shop, "live", ""
    engine.address = search.url + "?q={query}&size={depth}"
    engine.save()
    baseline = System.objects.get(name="base")
    Baseline.objects.create(collection=shop, kind="fixed", system=baseline, name="base", reason="first")
    facts = {"at": time(3), "days": EVERY_DAY, "asked": {"measure": "nDCG@4"}, "created_at": FIRST, "seed": 1}
    return Watch.objects.create(collection=shop, name="live", engine=engine, **facts)


def work() -> None:
    """What a worker does until nothing is left to do."""
    while True:
        nights.mark_gaps()
        waiting = Job.objects.filter(kind="night", state="queued")
        for job in waiting:
            jobs.look_at.func(job.pk)
        telling.tell_due()
        if not waiting.exists():
            return


def night_on(watch: Watch, day: int) -> Night:
    night = nights.begin(watch, FIRST + timedelta(days=day))
    work()
    night.refresh_from_db()
    return night


def verdict(night: Night, kind: str = "fixed") -> Verdict:
    return night.verdicts.get(baseline=kind)


def test_a_night_is_scored_and_told(watch, search):
    night = night_on(watch, 0)
    assert night.state == "told" and not night.failed
    assert night.means["mean"] == pytest.approx(1.0) and night.means["queries"] == 40
    told = verdict(night)
    assert (told.kind, told.numbers["difference"], told.name) == ("not worse", 0.0, "base")
    assert search.asked == 40 + 10  # a tenth again, at least ten
    assert night.noise == {"queries": 10, "differ": 0, "shared": 1.0, "failed": 0}


def test_the_same_ranking_is_stored_once(watch, search):
    night_on(watch, 0)
    search.lists["q3"] = "abdc"
    night_on(watch, 1)
    night_on(watch, 2)
    assert NightRanking.objects.count() == 41
    assert Night.objects.last().rankings[3] != Night.objects.first().rankings[3]


def test_a_large_drop_is_told_once_after_the_engine_was_asked_again(watch, search):
    night_on(watch, 0)
    search.usual = BAD
    search.asked = 0
    night = night_on(watch, 1)
    assert search.asked == 50 + 40
    told = verdict(night)
    assert told.kind == "worse" and told.numbers["again"] == told.numbers["difference"] < -0.3
    later = verdict(night_on(watch, 2))
    assert later.kind == "worse" and later.numbers["unchanged"]
    search.usual = GOOD
    assert verdict(night_on(watch, 3)).kind == "worse"  # until somebody answers


def test_a_drop_that_is_gone_when_asked_again_is_not_told(watch, search):
    night_on(watch, 0)
    search.usual = BAD
    night = nights.begin(watch, FIRST + timedelta(days=1))
    jobs.look_at.func(night.job_id)
    telling.tell_due()
    night.refresh_from_db()
    assert night.state == "again"
    search.usual = GOOD
    work()
    told = verdict(night)
    assert told.kind != "worse" and "asked again" in told.numbers["why"] and told.numbers["again"] == 0


def judge(shop: Collection, documents: str, value: str) -> None:
    """Judge these documents for each query."""
    pks = shop.documents.filter(key__in=documents).values_list("pk", flat=True)
    queries = shop.queries.values_list("pk", flat=True)
    rows = [Imported(query, document, grade(shop, value)) for query in queries for document in pks]
    record_imported(shop.raters.get(name="trec"), rows)


def begun_and_asked(watch: Watch, day: int) -> Night:
    """A night whose engine was asked once, and is to be asked again before an alarm is told."""
    night = nights.begin(watch, FIRST + timedelta(days=day))
    jobs.look_at.func(night.job_id)
    telling.tell_due()
    night.refresh_from_db()
    assert night.state == "again"
    return night


def test_an_alarm_that_was_not_confirmed_is_tested_again_when_the_loss_stays(watch, search):
    night_on(watch, 0)
    search.usual = BAD
    night = begun_and_asked(watch, 1)
    search.usual = GOOD
    work()
    assert verdict(night).kind != "worse"
    search.usual = BAD
    assert verdict(night_on(watch, 2)).kind == "worse"


def test_a_second_asking_without_an_answer_is_told_as_such(watch, search):
    night_on(watch, 0)
    search.usual = BAD
    night = begun_and_asked(watch, 1)
    search.usual = None
    work()
    told = verdict(night)
    assert told.kind != "worse" and "no answer" in told.numbers["why"]
    search.usual = BAD
    assert verdict(night_on(watch, 2)).kind == "worse"


def test_an_alarm_is_told_once_judgments_without_gain_decide_it(watch, search, shop):
    """They leave the scores as they are, for an unjudged document counts as one without gain."""
    watch.margin = 0.05
    watch.save()
    night_on(watch, 0)
    search.usual = "awbx"  # the second and fourth of which nobody judged
    assert verdict(night_on(watch, 1)).kind == "judgments"
    judge(shop, "wx", "0")
    assert verdict(night_on(watch, 2)).kind == "worse"


def test_a_text_from_a_file_stays_whatever_the_engine_brings_later(watch, search, shop):
    search.usual, search.text = "w" + GOOD, "of the engine"
    night_on(watch, 0)
    line = b'{"id": "w", "title": "", "body": "of a file"}'
    assert not intake.import_documents(shop, [Source("texts.jsonl", io.BytesIO(line))]).refused
    search.text = "of the engine, later"
    night = night_on(watch, 1)
    assert Document.objects.get(key="w").body == "of a file"
    assert night.job.report["counts"]["texts_of_files"] == 5  # a to d are of files, too
    watch.engine.replaces_texts = True
    watch.engine.save()
    assert "texts_of_files" not in night_on(watch, 2).job.report["counts"]
    assert Document.objects.get(key="w").body == "of the engine, later"


def test_a_text_that_changes_every_night_is_kept_where_somebody_rated_it(watch, search, shop):
    search.usual = "w" + GOOD
    texts = [f"in stock: {number}" for number in range(6)]
    for day, search.text in enumerate(texts[:3]):
        night_on(watch, day)
    former = FormerText.objects.filter(document__key="w").order_by("pk")
    assert not former.exists() and Document.objects.get(key="w").body == texts[2]
    seen = Imported(shop.queries.first().pk, Document.objects.get(key="w").pk, grade(shop, "2"))
    record_imported(shop.raters.get(name="trec"), [seen])
    for day, search.text in enumerate(texts[3:], 3):
        night_on(watch, day)
    assert Document.objects.get(key="w").body == texts[-1]
    assert [each.body for each in former.all()] == [texts[2]]
    (aged,) = ageing.to_older_text(ageing.of_collection(shop).filter(document__key="w"))
    assert aged.seen_body == texts[2]


def test_a_query_that_fails_is_a_gap_and_no_zero(watch, search):
    search.lists["q5"] = None
    night = night_on(watch, 0)
    assert list(night.failed) == ["q5"] and night.means["gaps"] == 1 and night.means["queries"] == 39
    assert np.isnan(night.values[5]) and night.means["mean"] == pytest.approx(1.0)


def test_queries_that_are_newer_than_the_baseline_count_for_the_level_alone(watch, search, shop):
    night_on(watch, 0)
    documents = dict(shop.documents.values_list("key", "pk"))
    new = Query.objects.bulk_create(Query(collection=shop, key=f"n{i}", text=f"text of n{i}") for i in range(5))
    rows = [Imported(query.pk, documents["a"], grade(shop, "3")) for query in new]
    record_imported(shop.raters.get(name="trec"), rows)
    night = night_on(watch, 1)
    assert night.means["queries"] == 45 and verdict(night).numbers["queries"] == 40


def test_a_night_without_an_answer_is_a_gap(watch, search):
    search.usual = None
    night = night_on(watch, 0)
    assert night.state == "gap" and "no usable answer" in night.problem
    assert gathering.gather() and gathering.gather() == 0
    notice = Notice.objects.get(kind="watch.gap")
    assert notice.text == f"live: the night is a gap. {night.problem}"
    assert notice.path == reverse("night", args=["hills", watch.pk, night.pk])
    search.usual = GOOD
    assert night_on(watch, 1).state == "told"


def test_an_answer_starts_a_new_path_and_the_budget_goes_on(watch, search):
    night_on(watch, 0)
    search.usual = BAD
    told = verdict(night_on(watch, 1))
    Verdict.objects.filter(pk=told.pk).update(answer="fault", reason="a wrong synonym", answered_at=timezone.now())
    search.usual = GOOD
    after = verdict(night_on(watch, 2))
    assert (after.kind, after.path) == ("not worse", told.path + 1)
    assert after.spent_before == told.spent > 0


def test_a_new_release_takes_the_place_of_the_baseline_so_that_the_same_loss_rings_no_more(watch, search, shop):
    base = System.objects.get(name="base")
    Baseline.objects.create(collection=shop, kind="release", system=base, name="base", reason="first")
    night_on(watch, 0)
    search.usual = BAD
    night = night_on(watch, 1)
    assert {alarm.baseline for alarm in watch.open_alarms()} == {"fixed", "release"}
    acts.answer(verdict(night), "release", "wanted so", None, "autumn")
    assert watch.open_alarms() == [] and night.verdicts.filter(answer="release").count() == 2
    later = night_on(watch, 2)
    assert [(each.name, each.kind) for each in later.verdicts.all()] == [("autumn", "not worse")] * 2
    assert len([each for each in telling.happened(shop, FIRST) if each.kind == "watch.worse"]) == 2


@pytest.mark.parametrize("measure", ["AP", "nDCG", "RR"])
@pytest.mark.parametrize(
    ("answered", "kind"),
    [("wxyz", "judgments"), ("wdcxab", "judgments"), ("cdxb", "worse"), (BAD, "worse")],
)
def test_without_expected_gains_a_loss_that_judgments_could_undo_is_no_alarm(
    watch, search, measure, answered, kind
):
    watch.asked = {"measure": measure}
    watch.save()
    night_on(watch, 0)
    search.usual = answered
    told = verdict(night_on(watch, 1))
    assert told.kind == kind and told.numbers["without"] and told.numbers["expected"] is None
    assert told.numbers["unjudged"] == 40 * len(set(answered) & set("wxyz"))


def test_the_second_reading_has_the_best_judgments_for_the_night(watch, search):
    """AP of c d x b: (1/4)/2. With x relevant (1/3 + 2/4)/3, and the baseline a b has (1 + 1)/3."""
    watch.asked = {"measure": "AP"}
    watch.save()
    search.usual = "cdxb"
    numbers = verdict(night_on(watch, 0)).numbers
    assert numbers["difference"] == pytest.approx(1 / 8 - 1)
    assert numbers["at_best"] == pytest.approx(5 / 18 - 2 / 3)


def test_a_system_that_went_while_the_night_was_scored_leaves_no_expected_gains(watch, search, monkeypatch):
    def expected_by_query(*others):
        return {"": np.zeros(40)}

    monkeypatch.setattr("evaluation.watching.scoring.expected_by_query", expected_by_query)
    search.usual = "awbx"
    numbers = verdict(night_on(watch, 0)).numbers
    assert "came or went" in numbers["without"] and numbers["expected"] is None
    assert numbers["at_best"] is not None


def decided_by_judgments(watch: Watch, search: Search) -> Night:
    """A night against a baseline that returns c a s t: s is higher now, w is new, and nobody judged s, t and w."""
    Document.objects.bulk_create(Document(collection=watch.collection, key=key) for key in "st")
    make_rankings(watch.collection, {"with s": dict.fromkeys(QUERIES, "cast")})
    system = System.objects.get(name="with s")
    Baseline.objects.create(collection=watch.collection, kind="fixed", system=system, name="with s", reason="new")
    watch.asked = {"measure": "AP"}
    watch.save()
    search.usual = "swat"
    return night_on(watch, 0)


def test_what_decides_is_what_only_one_of_the_two_returns(watch, search, shop):
    night = decided_by_judgments(watch, search)
    told = verdict(night)
    assert (told.kind, night.means["unjudged"], told.numbers["unjudged"]) == ("judgments", 120, 40)
    assert acts.ask_raters(night, 1) == 40
    assert set(Assignment.objects.values_list("pair__document__key", flat=True)) == {"w"}


def test_once_those_are_judged_what_both_return_elsewhere_decides(watch, search, shop):
    night = decided_by_judgments(watch, search)
    judge(shop, "w", "0")
    told = verdict(night_on(watch, 1))
    assert (told.kind, told.numbers["unjudged"]) == ("judgments", 40)
    assert {document for _, document in acts.unjudged(night)} == {shop.documents.get(key="s").pk}


def test_that_judgments_decide_is_told_once_until_another_verdict(watch, search, shop):
    first = decided_by_judgments(watch, search)
    night_on(watch, 1)
    search.usual = "cast"
    night_on(watch, 2)
    search.usual = "swat"
    last = night_on(watch, 3)
    addresses = [each.path for each in telling.happened(shop, FIRST) if each.kind == "watch.judgments"]
    assert [int(address.split("/")[-2]) for address in addresses] == [first.pk, last.pk]


def test_a_call_brings_a_system(watch, shop):
    watch.engine = None
    watch.save()
    make_rankings(shop, {"tonight": dict.fromkeys(QUERIES[:30], GOOD)})
    nights.night_of_system(watch, "tonight", FIRST)
    work()
    night = Night.objects.get()
    assert (night.state, night.system, night.means["queries"], night.means["gaps"]) == ("told", "tonight", 30, 10)
    with pytest.raises(ValueError, match="no system"):
        nights.night_of_system(watch, "nothing", FIRST + timedelta(days=1))


def test_a_loss_of_a_system_that_a_call_named_is_not_asked_of_the_engine(watch, search, shop):
    make_rankings(shop, {"tonight": dict.fromkeys(QUERIES, BAD)})
    night = nights.night_of_system(watch, "tonight", FIRST)
    work()
    assert search.asked == 0 and verdict(night).kind == "worse"


def test_nights_begin_when_they_are_due_and_once(watch, monkeypatch):
    nights.plan(watch, FIRST)
    assert watch.next_at == FIRST + timedelta(days=1)
    watch.save()
    monkeypatch.setattr(timezone, "now", lambda: FIRST + timedelta(days=1, minutes=5))
    assert nights.begin_due() == 1 and nights.begin_due() == 0
    assert Night.objects.get().due_at == FIRST + timedelta(days=1)
    watch.refresh_from_db()
    assert watch.next_at == FIRST + timedelta(days=2)


def test_a_second_worker_with_an_old_row_begins_nothing(watch, monkeypatch):
    nights.plan(watch, FIRST)
    watch.save()
    monkeypatch.setattr(timezone, "now", lambda: FIRST + timedelta(days=1, minutes=5))
    one, two = Watch.objects.get(), Watch.objects.get()
    assert (nights._begin_if_due(one, one.next_at), nights._begin_if_due(two, two.next_at)) == (True, False)


@pytest.mark.parametrize(
    ("after", "days", "zone", "expected"),
    [
        (FIRST, [0], "UTC", FIRST + timedelta(days=7)),
        (FIRST - timedelta(minutes=1), [0], "UTC", FIRST),
        (FIRST, [2, 4], "UTC", FIRST + timedelta(days=2)),
        (FIRST, EVERY_DAY, "Asia/Tokyo", datetime(2026, 1, 5, 18, tzinfo=UTC)),
        (datetime(2026, 3, 28, 12, tzinfo=UTC), EVERY_DAY, "Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ],
)
def test_the_next_night(after, days, zone, expected):
    assert following(after, time(3), days, zone) == expected


def test_a_night_that_is_planned_a_second_time_holds_up_no_other_watch(watch, shop, monkeypatch):
    """As where the clock of the machine that saved the settings is behind that of the worker."""
    watch.next_at = FIRST
    watch.save()
    other = Watch.objects.create(
        collection=shop, name="z", engine=watch.engine, at=time(3), days=EVERY_DAY, next_at=FIRST, created_at=FIRST
    )
    Night.objects.create(watch=watch, due_at=FIRST, state="told")
    monkeypatch.setattr(timezone, "now", lambda: FIRST + timedelta(minutes=5))
    assert nights.begin_due() == 1
    assert list(other.nights.values_list("due_at", flat=True)) == [FIRST] and watch.nights.count() == 1
    watch.refresh_from_db()
    assert watch.next_at == FIRST + timedelta(days=1)


def test_a_night_that_begins_days_late_has_the_time_when_it_begins(watch, monkeypatch):
    watch.next_at = FIRST
    watch.save()
    now = FIRST + timedelta(days=9, hours=2)
    monkeypatch.setattr(timezone, "now", lambda: now)
    assert nights.begin_due() == 1
    assert Night.objects.get().due_at == now


def test_a_night_that_another_worker_told_or_removed_becomes_no_gap(watch):
    told, removed = (Night.objects.create(watch=watch, due_at=FIRST + timedelta(days=day)) for day in range(2))
    Night.objects.filter(pk=told.pk).update(state="told")
    Night.objects.filter(pk=removed.pk).delete()
    for night in (told, removed):
        nights.as_gap(night, "too late")
    assert [each.state for each in Night.objects.all()] == ["told"]


def test_a_night_that_cannot_be_told_is_a_gap_and_holds_up_no_other(watch, shop, monkeypatch):
    make_rankings(shop, {"tonight": dict.fromkeys(QUERIES, GOOD)})
    other = Watch.objects.create(collection=shop, name="z", asked=watch.asked, created_at=FIRST)
    broken, told = (nights.night_of_system(each, "tonight", FIRST) for each in (watch, other))
    scored = telling.scored

    def of_one(night, *more):
        return scored(night, *more) if night == told else 1 / 0

    monkeypatch.setattr(telling, "scored", of_one)
    assert telling.tell_due() == 1 and telling.tell_due() == 0
    broken.refresh_from_db()
    assert (broken.state, broken.problem) == ("gap", "Idealist made a mistake here. Its log tells more.")


def test_a_holiday_and_a_pause(watch):
    watch.holiday_until = date(2026, 1, 9)
    nights.plan(watch, FIRST)
    assert watch.next_at == datetime(2026, 1, 10, 3, tzinfo=UTC)
    watch.paused = True
    nights.plan(watch, FIRST)
    assert watch.next_at is None


def test_old_nights_go_with_rankings_that_no_other_has(watch, search, monkeypatch):
    search.lists["q1"] = "badc"
    night_on(watch, 0)
    search.lists.clear()
    last = night_on(watch, 1)
    monkeypatch.setattr(timezone, "now", lambda: FIRST + timedelta(days=1_000))
    nights.forget_old()
    assert list(Night.objects.all()) == [last] and NightRanking.objects.count() == 40


def test_the_night_stays_whose_path_the_next_one_continues(watch, search, monkeypatch):
    first = night_on(watch, 0)
    Baseline.objects.all().delete()
    night_on(watch, 1)
    last = night_on(watch, 2)  # which has no verdict
    monkeypatch.setattr(timezone, "now", lambda: FIRST + timedelta(days=1_000))
    nights.forget_old()
    assert list(Night.objects.all()) == [first, last]


def test_what_an_engine_that_hangs_or_lies_gives_is_a_gap(watch, search, monkeypatch):
    monkeypatch.setattr("ratings.importing.pull.engines.SECONDS", 0.3)
    monkeypatch.setattr("ratings.importing.pull.engines.MOST_SECONDS", 0.5)
    search.lists |= {
        "q1": lambda: sleep(1),  # and then has no answer
        "q2": "aab",  # a document twice
        "q3": [],  # an empty list is an answer
    }
    night = night_on(watch, 0)
    assert night.state == "told" and set(night.failed) == {"q1", "q2"}
    assert "the same document" in night.failed["q2"] and "seconds" in night.failed["q1"]
    assert night.means["gaps"] == 2 and night.means["queries"] == 38
    assert night.values[3] == 0
    search.lists.clear()
    assert night_on(watch, 1).failed == {}


def test_an_engine_that_answers_differently_shows_as_noise(watch, search):
    turns = iter(range(1_000))
    search.lists = dict.fromkeys(QUERIES, lambda: GOOD if next(turns) % 2 else BAD)
    noise = night_on(watch, 0).noise
    assert noise["queries"] == 10 and noise["differ"] > 0 and noise["shared"] == 1.0


def test_a_night_waits_for_those_before_it(watch, shop):
    watch.engine = None
    watch.save()
    make_rankings(shop, {"one": dict.fromkeys(QUERIES, GOOD), "two": dict.fromkeys(QUERIES, BAD)})
    nights.night_of_system(watch, "one", FIRST)
    later = nights.night_of_system(watch, "two", FIRST + timedelta(days=1))
    assert not telling.tell(later)
    assert telling.tell_due() == 1 and telling.tell_due() == 1
    assert [night.state for night in Night.objects.all()] == ["told", "told"]


def test_of_two_nights_that_are_told_at_once_the_second_continues_the_path_of_the_first(watch, shop, monkeypatch):
    watch.engine = None
    watch.save()
    make_rankings(shop, {"one": dict.fromkeys(QUERIES, GOOD)})
    early = nights.night_of_system(watch, "one", FIRST)
    Night.objects.filter(pk=early.pk).update(state="told")  # as if it were not there for the other worker
    late = nights.night_of_system(watch, "one", FIRST + timedelta(days=1))
    scored = telling.scored

    def meanwhile(night, *others):
        if night.pk == late.pk and not early.verdicts.exists():
            Night.objects.filter(pk=early.pk).update(state="fetched")
            assert telling.tell(Night.objects.get(pk=early.pk))
        return scored(night, *others)

    monkeypatch.setattr(telling, "scored", meanwhile)
    assert not telling.tell(late) and not late.verdicts.exists()
    assert telling.tell(late) and late.verdicts.get().path == 1
