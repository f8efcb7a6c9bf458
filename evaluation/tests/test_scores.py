import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from django.db import transaction

from evaluation import scores
from evaluation.measures import PROFILES, Options, parse_measure
from evaluation.scores import Asked
from evaluation.tests.worked import evaluated, summary_of
from ratings.desk import queue
from ratings.importing.sampling.samples import leave_out
from ratings.models import Collection, Pair, Query, Ranking, Rating, Sample
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import make_collection, make_ranking, make_sample

from .worked import (
    HYBRID_Q1,
    IDEAL,
    KEYWORD_Q1,
    KEYWORD_Q2,
    NEUTRAL_Q2,
    SECOND,
    rate,
    worked_collection,
)

pytestmark = pytest.mark.django_db

DEFAULT = Options()


def asked_for(measure: str) -> Asked:
    return Asked(parse_measure(measure), DEFAULT)


def test_two_queries_and_two_systems_by_hand():
    evaluation = evaluated(worked_collection(), ["nDCG@10", "DCG@10"], DEFAULT)
    assert evaluation.per_query.index.tolist() == ["q1", "q2"]
    assert evaluation.per_query.columns.tolist() == [
        ("nDCG@10", "hybrid"),
        ("nDCG@10", "keyword"),
        ("DCG@10", "hybrid"),
        ("DCG@10", "keyword"),
    ]
    assert evaluation.per_query.to_numpy() == pytest.approx(
        np.array(
            [
                [HYBRID_Q1, KEYWORD_Q1, IDEAL, 2 + 3 * SECOND],
                [NEUTRAL_Q2, KEYWORD_Q2, 0.0, -1 + SECOND],
            ]
        ),
        abs=1e-12,
    )
    means = summary_of(evaluation)["mean"]
    assert means["keyword", "nDCG@10"] == pytest.approx((KEYWORD_Q1 + KEYWORD_Q2) / 2, abs=1e-12)
    assert means["hybrid", "DCG@10"] == pytest.approx(IDEAL / 2, abs=1e-12)
    assert (evaluation.collection, evaluation.systems) == ("hills", ("hybrid", "keyword"))


def test_judged_stands_beside_every_measure_at_its_cutoff():
    collection = worked_collection()
    summary = summary_of(evaluated(collection, ["nDCG@2", "nDCG@10", "AP"], DEFAULT))
    # keyword: b a d with d unjudged for q1, d a for q2. hybrid returned nothing for q2, which tells nothing.
    assert summary.loc["keyword", "judged"].tolist() == pytest.approx([1.0, (2 / 3 + 1) / 2, (2 / 3 + 1) / 2])
    assert summary.loc["hybrid", "judged"].tolist() == [1.0, 1.0, 1.0]


def test_a_gap_has_no_value_while_a_missing_ranking_is_an_empty_list():
    collection = worked_collection()
    collection.systems.filter(name="hybrid").update(gaps=True)
    evaluation = evaluated(collection, ["nDCG@10"], DEFAULT)
    values = evaluation.per_query["nDCG@10", "hybrid"]
    assert values["q1"] == pytest.approx(HYBRID_Q1, abs=1e-12) and np.isnan(values["q2"])
    row = summary_of(evaluation).loc["hybrid", "nDCG@10"]
    assert (row["mean"], row["queries"]) == (pytest.approx(HYBRID_Q1, abs=1e-12), 1)
    # An empty answer is a ranking, and scores as before.
    make_ranking(collection, "hybrid", "q2", "")
    collection.touch()
    values = evaluated(collection, ["nDCG@10"], DEFAULT).per_query["nDCG@10", "hybrid"]
    assert values["q2"] == pytest.approx(NEUTRAL_Q2, abs=1e-12)


def test_a_gap_has_no_bounds():
    collection = worked_collection()
    collection.systems.filter(name="hybrid").update(gaps=True)
    evaluation = scores.evaluate(collection, asked_for("nDCG@10"), bounds=["nDCG@10"])
    low = evaluation.bounds[evaluation.measures[0], "hybrid"].low
    assert np.isnan(low).tolist() == [False, True]


