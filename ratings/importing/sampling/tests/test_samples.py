"""Samples in the record: drawn, drawn from once more, undone, and what an admin decides about a query."""

import io

import pytest
from django.core.management import call_command

from ratings.formats.source import Reading, Source
from ratings.importing.intake.undoing import undo_import
from ratings.importing.sampling import samples
from ratings.importing.sampling.samples import Design, sample_log
from ratings.management.commands._collection_command import Refused
from ratings.models import AuditEvent, Collection, Job, Query, Sample, SampledQuery
from ratings.tests.cast import make_collection, make_ranking

pytestmark = [pytest.mark.django_db]

# 100 searches: the first query is drawn for certain where two or more are.
LOG = "query,count\nred shoes,50\nRed Shoes,10\nrain jacket,10\nmail anna@example.org,10\ntent,10\nboots,10\n"
LeftOut = SampledQuery.LeftOut


@pytest.fixture
def collection() -> Collection:
    return make_collection(queries=())


def drawn(collection: Collection, design: Design | None, content: str = LOG, **choices):
    source = Source("log.csv", io.BytesIO(content.encode()), Reading(columns=choices.pop("columns", {})))
    return sample_log(collection, [source], design, **choices)


def rows(sample: Sample) -> list[tuple]:
    return list(sample.drawn.values_list("text", "count", "chance", "stratum", "left_out"))


@pytest.mark.both_databases
def test_a_draw_makes_queries_and_keeps_its_design_and_each_chance(collection):
    report = drawn(collection, Design(3, seed=3, days="May 2026"))
    (sample,) = collection.samples.all()
    totals = sample.searches, sample.queries, sample.head_searches, sample.head_queries
    assert (sample.size, sample.seed, sample.log, sample.days, totals) == (
        *(3, 3, "log.csv", "May 2026"),
        (100, 5, 60, 1),
    )
    entry = {
        "name": "",
        "size": 3,
        "queries": 5,
        "searches": 100,
        "certain": 1,
        "certain_searches": 60,
        "drawn": 3,
    }
    assert sample.strata == [entry]
    found = rows(sample)
    assert found[0] == ("red shoes", 60, 1, "", "")
    assert [row[1:4] for row in found[1:]] == [(10, 0.5, "")] * 2
    kept = [row[0] for row in found if not row[4]]
    assert [*collection.queries.order_by("pk").values_list("key", "text")] == [
        (text.replace(" ", "_"), text) for text in kept
    ]
    assert report.counts["drawn"] == 3 and report.job == sample.job_id
    event = AuditEvent.objects.get(act="imported")
    assert event.detail["kind"] == "log"


def test_the_same_log_and_seed_give_the_same_sample_in_any_order_of_lines(collection):
    lines = LOG.splitlines()
    other = "\n".join([lines[0], *reversed(lines[1:])])
    one = drawn(collection, Design(3, seed=5))
    again = drawn(make_collection("sea", queries=()), Design(3, seed=5), other)
    first, second = Sample.objects.all()
    assert rows(first) == rows(second)
    assert first.digest == second.digest
    assert one.facts[-2:] == again.facts[-2:]


def test_a_query_that_the_collection_has_in_any_spelling_is_not_made_again(collection):
    query = Query.objects.create(collection=collection, key="q7", text="RED  shoes")
    Query.objects.create(collection=collection, key="tent", text="What is a tent?")
    drawn(collection, Design(9))
    sample = collection.samples.get()
    assert sample.drawn.get(text="red shoes").query == query
    assert sample.drawn.get(text="tent").query.key.startswith("tent~")
    assert sample.drawn.filter(chance=1).count() == 5


