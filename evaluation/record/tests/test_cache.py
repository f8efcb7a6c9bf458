"""Numbers brought up to date query by query are those of computing everything again."""

import threading

import numpy as np
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from evaluation import record, scores
from evaluation.agreeing import consistency
from evaluation.agreement.coefficients import coefficients, ordinal_alpha
from evaluation.judgments.rules import RULES, RULES_OF_ALL
from evaluation.measures import Options, parse_measure
from evaluation.page import documents
from evaluation.page.holdings import holdings
from evaluation.record import cache, versions
from evaluation.tests.worked import evaluated
from ratings.desk import queue
from ratings.models import Pair, Rater
from ratings.pool import adjudication
from ratings.pool.pooling import pool
from ratings.tests.cast import make_collection, make_ranking

from ...tests.worked import rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MEASURES = ["nDCG@3", "nDCG", "AP", "RR", "DCG@2", "Judged@3", "ERR@3", "RBP(p=0.5)", "Bpref", "NumRelRet"]


CACHES = ("_wholes", "_small_values", "_records", "_judgments", "_columns")


@pytest.fixture
def collection():
    """Eight queries, two systems, a pool of everything that they return."""
    queries = tuple(f"q{number}" for number in range(1, 9))
    made = make_collection("kept", queries=queries)
    for number, query in enumerate(queries):
        make_ranking(made, "first", query, "abcd"[number % 3 :])
        make_ranking(made, "second", query, "dcba"[: 1 + number % 4])
    for query in queries[:6]:
        rate(made, query, a="2", d="-1")
    pool(made, depth=4, wanted=2)
    return made


def everything(collection, rule: str = "mean") -> dict:
    """Every number that can be asked for, as bytes."""
    evaluation = evaluated(collection, MEASURES, Options(), rule=rule, bounds=["nDCG@3"])
    numbers = {"values": evaluation.per_query.to_numpy(np.float64).tobytes()}
    for (_, system), bounds in evaluation.bounds.items():
        numbers[system] = (bounds.low.tobytes(), bounds.high.tobytes())
    _, judgments = scores.read(collection, scores.Asked(parse_measure("RR"), rule=rule))
    judged = (judgments.query.tobytes(), judgments.document.tobytes(), judgments.grade.tobytes())
    numbers |= {"reasons": evaluation.reasons.to_numpy().tolist(), "judgments": judged}
    agreed = consistency.agreement_of(cache.opinions(collection))
    order = consistency.cached_order(collection, scores.Asked(parse_measure("nDCG@3"), rule=rule), draws=3)
    # As text, in which two nan are equal.
    numbers["agreement"] = documents.as_text(consistency.document(agreed, order))
    return numbers | {"counts": holdings(collection)}


@pytest.fixture(autouse=True)
def caches(monkeypatch) -> None:
    """Caches of this test alone."""
    for name in CACHES:
        monkeypatch.setattr(cache, name, getattr(cache, name))


def forget() -> None:
    for name in CACHES:
        setattr(cache, name, cache.Recent(getattr(cache, name)._limit))


@pytest.mark.parametrize("grades", [("1", "2"), ("2", "2")])
def test_alpha_beside_the_results_is_that_of_the_page_of_agreement(collection, grades):
    for name, grade in zip(("first", "second"), grades, strict=True):
        for query in ("q1", "q2"):
            saved(collection, name, query, grade=collection.grades.get(value=grade))
    saved(collection, "third", "q1", reason="broken")
    whole = coefficients(consistency.agreement_of(cache.opinions(collection)).table)
    found, _ = cache.read(collection, cache.Source())
    (row,) = [row for row in whole if row["name"] == "alpha_ordinal"]
    assert ordinal_alpha(found.ratings, sorted(found.values.grades.values())) == row
    assert row["pairs"] == 2


@pytest.mark.parametrize("changes", [{}, {"unjudged": "condensed"}, {"missing": "skip"}, {"ideal": "retrieved"}])
def test_the_order_of_systems_has_the_means_of_the_results(collection, changes):
    for query in ("q1", "q2"):
        rate(collection, query, rater="second", a="1", d="3")
    for measure in ("nDCG@3", "nDCG", "AP@2", "Rprec", "ERR@3", "RBP(p=0.5)@2", "Bpref", "Success@1"):
        asked = scores.Asked.of(collection, measure=measure, **changes)
        kept, anew = (
            order(collection, asked, draws=4).stability
            for order in (consistency.cached_order, consistency.order_of)
        )
        evaluation = evaluated(collection, [measure], asked.options)
        (name,) = map(str, evaluation.measures)
        expected = [evaluation.by_column[system, name].mean for system in evaluation.systems]
        np.testing.assert_array_equal(kept.means, expected, measure)
        for name in ("means", "low", "high", "kept", "holds", "tau"):
            np.testing.assert_array_equal(getattr(kept, name), getattr(anew, name), measure)
        assert str(kept.left_out) == str(anew.left_out), measure


def rater_of(collection, name: str) -> Rater:
    return Rater.objects.get_or_create(collection=collection, name=name)[0]


def pair_of(collection, query: str, document: str = "c") -> Pair:
    return Pair.objects.get(query__key=query, query__collection=collection, document__key=document)


def saved(collection, who: str, query: str, document: str = "c", **said) -> Pair:
    """The pair of which somebody said this: the first grade of the scale, where nothing is given."""
    pair = pair_of(collection, query, document)
    queue.save(rater_of(collection, who), pair, queue.Submission(**said or {"grade": collection.grades.first()}))
    return pair