def test_judged_tells_what_condensing_left_out():
    collection = worked_collection()
    condensed = summary_of(evaluated(collection, ["nDCG@10", "Judged@10"], replace(DEFAULT, unjudged="condensed")))
    assert condensed.loc[("keyword", "nDCG@10"), "judged"] == pytest.approx((2 / 3 + 1) / 2)
    assert condensed.loc[("keyword", "Judged@10"), "mean"] == 1.0


def test_queries_that_do_not_count_are_counted_with_their_reason():
    collection = make_collection(queries=("q1", "q2", "q3", "q4"))
    rate(collection, "q1", a="2")
    rate(collection, "q2", a="0", b="0")
    rate(collection, "q4", a="1")
    for query in ("q1", "q2", "q3"):
        make_ranking(collection, "s", query, "ab")
    evaluation = evaluated(collection, ["nDCG@10", "DCG@10"], DEFAULT)
    ndcg = summary_of(evaluation).loc[("s", "nDCG@10")]
    assert (ndcg["queries"], ndcg["undefined"]) == (2, 2)
    assert ndcg["why"] == {"not judged": 1, "nothing to find": 1}
    assert scores.why(ndcg["why"]) == "1 not judged, 1 nothing to find"
    assert ndcg["mean"] == 0.5
    assert evaluation.reasons["nDCG@10", "s"].tolist() == [
        "counted",
        "nothing to find",
        "not judged",
        "counted",
    ]
    assert evaluation.per_query["nDCG@10", "s"].isna().tolist() == [False, True, True, False]
    # A sum has a value where there is nothing to find, and shows 0 for q3 without counting it.
    dcg = summary_of(evaluation).loc[("s", "DCG@10")]
    assert (dcg["queries"], dcg["why"], dcg["mean"]) == (3, {"not judged": 1}, pytest.approx(2 / 3))
    assert evaluation.per_query["DCG@10", "s"].tolist() == [2.0, 0.0, 0.0, 0.0]


def test_a_missing_ranking_is_empty_by_default_and_skipped_as_trec_eval_does():
    collection = worked_collection()
    summary = summary_of(evaluated(collection, ["RR"], DEFAULT, ["hybrid"])).loc[("hybrid", "RR")]
    assert (summary["mean"], summary["queries"], summary["undefined"]) == (0.5, 2, 0)
    summary = summary_of(evaluated(collection, ["RR"], PROFILES["trec_eval"], ["hybrid"])).loc[("hybrid", "RR")]
    assert (summary["mean"], summary["queries"], summary["why"]) == (1.0, 1, {"no ranking": 1})
    summary = summary_of(evaluated(collection, ["RR"], PROFILES["trec_eval -c"], ["hybrid"])).loc[("hybrid", "RR")]
    assert (summary["mean"], summary["queries"]) == (0.5, 2)


def test_three_raters_are_averaged_and_other_rules_give_their_own_numbers():
    collection = make_collection(queries=("q1",))
    for rater, grade in (("x", "3"), ("y", "2"), ("z", "2")):
        rate(collection, "q1", rater=rater, a=grade)
    rate(collection, "q1", rater="x", b="1")
    make_ranking(collection, "s", "q1", "a")

    def cg(rule: str) -> float:
        return summary_of(evaluated(collection, ["CG"], DEFAULT, rule=rule)).loc[("s", "CG"), "mean"]

    assert cg("mean") == 7 / 3
    assert [cg(rule) for rule in ("median", "min", "max", "majority")] == [2, 2, 3, 2]


def test_the_interval_lies_around_the_mean_and_within_the_scale():
    keys = [f"q{i}" for i in range(1, 13)]
    collection = make_collection(queries=keys)
    for place, key in enumerate(keys):
        rate(collection, key, a="1")
        make_ranking(collection, "good", key, "ba" if place == 0 else "ab")
        make_ranking(collection, "poor", key, "a" if place == 0 else "b")
    summary = summary_of(evaluated(collection, ["RR"], DEFAULT)).xs("RR", level="measure")
    # Every third resample misses the one query that differs, so that only the end of the scale stops the widening.
    good, poor = summary.loc["good"], summary.loc["poor"]
    assert good["mean"] == pytest.approx(11.5 / 12)
    assert good["low"] < good["mean"] < good["high"] == 1.0
    assert poor["mean"] == pytest.approx(1 / 12)
    assert 0.0 == poor["low"] < poor["mean"] < poor["high"]