def test_strata_are_thirds_or_a_column_with_shares_that_one_sets(collection):
    drawn(collection, Design(2, "strata", {"tail": 0}, seed=1))
    thirds = collection.samples.last()
    assert [(entry["name"], entry["size"], entry["queries"]) for entry in thirds.strata] == [
        ("head", 1, 1),
        ("torso", 1, 1),
        ("tail", 0, 3),
    ]
    content = "query,count,market\na,9,de\nb,1,de\nc,1,de\nd,5,fr\n"
    drawn(collection, Design(3, "strata", {"de": 2}, seed=1), content, columns={"stratum": "market"})
    markets = collection.samples.last()
    assert [(e["name"], e["size"], e["certain"], e["drawn"]) for e in markets.strata] == [
        ("de", 2, 1, 2),
        ("fr", 1, 1, 1),
    ]
    assert [row[1:4] for row in rows(markets)] == [(9, 1, "de"), (1, 0.5, "de"), (5, 1, "fr")]


def test_an_even_draw_gives_each_query_the_same_chance(collection):
    drawn(collection, Design(2, "even", seed=1))
    assert [row[2] for row in rows(collection.samples.get())] == [0.4, 0.4]


BIG = "query,count\n" + "".join(f"query {n},{10_000 // n}\n" for n in range(1, 301))


@pytest.mark.parametrize("method", ["proportional", "strata", "even"])
def test_more_are_drawn_from_the_same_log_and_what_was_drawn_stays(collection, method):
    drawn(collection, Design(50, method, seed=1), BIG)
    first = collection.samples.get()
    samples.leave_out(first.drawn.filter(chance__lt=1).first(), LeftOut.NO_SEARCH)
    report = drawn(collection, Design(150, seed=2), BIG, more=True)
    assert report.refused == 0, report.refusals
    second = collection.samples.last()
    assert (second.number, second.former, second.method, second.size) == (2, first, method, 150)
    before, after = ({row.place: row for row in sample.drawn.all()} for sample in (first, second))
    assert before.keys() <= after.keys()
    assert len(before) == 50 and abs(len(after) - 150) <= 2
    assert all(after[place].query_id == row.query_id for place, row in before.items())
    assert all(after[place].left_out == row.left_out for place, row in before.items())
    assert all(after[place].chance >= row.chance for place, row in before.items())
    assert collection.queries.count() == len(after) - 1
    drawn(collection, Design(150, method), BIG)
    afresh = collection.samples.last()
    chance = {row.place: row.chance for row in afresh.drawn.all()}
    assert all(after[place].chance == pytest.approx(chance[place]) for place in chance.keys() & after.keys())


@pytest.mark.parametrize(
    ("size", "content", "problem"),
    [
        (150, BIG, "nothing was drawn yet"),
        (50, BIG, "has 50 queries already"),
        (150, BIG + "one more,1\n", "it is not the log of sample 1 of log.csv"),
    ],
)
def test_more_are_drawn_from_no_other_log(collection, size, content, problem):
    if "yet" not in problem:
        drawn(collection, Design(50), BIG)
    report = drawn(collection, Design(size), content, more=True)
    assert problem in report.refusals[0].problem
    assert collection.samples.count() == (0 if "yet" in problem else 1)


def test_a_log_is_only_counted_without_a_design(collection):
    report = drawn(collection, None, BIG)
    assert not Sample.objects.exists() and not Query.objects.exists()
    assert report.log["queries"] == 300
    assert [found["size"] for found in report.log["outlooks"]["proportional"]] == [50, 150]
    assert report.log["again"] is None
    drawn(collection, Design(50), BIG)
    assert drawn(collection, None, BIG).log["again"] == 1


@pytest.mark.both_databases
def test_a_draw_is_undone_while_nothing_rests_on_it(collection):
    drawn(collection, Design(50, seed=1), BIG)
    drawn(collection, Design(100, seed=2), BIG, more=True)
    first, second = Job.objects.order_by("pk")
    assert undo_import(first) == ["A later import changed what it brought. Undo that one first."]
    assert undo_import(second) == []
    assert collection.samples.get().number == 1
    assert collection.queries.count() == 50
    make_ranking(collection, "bm25", collection.queries.first().key, "ab")
    (obstacle,) = undo_import(first)
    assert obstacle.startswith("Rankings of bm25 rest on it.")
    collection.systems.all().delete()
    assert undo_import(first) == []
    assert not Sample.objects.exists() and not Query.objects.exists()


