"""What is frozen stays: its content has one hash wherever it lies, and its numbers come again digit by digit."""

import hashlib
import json
import threading
from dataclasses import replace

import numpy as np
import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.db.models import ProtectedError
from hypothesis import given
from hypothesis import strategies as st

from evaluation import frozen, scores
from evaluation.frozen import content, freezing
from evaluation.measures import Options, parse_measure
from evaluation.models import FrozenEvaluation, FrozenPart
from evaluation.tests.hills import make_hills, rate
from evaluation.tests.worked import evaluated, recomputed
from ratings.collection import sample
from ratings.models import Guidelines, Query, Ranking, Role, System
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_ranking

pytestmark = pytest.mark.django_db

MEASURES = ["nDCG@10", "DCG@10", "AP", "Judged@10"]
# The hills of `hills` written out by hand in the canonical form: what every database must give.
FILES = {
    "settings.json": """{
  "adjudications": "use",
  "format": 1,
  "interval": {
    "draws": 2000,
    "level": 0.95,
    "seed": 225
  },
  "judgments": "judgments.jsonl",
  "measures": [
    "nDCG@10",
    "DCG@10",
    "AP",
    "Judged@10"
  ],
  "options": {
    "discount": "log_shift",
    "gain": "linear",
    "ideal": "judged",
    "log_base": "2",
    "missing": "empty",
    "negatives": "minmax",
    "relevant_from": "1",
    "ties": "rank",
    "undefined": "skip",
    "unjudged": "zero"
  },
  "rule": "mean",
  "systems": [
    {
      "empty": [],
      "run": "runs/1-bad.run",
      "system": "bad",
      "tag": "bad"
    },
    {
      "empty": [],
      "run": "runs/2-good.run",
      "system": "good",
      "tag": "good"
    }
  ]
}
""",
    "queries.jsonl": """{"query": "q1", "text": "text of q1", "weight": 1.0}
{"query": "q2", "text": "text of q2", "weight": 1.0}
""",
    "judgments.jsonl": """{"query": "q1", "document": "a", "grade": 3}
{"query": "q1", "document": "b", "grade": 0}
{"query": "q1", "document": "c", "grade": -1}
{"query": "q1", "document": "d", "grade": 1}
{"query": "q2", "document": "b", "grade": 2}
""",
    "runs/1-bad.run": "q1 Q0 c 1 2.0 bad\nq1 Q0 a 2 1.0 bad\n",
    "runs/2-good.run": "q1 Q0 a 1 3.0 good\nq1 Q0 d 2 2.0 good\nq1 Q0 b 3 1.0 good\n"
    "q2 Q0 a 1 2.0 good\nq2 Q0 b 2 1.0 good\n",
}
SUMS = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in FILES.items()}
HILLS = hashlib.sha256("".join(f"{sha}  {name}\n" for name, sha in SUMS.items()).encode()).hexdigest()


def freeze(collection, name="first", measures=MEASURES, changes=None, note="", by=None, **setup):
    asked = scores.Asked.of(collection, measure=measures[0], **(changes or {}), **setup)
    return frozen.freeze(collection, name, asked, measures[1:], note=note, by=by)


def test_the_hash_of_the_hills_is_the_same_on_every_database():
    found, new = freeze(make_hills())
    lines = frozen.lines_of(found)
    assert {name: b"".join(lines(name)).decode() for name in FILES} == FILES
    assert new and found.hash == HILLS


def test_ids_names_and_the_order_of_making_have_no_part_in_the_hash():
    make_collection("before", queries=[f"x{n}" for n in range(7)], documents="efgh")
    collection = make_hills("other", documents="dcba", queries=("q2", "q1"))
    collection.name = "Quite another name"
    collection.save()
    found, _ = freeze(collection, name="another", note="note", by=make_member(collection, "ann", Role.ANALYST))
    assert found.hash == HILLS


def test_the_same_content_is_frozen_once():
    collection = make_hills()
    first, new = freeze(collection)
    again, newer = freeze(collection, name="second")
    assert (new, newer) == (True, False)
    assert again == first and again.name == "first"
    assert FrozenEvaluation.objects.count() == 1


def test_a_name_is_given_once_in_a_collection():
    collection = make_hills()
    freeze(collection)
    with pytest.raises(frozen.NameTaken, match="'first'"):
        freeze(collection, measures=["P@5"])
    freeze(make_hills("other"))