@pytest.mark.parametrize("undefined", ["skip", "zero"])
def test_a_collection_without_rankings_ratings_or_queries_gives_empty_frames(undefined):
    options = Options(undefined=undefined)
    bare = make_collection("bare", queries=(), documents=(), scale={})
    evaluation = evaluated(bare, ["nDCG@10", "AP"], options)
    assert (evaluation.per_query.shape, len(summary_of(evaluation))) == ((0, 0), 0)

    unrated = make_collection("unrated")
    make_ranking(unrated, "s", "q1", "ab")
    evaluation = evaluated(unrated, ["nDCG@10", "AP"], options)
    assert evaluation.per_query.shape == (2, 2)
    row = summary_of(evaluation).loc[("s", "nDCG@10")]
    assert (row["queries"], row["undefined"], row["why"]) == (0, 2, {"not judged": 2})
    assert np.isnan(row["mean"])
    assert np.isnan(row["judged"])

    bare.systems.create(name="s")
    bare.touch()
    evaluation = evaluated(bare, ["nDCG@10"], options)
    assert (evaluation.per_query.shape, summary_of(evaluation).loc[("s", "nDCG@10"), "undefined"]) == ((0, 1), 0)


def test_options_come_from_the_profile_the_collection_and_what_is_given():
    collection = make_collection()
    collection.relevant_from = 2
    assert scores.options_for(collection) == Options(relevant_from=2.0)
    chosen = scores.options_for(collection, "trec_eval -c", ties="rank", relevant_from="0.5")
    assert chosen == replace(PROFILES["trec_eval -c"], ties="rank", relevant_from=0.5)
    with pytest.raises(ValueError, match="unknown profile 'trec_evil'; did you mean trec_eval"):
        scores.options_for(collection, "trec_evil")
    with pytest.raises(ValueError, match="negatives must be one of"):
        scores.options_for(collection, negatives="minimax")


def test_the_fingerprint_names_a_rule_that_is_not_the_mean():
    collection = worked_collection()
    assert evaluated(collection, ["AP"], DEFAULT).fingerprint == DEFAULT.fingerprint()
    assert evaluated(collection, ["AP"], DEFAULT, rule="max").fingerprint.endswith(" rule=max")


def test_the_open_query_adds_up_to_the_number_that_is_shown():
    collection = worked_collection()
    value = evaluated(collection, ["nDCG@10"], DEFAULT).per_query.loc["q2", ("nDCG@10", "keyword")]
    opened = scores.explain(collection, asked_for("nDCG@10"), "q2")
    assert list(opened) == ["hybrid", "keyword"]
    keyword = opened["keyword"]
    ids = dict(collection.documents.values_list("key", "pk"))
    assert [(row.rank, row.document, row.grade) for row in keyword.ranking] == [
        (1, ids["d"], -1),
        (2, ids["a"], 1),
    ]
    assert sum(row.contribution for row in keyword.ranking) == pytest.approx(keyword.dcg, abs=1e-15)
    assert (keyword.dcg - keyword.min_dcg) / (keyword.idcg - keyword.min_dcg) == value == keyword.ndcg
    assert opened["hybrid"].ranking == []
    assert opened["hybrid"].ndcg == NEUTRAL_Q2


def test_an_unknown_query_or_system_cannot_be_opened():
    collection = worked_collection()
    with pytest.raises(ValueError, match="unknown query 'q3' in hills"):
        scores.explain(collection, asked_for("nDCG"), "q3")
    with pytest.raises(ValueError, match="unknown system 'hybrids'; did you mean hybrid"):
        scores.explain(collection, asked_for("nDCG"), "q1", ["hybrids"])


# What values can still become