@pytest.mark.parametrize("rule", RULES)
def test_after_any_change_they_are_those_of_a_fresh_start(collection, rule):
    generator = np.random.default_rng(7)
    pairs = list(Pair.objects.filter(query__collection=collection).order_by("pk"))
    scale = list(collection.grades.order_by("value"))
    everything(collection, rule)
    for step, act in enumerate(["rate", "adjudicate", "rate", "undo", "rate", "weigh"] * 2):
        rater = rater_of(collection, f"rater {step % 3}")
        pair = pairs[generator.integers(len(pairs))]
        if act == "rate":
            given = {"grade": scale[generator.integers(len(scale))]} if step % 4 else {"reason": "broken"}
            queue.save(rater, pair, queue.Submission(**given))
        elif act == "undo":
            assert queue.undo(rater)
        elif act == "adjudicate":
            adjudication.adjudicate(pair, scale[0], reason="Read twice.", actor=None)
        else:
            rater.weight += 1
            rater.save()
            collection.touch()
        brought_up_to_date = everything(collection, rule)
        forget()
        assert everything(collection, rule) == brought_up_to_date, (step, act)


@pytest.mark.parametrize("rule", RULES)
def test_only_the_queries_that_changed_are_read(collection, monkeypatch, rule):
    # Who gives a first rating can be left out of the order of systems from then on: a world more for every query.
    rate(collection, "q1", rater="somebody", b="1")
    everything(collection, rule)
    read = []
    for name in ("load", "part"):
        monkeypatch.setattr(record, name, spied(getattr(record, name), read))
    pair = saved(collection, "somebody", "q2", "b")
    everything(collection, rule)
    # For the arrays that the pages read and, where one rating does not tell of all judgments, for the scores, for
    # the bounds, and for the order of systems.
    assert read == [[pair.query_id]] * (1 if rule in RULES_OF_ALL else 4)


def spied(act, read: list):
    def spy(*arguments):
        read.append(arguments[2] if act.__name__ == "part" else act.__name__)
        return act(*arguments)

    return spy


def test_many_changed_queries_are_read_together(collection, monkeypatch):
    everything(collection)
    monkeypatch.setattr(cache, "MOST_CHANGED_QUERIES", 1)
    for key in ("q1", "q2"):
        saved(collection, "somebody", key, "b")
    brought_up_to_date = everything(collection)
    forget()
    assert everything(collection) == brought_up_to_date


@pytest.mark.both_databases
def test_the_queries_that_changed_between_two_versions_are_those_of_acts_and_decisions(collection):
    elsewhere = make_collection("elsewhere", queries=["q1"])
    versions, pairs = [record.version(collection)], []
    for who, query in (("one", "q3"), ("other", "q7"), ("one", "q5"), (None, "q2")):
        pairs.append(saved(collection, who, query) if who else pair_of(collection, query))
        if not who:
            adjudication.adjudicate(pairs[-1], collection.grades.first(), reason="clear", actor=None)
            rate(elsewhere, "q1", a="2")
        versions.append(record.version(collection))
    numbers = [version.number for version in versions]
    assert numbers == sorted(set(numbers))
    for start in range(len(versions)):
        changed = record.changed_queries(collection, versions[start], versions[-1])
        assert changed == sorted({pair.query_id for pair in pairs[start:]})


@pytest.mark.parametrize("most", ["MOST_RATERS", "MOST_ACTS"])
def test_where_too_much_happened_nobody_asks_which_queries_changed(collection, most, monkeypatch):
    monkeypatch.setattr(versions, most, 1)
    before = record.version(collection)
    for who, query in (("one", "q3"), ("other", "q7")):
        saved(collection, who, query)
    assert record.changed_queries(collection, before, record.version(collection)) is None


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_a_save_that_commits_late_is_not_missed_and_keeps_nobody_waiting(collection):
    """The twin takes the highest id for the last act of everybody."""
    slow, quick = rater_of(collection, "slow"), rater_of(collection, "quick")
    late, early = pair_of(collection, "q3"), pair_of(collection, "q5")
    submission = queue.Submission(grade=collection.grades.first())
    saved, over = threading.Event(), threading.Event()

    def save_slowly() -> None:
        with transaction.atomic():
            queue.save(slow, late, submission)
            saved.set()
            over.wait(30)
        connection.close()

    thread = threading.Thread(target=save_slowly)
    thread.start()
    assert saved.wait(30)
    queue.save(quick, early, submission)  # would wait for a row that both of them lock
    assert not over.is_set()
    between = record.version(collection)
    over.set()
    thread.join()
    after = record.version(collection)
    assert record.changed_queries(collection, between, after) == [late.query_id]
    highest = between._replace(acts=dict.fromkeys(after.acts, max(between.acts.values())))
    assert record.changed_queries(collection, highest, after) == []


@pytest.mark.both_databases
def test_a_rater_who_came_later_is_looked_up_once(collection):
    everything(collection)
    rater = rater_of(collection, "late")
    pairs = Pair.objects.filter(query__collection=collection, document__key__in="bc").order_by("pk")
    counts = []
    for pair in pairs[:3]:
        queue.save(rater, pair, queue.Submission(grade=collection.grades.first()))
        with CaptureQueriesContext(connection) as captured:
            evaluated(collection, MEASURES, Options(), bounds=["nDCG@3"])
        counts.append(len(captured))
    assert counts[0] > counts[1] == counts[2]


def test_only_the_latest_are_kept():
    recent = cache.Recent(2)
    for name in ("a", "b", "a", "c"):
        recent.put(((1, "basis"), name), name)
    assert [recent.get(((1, "basis"), name)) for name in "abc"] == ["a", None, "c"]