def test_stored_numbers_are_those_that_evaluate_gives():
    collection = sample.load()
    found, _ = freeze(collection)
    live = evaluated(collection, MEASURES, scores.options_for(collection))
    kept = frozen.evaluation_of(found)
    assert kept.per_query.equals(live.per_query) and kept.reasons.equals(live.reasons)
    assert kept.by_column == {column: replace(row, pk=None) for column, row in live.by_column.items()}


def test_means_and_intervals_stay_those_that_were_shown(monkeypatch):
    """Even when a later program would make others of the same values."""
    found, _ = freeze(make_hills())
    before = frozen.evaluation_of(found).by_column
    monkeypatch.setattr(scores.evaluation, "bootstrap_interval", lambda values: (values[0] - 1, values[0] + 1))
    assert frozen.evaluation_of(found).by_column == before
    assert recomputed(found).by_column != before


CASES = {
    "default": {},
    "closed": {"negatives": "minmax_closed"},
    "skip": {"missing": "skip"},
    "score": {"ties": "score"},
    "trec_eval_9": {"ties": "trec_eval_9"},
    "average": {"ties": "average"},
    "assumed": {"unjudged": "1"},
    "exponential": {"gain": "exponential", "undefined": "zero"},
}


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_its_files_give_every_number_again_to_the_last_digit(changes):
    collection = sample.load()
    # Equal scores, a ranking without a document, one that is missing, and a query that nobody judged.
    make_tied(collection)
    measures = (
        ["nDCG@10", "DCG@10", "nDCG"] if changes.get("ties") == "average" else [*MEASURES, "Bpref", "ERR@10"]
    )
    found, _ = freeze(collection, measures=measures, changes=changes)
    kept, again = frozen.evaluation_of(found), recomputed(found)
    for name in freezing.STORED_ARRAYS:
        assert np.array_equal(kept.table.of[name], again.table.of[name], equal_nan=True), name
    assert again.by_column == kept.by_column


def make_tied(collection):
    Query.objects.create(collection=collection, key="q99", text="nobody judged it")
    tied = System.objects.create(collection=collection, name="tied system")
    documents = list(collection.documents.order_by("key").values_list("pk", flat=True)[:40])
    first, second, *_ = collection.queries.order_by("key")
    # Pairs of equal scores, and seven pairs in a row that are equal in 32 bits.
    scores = [place // 14 + (place // 2 % 7) * 1e-9 for place in range(40, 0, -1)]
    Ranking.objects.create(system=tied, query=first, documents=documents, scores=scores)
    Ranking.objects.create(system=tied, query=second, documents=[], scores=[])
    collection.touch()


def test_an_empty_ranking_is_not_a_missing_one():
    collection = make_hills()
    make_ranking(collection, "bad", "q2", "")
    collection.touch()
    found, _ = freeze(collection, changes={"missing": "skip"})
    assert json.loads(found.settings)["systems"][0]["empty"] == ["q2"]
    assert recomputed(found).per_query["nDCG@10", "bad"]["q2"] == 0.0


# What the hash is of


def change_grade(collection):
    rate(collection, {("q1", "a"): "2"}, rater="second")


def change_ranking(collection):
    collection.systems.get(name="good").rankings.filter(query__key="q1").delete()
    make_ranking(collection, "good", "q1", "dab")


def change_score(collection):
    collection.systems.get(name="good").rankings.filter(query__key="q1").delete()
    make_ranking(collection, "good", "q1", "adb", [3.0, 2.0, 1.5])


def add_system(collection):
    make_ranking(collection, "new", "q1", "a")


def rename_system(collection):
    collection.systems.filter(name="good").update(name="better")


def change_text(collection):
    collection.queries.filter(key="q1").update(text="another text")


def change_weight(collection):
    collection.queries.filter(key="q1").update(weight=2)


def add_query(collection):
    Query.objects.create(collection=collection, key="q3", text="a third")


def empty_ranking(collection):
    make_ranking(collection, "bad", "q2", "")


ASKED = {
    "measures": {"measures": [*MEASURES, "P@5"]},
    "order of measures": {"measures": MEASURES[::-1]},
    "gain": {"changes": {"gain": "exponential"}},
    "ties": {"changes": {"ties": "average"}, "measures": ["nDCG@10"]},
    "rule": {"rule": "median"},
    "adjudications": {"adjudications": "ignore"},
    "systems": {"systems": ["good"]},
}
CHANGES = [
    change_grade,
    change_ranking,
    change_score,
    add_system,
    rename_system,
    change_text,
    change_weight,
    add_query,
    empty_ranking,
]


@pytest.mark.parametrize("change", CHANGES)
def test_another_content_has_another_hash(change):
    collection = make_hills()
    change(collection)
    collection.touch()
    assert freeze(collection)[0].hash != HILLS


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_what_is_asked_is_part_of_the_hash(asked):
    assert freeze(make_hills(), **asked)[0].hash != HILLS


def test_what_is_told_beside_is_no_part_of_the_hash():
    collection = make_hills()
    Guidelines.objects.create(collection=collection, version=1, text="new")
    collection.scale_version = 4
    collection.save(update_fields=["scale_version"])
    found, _ = freeze(collection, profile="default", note="other")
    assert found.hash == HILLS
    assert (frozen.about(found).guidelines_version, frozen.about(found).scale_version) == (1, 4)


SETTINGS = content.Settings(
    measures=(parse_measure("nDCG@10"),),
    options=Options(),
    rule="mean",
    adjudications="use",
    interval={"level": 0.95, "draws": 2000, "seed": 225},
    judgments=content.GRADES,
    systems=(content.System("a b", "runs/1-a-b.run", "a_b", ("q",)),),
)


@given(st.lists(st.text(min_size=1), unique=True, max_size=6))
def test_any_names_of_systems_have_files_of_their_own_and_are_read_back(names):
    systems = tuple(content.systems_of(names))
    settings = replace(SETTINGS, systems=systems)
    assert content.Settings.parse(settings.as_text()) == settings
    files = [system.run for system in systems]
    assert len(set(files)) == len(files)
    assert all(file.isascii() and file.count("/") == 1 and ".." not in file.split("/") for file in files)
    assert all(len(system.tag.split()) <= 1 for system in systems)


KEY = st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=12)