def test_a_document_that_another_system_has_at_the_top_can_lower_a_value():
    collection = worked_collection()
    evaluation = evaluated(collection, ["nDCG@3", "AP"], DEFAULT, bounds=["nDCG@3", "AP"])
    # q1: hybrid has a=3 b=2 c=0, keyword b a d with d unjudged. If d is a 3, the ideal is 3 3 2.
    best = 3 + 3 * SECOND + 2 / 2
    bounds = evaluation.bounds[parse_measure("nDCG@3"), "hybrid"]
    assert (bounds.low[0], bounds.high[0]) == pytest.approx((IDEAL / best, 1))
    row = summary_of(evaluation).loc[("hybrid", "nDCG@3")]
    assert (row["lowest"], row["highest"]) == pytest.approx(
        ((IDEAL / best + NEUTRAL_Q2) / 2, (1 + NEUTRAL_Q2) / 2)
    )
    assert summary_of(evaluation).loc[("hybrid", "AP"), ["lowest", "highest"]].isna().all()


@pytest.mark.both_databases
def test_a_pair_that_is_only_adjudicated_is_open_where_adjudications_do_not_count():
    collection = worked_collection()
    query, document = collection.queries.get(key="q1"), collection.documents.get(key="d")
    ((_, pair),) = queue.pairs_for([(query.pk, document.pk)]).items()
    worst = collection.grades.order_by("value").first()
    adjudicate(Pair.objects.get(pk=pair), worst, reason="Read twice.", actor=None)

    def highest(**how) -> float:
        asked = evaluated(collection, ["nDCG@3"], DEFAULT, bounds=["nDCG@3"], **how)
        return asked.bounds[parse_measure("nDCG@3"), "keyword"].high[0]

    used, ignored = highest(), highest(adjudications="ignore")
    assert ignored > used


def test_the_weighted_mean_is_a_number_of_its_own():
    collection = worked_collection()
    collection.queries.filter(key="q1").update(weight=3)
    collection.touch()
    evaluation = evaluated(collection, ["nDCG@10"], DEFAULT)
    row = summary_of(evaluation).loc[("keyword", "nDCG@10")]
    assert row["weighted"] == pytest.approx((3 * KEYWORD_Q1 + KEYWORD_Q2) / 4)
    assert row["mean"] == pytest.approx((KEYWORD_Q1 + KEYWORD_Q2) / 2)
    assert evaluation.is_weighted


def test_where_queries_were_drawn_from_a_log_the_mean_is_that_over_its_searches():
    """q1 was taken for certain with 30 searches, q2 stands for 1 / .1 = 10."""
    collection = worked_collection()
    make_sample(collection, [("q1", 30, 1.0), ("q2", 1, 0.1)])
    collection.touch()
    evaluation = evaluated(collection, ["nDCG@10"], DEFAULT)
    row = summary_of(evaluation).loc[("keyword", "nDCG@10")]
    assert row["mean"] == pytest.approx((30 * KEYWORD_Q1 + 10 * KEYWORD_Q2) / 40)
    assert (row["plain"], row["traffic"]) == (pytest.approx((KEYWORD_Q1 + KEYWORD_Q2) / 2), 1)
    assert np.isnan(row["low"])  # one query was drawn
    evaluation = scores.evaluate(collection, asked_for("nDCG@10"), judgments=True)
    seen, empty = evaluation.judged("keyword"), evaluation.neutral
    assert row["judged"] == pytest.approx((30 * seen[0] + 10 * seen[1]) / 40) != seen.mean()
    assert evaluation.neutral_mean == pytest.approx((30 * empty[0] + 10 * empty[1]) / 40) != empty.mean()
    assert evaluation.fingerprint_of("nDCG@10").endswith(" est=log")
    assert {"plain", "traffic"} <= set(evaluation.shown)


def test_a_query_without_a_judgment_and_one_held_back_lower_the_share_of_the_searches():
    collection = worked_collection()
    make_sample(collection, [("q1", 30, 1.0), ("q2", 1, 0.1), ("", 1, 0.1)])
    collection.queries.filter(key="q1").update(weight=9)  # weights do not count beside a log
    Rating.objects.filter(pair__query__key="q2").delete()
    collection.touch()
    row = summary_of(evaluated(collection, ["nDCG@10"], DEFAULT)).loc[("keyword", "nDCG@10")]
    assert (row["mean"], row["traffic"]) == (pytest.approx(KEYWORD_Q1), 30 / 50)