# Held back, taken in, left out


@pytest.fixture
def held(collection) -> SampledQuery:
    drawn(collection, Design(5))
    return SampledQuery.objects.get(left_out=LeftOut.HELD)


def test_what_looks_personal_waits_for_an_admin_and_is_counted(collection, held):
    assert held.text == "mail anna@example.org" and held.query is None
    assert not collection.queries.filter(text__contains="@").exists()
    assert held.sample.drawn.count() == 5
    version = Collection.objects.get().version
    samples.take_in(held)
    held.refresh_from_db()
    assert (held.query.text, held.left_out) == ("mail anna@example.org", "")
    assert held.query.job == held.sample.job
    assert Collection.objects.get().version > version
    event = AuditEvent.objects.get(act="query.taken_in")
    assert "anna" not in event.about


def test_a_personal_query_leaves_the_record_and_its_text_is_erased_in_every_sample(collection, held):
    drawn(collection, Design(5), BIG)
    later = drawn(collection, Design(5))
    assert later.refused == 0
    row = SampledQuery.objects.filter(text=held.text).last()
    samples.take_in(row)
    assert samples.leave_out(row, LeftOut.PERSONAL)
    assert not Query.objects.filter(text__contains="@").exists()
    assert not SampledQuery.objects.filter(text__contains="@").exists()
    row.refresh_from_db()
    assert (row.left_out, row.query, row.count) == ("personal", None, 10)
    with pytest.raises(ValueError, match="erased"):
        samples.take_in(row)


def test_a_query_that_is_ranked_is_left_out_of_the_sample_and_stays_in_the_record(collection, held):
    row = held.sample.drawn.get(text="tent")
    make_ranking(collection, "bm25", "tent", "ab")
    assert not samples.leave_out(row, LeftOut.NO_SEARCH)
    row.refresh_from_db()
    assert (row.left_out, row.query, row.text) == ("no_search", None, "tent")
    assert collection.queries.filter(key="tent").exists()
    samples.take_in(row)
    row.refresh_from_db()
    assert row.query.key == "tent"


# The command


@pytest.fixture
def file(tmp_path) -> str:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return str(path)


def test_the_command_draws_and_says_what_it_did(collection, file, capsys):
    call_command("sample_queries", "hills", file, count=5, seed=1)
    out, err = capsys.readouterr()
    joined, sample, certain, new = out.splitlines()[-4:]
    assert joined.startswith("1 query stands there in several spellings")
    assert sample == "Sample 1: 5 queries drawn by number of searches, with the seed 1."
    assert certain == "5 of them were drawn for certain, with 100% of the searches."
    assert new == "4 queries are new in the collection."
    assert "1 query that looks personal is held back." in err


def test_a_dry_run_writes_nothing(collection, file, capsys):
    call_command("sample_queries", "hills", file, dry_run=True)
    assert "proportional:\n  5 queries: 5 for certain, with 100% of the searches" in capsys.readouterr().out
    assert not Query.objects.exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"count": 0}, "--count must be from 1 to 10,000, not 0."),
        ({"shares": "head=much"}, "'much' of head is not a number"),
        ({"shares": "head=-1"}, "the share -1 of head is not a number from 0 on"),
        ({"shares": "middle=1"}, "Nothing was written."),
        ({"shares": "head=1", "method": "even"}, "need --method strata, not even"),
        ({"strata": "market"}, "Nothing was written."),
        ({"more": True}, "Nothing was written."),
    ],
)
def test_what_the_command_refuses(collection, file, options, problem):
    with pytest.raises(Refused, match=problem):
        call_command("sample_queries", "hills", file, **options)
    assert not Query.objects.exists()