@given(
    graded=st.dictionaries(st.tuples(KEY, KEY), st.floats(-9, 9), min_size=1, max_size=8),
    whole=st.booleans(),
)
def test_judgments_with_any_keys_and_grades_are_read_back(graded, whole):
    if whole:
        graded = {pair: float(abs(round(grade))) for pair, grade in graded.items()}
    line, name = (content.qrels_line, content.QRELS) if whole else (content.grade_line, content.GRADES)
    text = "".join(line(query, document, grade) for (query, document), grade in graded.items())
    rows = content.read_judgments(name, text.encode().splitlines(keepends=True))
    assert {(query, document): grade for query, document, grade in rows} == graded


@given(st.lists(st.tuples(KEY, st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=9), KEY)
def test_runs_with_any_keys_and_scores_are_read_back(results, query):
    documents, values = zip(*results, strict=True)
    text = content.run_lines(query, documents, values, "tag")
    ((key, listed, scored),) = content.read_run(text.encode().splitlines(keepends=True))
    assert (key, listed, [float(score) for score in scored]) == (query, list(documents), list(values))


def test_content_in_many_pieces_that_end_with_a_line_has_the_same_hash(monkeypatch):
    monkeypatch.setattr(content, "PIECE_BYTES", 40)
    monkeypatch.setattr("evaluation.record.keys.KEYS_AT_A_TIME", 2)
    found, _ = freeze(make_hills())
    assert found.hash == HILLS
    pieces = list(frozen.stored.pieces(found, "judgments.jsonl"))
    assert len(pieces) == 2 and all(piece.endswith(b"\n") for piece in pieces)
    assert recomputed(found).by_column == frozen.evaluation_of(found).by_column


# It never changes


def test_nothing_that_happens_to_the_collection_changes_it():
    collection = make_hills()
    found, _ = freeze(collection)
    before = rows()
    change_grade(collection)
    rename_system(collection)
    collection.systems.get(name="bad").delete()
    adjudicate(make_pair(collection, "q2", "a"), grade(collection, "3"), reason="x", actor=None)
    collection.slug, collection.name = "dales", "Dales"
    collection.save()
    collection.touch()
    assert rows() == before
    assert recomputed(found).by_column == frozen.evaluation_of(found).by_column
    assert frozen.about(found).collection == "hills"


def rows():
    return [list(model.objects.order_by("pk").values()) for model in (FrozenEvaluation, FrozenPart)]


def test_it_cannot_be_written_or_deleted_by_code():
    found, _ = freeze(make_hills())
    part = found.parts.first()
    for row in (found, part):
        with pytest.raises(TypeError, match="written once"):
            row.save()
        with pytest.raises(TypeError, match="written once"):
            row.delete()
    for model in (FrozenEvaluation, FrozenPart):
        with pytest.raises(TypeError, match="written once"):
            model.objects.update(pk=1)
        with pytest.raises(TypeError, match="written once"):
            model.objects.all().delete()
        with pytest.raises(TypeError, match="written once"), transaction.atomic():
            model.objects.bulk_update(list(model.objects.all()), ["name"])
    with pytest.raises(ProtectedError):
        found.collection.delete()


def test_an_account_that_is_deleted_is_taken_off_and_nothing_else():
    collection = make_hills()
    ann = make_member(collection, "ann", Role.ANALYST)
    found, _ = freeze(collection, by=ann)
    before = FrozenEvaluation.objects.values().get()
    ann.delete()
    assert FrozenEvaluation.objects.values().get() == before | {"created_by_id": None}
    assert recomputed(found).by_column == frozen.evaluation_of(found).by_column


def test_the_database_takes_no_second_one_of_the_same_content_or_name():
    found, _ = freeze(make_hills())
    facts = FrozenEvaluation.objects.values().get()
    for other in ({"name": "other"}, {"hash": "0" * 64}):
        with pytest.raises(IntegrityError), transaction.atomic():
            FrozenEvaluation.objects.create(**(facts | {"id": None} | other))


# Refusals


def test_nothing_can_be_frozen_without_a_judgment_or_a_system():
    empty = make_collection()
    with pytest.raises(ValueError, match="no numbers yet"):
        freeze(empty)
    make_ranking(empty, "bm25", "q1", "ab")
    empty.touch()
    with pytest.raises(ValueError, match="no numbers yet"):
        freeze(empty)
    assert not FrozenEvaluation.objects.exists()


def test_rankings_that_change_while_they_are_read_are_refused(monkeypatch):
    collection = make_hills()
    read = scores.read

    def then_changed(*args, **kwargs):
        found = read(*args, **kwargs)
        change_ranking(collection)
        return found

    monkeypatch.setattr(scores, "read", then_changed)
    with pytest.raises(ValueError, match="were changed meanwhile"):
        freeze(collection)
    assert not FrozenEvaluation.objects.exists() and not FrozenPart.objects.exists()


def test_it_is_written_as_a_whole_or_not_at_all(monkeypatch):
    collection = make_hills()

    def fails(*given):
        raise IntegrityError("planted")

    monkeypatch.setattr(FrozenPart.objects, "bulk_create", fails)
    with pytest.raises(frozen.NameTaken):
        freeze(collection)
    assert not FrozenEvaluation.objects.exists()


def test_settings_of_another_format_are_refused():
    with pytest.raises(content.Broken, match="format 3"):
        content.Settings.parse(SETTINGS.as_text().replace('"format": 1', '"format": 3'))


# Two at once


@pytest.mark.django_db(transaction=True)
def test_two_who_freeze_the_same_at_once_get_the_same_one(monkeypatch):
    found = at_once(make_hills(), monkeypatch, ["ann's", "bea's"])
    assert len({each.hash for each, _ in found}) == 1
    assert sorted(new for _, new in found) == [False, True]
    assert FrozenEvaluation.objects.count() == 1


@pytest.mark.postgresql  # SQLite has one writer at a time, who sees what the one before wrote
@pytest.mark.django_db(transaction=True)
def test_without_the_constraint_two_would_be_made(monkeypatch):
    """The twin of the test above: what keeps the second one out is the database."""
    constraint = FrozenEvaluation._meta.constraints[0]
    assert constraint.fields == ("collection", "hash")
    with connection.schema_editor() as editor:
        editor.remove_constraint(FrozenEvaluation, constraint)
    try:
        at_once(make_hills(), monkeypatch, ["ann's", "bea's"])
        assert FrozenEvaluation.objects.count() == 2
    finally:
        for model in (FrozenPart, FrozenEvaluation):
            model._base_manager.all()._raw_delete("default")
        with connection.schema_editor() as editor:
            editor.add_constraint(FrozenEvaluation, constraint)


def at_once(collection, monkeypatch, names):
    """Freeze under each name, all of them between the look for the same content and the writing."""
    together = threading.Barrier(len(names))
    save, results = FrozenEvaluation.save, []

    def save_together(self, *args, **kwargs):
        if connection.vendor == "postgresql":
            together.wait(10)  # on SQLite one of them waits for the other's transaction before it looks
        save(self, *args, **kwargs)

    monkeypatch.setattr(FrozenEvaluation, "save", save_together)

    def run(name):
        try:
            results.append(freeze(collection, name=name))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results