@pytest.mark.both_databases
def test_the_queries_of_a_stratum_stand_for_those_that_are_left_out_of_it():
    """Of the head q1 has 30 of 40 searches. Of the tail, q2 and the one that is left out stand for 10 each."""
    collection = worked_collection()
    rows = [("q1", 30, 1.0), ("", 10, 1.0), ("q2", 1, 0.1), ("", 1, 0.1)]
    sample = make_sample(collection, rows)
    collection.touch()
    row = summary_of(evaluated(collection, ["nDCG@10"], DEFAULT)).loc[("keyword", "nDCG@10")]
    assert row["mean"] == pytest.approx((40 * KEYWORD_Q1 + 20 * KEYWORD_Q2) / 60)
    assert row["traffic"] == pytest.approx(40 / 60)
    leave_out(sample.drawn.get(query__key="q2"), "no_search")  # q2 has rankings, so it stays in the collection
    row = summary_of(evaluated(collection, ["nDCG@10"], DEFAULT)).loc[("keyword", "nDCG@10")]
    assert (row["mean"], row["traffic"]) == (pytest.approx(KEYWORD_Q1), 30 / 60)
    assert np.isnan(row["low"])  # nothing is known of the tail


def test_queries_that_were_drawn_evenly_keep_the_plain_mean():
    collection = worked_collection()
    make_sample(collection, [("q1", 30, 0.1), ("q2", 1, 0.1)])
    collection.samples.update(method=Sample.Method.EVEN)
    collection.touch()
    evaluation = evaluated(collection, ["nDCG@10"], DEFAULT)
    assert evaluation.sampled is None
    assert evaluation.standing("keyword").mean == pytest.approx((KEYWORD_Q1 + KEYWORD_Q2) / 2)


# Numbers are kept for as long as the record has not changed


def test_a_new_rating_changes_the_number_at_once():
    collection = worked_collection()
    before = evaluated(collection, ["nDCG@10"], DEFAULT).per_query.loc["q1", ("nDCG@10", "keyword")]
    # The one that holds the collection need not know that its version went up.
    rate(Collection.objects.get(pk=collection.pk), "q1", d="3")
    after = evaluated(collection, ["nDCG@10"], DEFAULT).per_query.loc["q1", ("nDCG@10", "keyword")]
    assert before == pytest.approx(KEYWORD_Q1)
    # b a d, now 2, 3 and 3, against the ideal 3 3 2.
    assert after == pytest.approx((2 + 3 * SECOND + 3 / 2) / (3 + 3 * SECOND + 2 / 2))
    opened = scores.explain(collection, asked_for("nDCG@10"), "q1", ["keyword"])["keyword"]
    assert opened.ranking[2].grade == 3


def test_a_collection_made_anew_after_a_rollback_gets_its_own_numbers():
    numbers = []
    for documents in ("ab", "ba"):
        point = transaction.savepoint()
        collection = make_collection("again", queries=("q1",))
        rate(collection, "q1", a="1")
        make_ranking(collection, "s", "q1", documents)
        numbers.append(summary_of(evaluated(collection, ["RR"], DEFAULT))["mean"].tolist())
        transaction.savepoint_rollback(point)
    assert numbers == [[1.0], [0.5]]


# The worked cases, through the database


def loaded_case(query: Query, case: dict, letters: dict[str, int]) -> None:
    rate(query.collection, query.key, **{key: str(grade) for key, grade in case["judgements"].items()})
    if "scores" in case:
        # In an order that only the scores can put right.
        ranked = sorted(case["scores"])
        given = np.array([case["scores"][key] for key in ranked], np.float64)
    elif "ranking" in case:
        ranked, given = list(dict.fromkeys(case["ranking"])), None
    else:
        return
    system, _ = query.collection.systems.get_or_create(name="s")
    Ranking.objects.create(system=system, query=query, documents=[letters[key] for key in ranked], scores=given)


def as_collections(cases: list[dict]):
    """(options, cutoff) -> cases, each a query of one collection; cases of means keep their queries together."""
    groups = {}
    for case in cases:
        given = {name: value for name, value in case["options"].items() if name not in ("k", "ties")}
        options = Options(**given, ties="score" if "scores" in case else "rank")
        members = case["queries"].items() if case["kind"] == "mean" else [("q", case)]
        alone = case["id"] if case["kind"] == "mean" else ""
        group = groups.setdefault((options, case["options"].get("k"), alone), {})
        group.update({f"{case['id']}/{name}": member for name, member in members})
    return groups


def test_every_worked_case_gives_its_numbers_through_the_database(shared):
    cases = json.loads((shared / "conformance" / "cases.json").read_text())["cases"]
    # Those of bounds have a test of their own.
    cases = [case for case in cases if case["kind"] in ("query", "mean")]
    wanted = {f"{case['id']}/q": case["expected"] for case in cases if case["kind"] == "query"}
    means = {case["id"]: case["expected"] for case in cases if case["kind"] == "mean"}
    names = {"cg": "CG", "dcg": "DCG", "idcg": "IDCG", "ndcg": "nDCG", "judged_at_k": "Judged"}
    checked = 0
    for number, ((options, cutoff, mean_of), queries) in enumerate(as_collections(cases).items()):
        grades = {str(grade) for query in queries.values() for grade in query["judgements"].values()}
        documents = {
            key for query in queries.values() for key in (*query["judgements"], *query.get("ranking", ()))
        }
        collection = make_collection(
            f"case-{number}",
            queries=queries,
            documents=sorted(documents),
            scale=dict.fromkeys(sorted(grades), ""),
        )
        letters = dict(collection.documents.values_list("key", "pk"))
        for query in collection.queries.all():
            loaded_case(query, queries[query.key], letters)
        at = {key: f"{name}@{cutoff}" if cutoff else name for key, name in names.items()}
        evaluation = evaluated(collection, at.values(), options)
        values = evaluation.per_query.xs("s", axis="columns", level="system")
        for key in queries:
            expected = wanted.get(key)
            if expected is None:
                expected = {"ndcg": means[mean_of]["per_query"][key.removeprefix(f"{mean_of}/")]}
            for name, value in expected.items():
                if name in at:
                    assert values.loc[key, at[name]] == close(value), (key, name)
                    checked += 1
        if mean_of:
            row = summary_of(evaluation).loc[("s", at["ndcg"])]
            assert row["mean"] == close(means[mean_of]["mean"])
            assert row["queries"] == means[mean_of]["queries_counted"]
    assert checked > 200


@pytest.mark.both_databases
def test_every_worked_bound_is_exact_through_the_database(shared):
    cases = json.loads((shared / "conformance" / "cases.json").read_text())["cases"]
    cases = [case for case in cases if case["kind"] == "bounds"]
    assert cases
    for case in cases:
        keys = sorted({*case["ranking"], *case["judgements"], *case["pool_unjudged"]})
        lowest, highest = case["options"]["grade_range"]
        scale = dict.fromkeys(map(str, sorted({lowest, highest, *case["judgements"].values()})), "")
        collection = make_collection(case["id"], queries=("q",), documents=keys, scale=scale)
        loaded_case(collection.queries.get(), case, dict(collection.documents.values_list("key", "pk")))
        waiting = collection.documents.filter(key__in=case["pool_unjudged"])
        query = collection.queries.get()
        queue.want(
            list(queue.pairs_for([(query.pk, pk) for pk in waiting.values_list("pk", flat=True)]).values()), 1
        )
        measure = f"nDCG@{case['options']['k']}"
        evaluation = evaluated(collection, [measure], DEFAULT, bounds=[measure])
        row = summary_of(evaluation).loc[("s", measure)]
        assert row["lowest"] == close(case["expected"]["ndcg_min"])
        assert row["highest"] == close(case["expected"]["ndcg_max"])
        bounds = evaluation.bounds[parse_measure(measure), "s"]
        assert (bounds.low[0], bounds.high[0]) == (row["lowest"], row["highest"])


def close(expected: float | None):
    return pytest.approx(np.nan if expected is None else expected, abs=1e-12, rel=1e-11, nan_ok=True)


def test_reasons_and_values_agree_on_what_has_no_value():
    evaluation = evaluated(worked_collection(), ["nDCG@10", "R@1"], PROFILES["trec_eval"])
    undefined = evaluation.reasons != "counted"
    assert undefined.to_numpy().any()
    pd.testing.assert_frame_equal(evaluation.per_query.isna(), undefined)
