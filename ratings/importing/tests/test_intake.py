"""Rows -> records: what is written, what is refused, and that nothing is written by halves."""

import io
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest
from django.apps import apps
from django.urls import reverse

from ratings.formats.source import Source
from ratings.importing import intake
from ratings.importing.intake import runs, stage
from ratings.management.refusals import line_of
from ratings.models import Collection, Document, Ranking, Rater, Rating, RatingEvent, Role, System
from ratings.tests.cast import make_collection, make_member, make_ranking, make_rater

pytestmark = pytest.mark.django_db

RUN = "q1 Q0 a 1 3.5 bm25\nq1 Q0 b 2 2.5 bm25\nq2 Q0 b 1 9 bm25\n"
QRELS = "q1 0 a 3\nq1 0 b 0\nq2 0 b -1\n"


def source(text: str, name: str = "file") -> Source:
    return Source(name, io.BytesIO(text.encode()))


def sources(*texts: str) -> list[Source]:
    return [source(text, f"file{i}") for i, text in enumerate(texts, 1)]


def record() -> dict[str, int]:
    """How many rows each table of the record holds."""
    return {model.__name__: model.objects.count() for model in apps.get_app_config("ratings").get_models()}


def version(collection: Collection) -> int:
    return Collection.objects.get(pk=collection.pk).version


def ranked(collection: Collection, system: str, query: str) -> list[str]:
    ranking = Ranking.objects.get(system__name=system, query__key=query, query__collection=collection)
    keys = dict(collection.documents.values_list("pk", "key"))
    return [keys[pk] for pk in ranking.documents.tolist()]


def refused(report: intake.Report) -> list[str]:
    assert report.refused == len(report.refusals)
    known = {"files", "keep_first", "order", "queries_by", "rater", "system", "system_from"}
    return [line_of(refusal, known) for refusal in report.refusals]


KINDS = {
    "queries": (intake.import_queries, "q7\tred shoes\twhy\nq8\tblue\n"),
    "documents": (intake.import_documents, '{"id": "x", "text": "B", "y": [1.5, 1e2, {"z": null}]}\n'),
    "results": (intake.import_run, RUN),
    "ratings": (intake.import_qrels, QRELS),
}


@pytest.mark.both_databases
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_file_again_changes_no_row_and_not_the_version(kind):
    run, text = KINDS[kind]
    collection = make_collection()
    first = run(collection, sources(text))
    before, at = record(), version(collection)
    again = run(collection, sources(text))
    assert (again.counts["new"], again.counts["changed"]) == (0, 0)
    assert again.counts["unchanged"] == first.counts["new"] > 0
    assert (record(), version(collection)) == (before, at) and at == 1


@pytest.mark.parametrize(
    ("run", "choices", "said"),
    [
        *((intake.import_run, {"system": name}, "the system") for name in ("two\x01words", "", "x" * 201)),
        (intake.import_run, {"system": "x", "system_from": "file"}, "--system or --system-from file"),
        *((intake.import_qrels, {"rater": name}, "the rater") for name in ("", " x", "x" * 151)),
    ],
)
def test_choices_that_make_no_sense_are_an_error(run, choices, said):
    with pytest.raises(ValueError, match=said):
        run(make_collection(), sources(RUN), **choices)


# Queries


@pytest.mark.both_databases
def test_queries_are_added_with_text_need_and_tags():
    collection = make_collection(queries=[])
    xml = '<t><topic number="7" type="faceted"><query>horse</query><narrative>hooves</narrative></topic></t>'
    report = intake.import_queries(collection, sources("q1\tred shoes\tI want red ones.\n", xml))
    rows = collection.queries.order_by("key").values_list("key", "text", "need", "tags")
    assert list(rows) == [("7", "horse", "hooves", ["faceted"]), ("q1", "red shoes", "I want red ones.", [])]
    assert report.facts == ["2 queries: 2 new, 0 changed, 0 unchanged."]
    assert report.warnings == []


def test_a_table_of_queries_may_say_what_each_weighs():
    collection = make_collection(queries=[])
    said = "key,text,weight\nq1,shoes,2.5\nq2,boots,\n"
    intake.import_queries(collection, sources(said))
    weights = collection.queries.order_by("key").values_list("weight", flat=True)
    assert list(weights) == [2.5, 1.0]
    report = intake.import_queries(collection, sources("q1\tshoes\n"))  # says nothing of it
    assert report.counts == {"new": 0, "changed": 0, "unchanged": 1} and list(weights.all()) == [2.5, 1.0]
    report = intake.import_queries(collection, sources("key,text,weight\nq1,shoes,0\nq2,boots,1\n"))
    assert report.counts == {"new": 0, "changed": 1, "unchanged": 1} and list(weights.all()) == [0.0, 1.0]
    refused = intake.import_queries(collection, sources("key,text,weight\nq1,shoes,-1\nq2,boots,many\n"))
    assert [refusal.problem for refusal in refused.refusals] == [
        "the weight '-1' is less than 0",
        "the weight 'many' is not a finite number",
    ]


def test_what_a_file_does_not_say_of_a_query_stays():
    collection = make_collection(queries=["q1", "q2"])
    report = intake.import_queries(collection, sources("q1\tother text\n", "q2\ttext of q2\t\n"))
    q1, q2 = collection.queries.order_by("key")
    assert (q1.text, q1.need) == ("other text", "need of q1")
    assert (q2.text, q2.need) == ("text of q2", "")
    assert report.counts == {"new": 0, "changed": 2, "unchanged": 0}


def test_a_repeated_query_is_refused_with_both_lines_and_files():
    collection = make_collection(queries=[])
    before = record()
    report = intake.import_queries(collection, sources("q1\ta\nq2\tb\nq1\tc\n", "q2\tc\n"))
    assert refused(report) == [
        "file1, line 3: query q1 already appears on line 1. Keep one of the two.",
        "file2, line 1: query q2 already appears on line 2 of file1. Keep one of the two.",
    ]
    assert record() == before


def test_one_bad_line_in_the_last_file_keeps_all_files_out():
    collection = make_collection(queries=[])
    before = record()
    report = intake.import_queries(collection, sources("q1\ta\n", "q2 b\n"))
    assert refused(report)[0].startswith("file2, line 1: this line names no column ('q2 b').")
    assert (record(), version(collection)) == (before, 0)


def test_an_empty_file_is_refused():
    assert refused(intake.import_queries(make_collection(), sources(""))) == [
        "file1: it holds nothing to import. Check that this is the file you meant."
    ]


def test_queries_with_rankings_that_are_numbered_anew_raise_a_warning():
    collection = make_collection(queries=["1", "2", "3"])
    make_ranking(collection, "bm25", "2", "ab")
    make_ranking(collection, "bm25", "3", "ab")
    report = intake.import_queries(collection, sources("1\ttext of 1\n2\ttext of 3\n4\ttext of 2\n"))
    assert report.warnings == [
        "1 query with rankings or ratings got another text (2)."
        " Check that the numbering is that of your runs and qrels."
    ]


# Documents


@pytest.mark.both_databases
def test_documents_are_added_and_those_known_by_key_get_their_text():
    collection = make_collection(documents="")
    Document.objects.create(collection=collection, key="a")
    text = '{"id": "a", "title": "T", "text": "B", "url": "u", "year": 1958}\n{"id": "b"}\n'
    report = intake.import_documents(collection, sources(text))
    a, b = collection.documents.order_by("key")
    assert (a.title, a.body, a.url, a.fields) == ("T", "B", "u", {"year": 1958})
    assert (b.title, b.body, b.url, b.fields) == ("", "", "", {})
    assert report.facts[-1] == "2 documents: 1 new, 1 changed, 0 unchanged."
    assert report.warnings == ["1 document has neither a title nor a body: b."]


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "number", ["1e23", "12345678901234567890.1", "12345678901234567890", "-0.0", "1e-7", "1e308"]
)
@pytest.mark.parametrize("kind", ["documents", "queries"])
def test_numbers_that_a_database_returns_in_another_form_are_no_change(kind, number):
    collection = make_collection()
    line = f'{{"id": "d", "text": "a", "price": {number}}}\n'
    importing = getattr(intake, f"import_{kind}")
    importing(collection, sources(line))
    assert importing(collection, sources(line)).counts["unchanged"] == 1


def test_a_repeated_document_is_refused_and_nothing_written():
    collection = make_collection(documents="")
    report = intake.import_documents(collection, sources('{"id": "a"}\n', '{"id": "b"}\n{"id": "a", "n": 1}\n'))
    assert refused(report) == [
        "file2, line 2: document a already appears on line 1 of file1. Keep one of the two."
    ]
    assert collection.documents.count() == 0


def test_a_document_that_repeats_identically_is_taken_once():
    collection = make_collection(documents="")
    text = '{"id": "a", "title": "A"}\n'
    report = intake.import_documents(collection, sources(text + '{"id": "b"}\n' + text, text))
    assert not report.refused and (report.counts["new"], report.counts["duplicates"]) == (2, 2)
    assert "2 lines repeat an earlier one." in report.facts
    assert collection.documents.get(key="a").title == "A"


def test_only_a_thousand_refusals_are_kept_and_all_are_counted():
    report = intake.import_documents(make_collection(), sources("x\n" * 1_234))
    assert (len(report.refusals), report.refused) == (1_000, 1_234)


# Runs


@pytest.mark.both_databases
def test_a_run_becomes_one_ranking_a_query_best_first_with_the_scores_as_read():
    collection = make_collection()
    report = intake.import_run(collection, sources(RUN))
    assert ranked(collection, "bm25", "q1") == ["a", "b"]
    ranking = Ranking.objects.get(query__key="q1")
    assert ranking.documents.dtype == np.uint32
    assert ranking.scores.tolist() == [3.5, 2.5]
    assert report.facts == ["bm25: 2 rankings with 3 results; 2 new, 0 unchanged."]
    assert report.warnings == []


def test_another_ranking_for_the_same_system_and_query_is_refused():
    collection = make_collection()
    intake.import_run(collection, sources(RUN))
    before = record()
    report = intake.import_run(collection, sources("q2 Q0 a 1 9 bm25\nq1 Q0 a 1 3.5 bm25\nq1 Q0 b 2 2.25 bm25\n"))
    assert refused(report) == [
        f"file1, line {line}: system bm25 has another ranking for query {key}, and a ranking is never overwritten."
        " If that one is wrong, delete the system on its page. If this is another version, give --system NAME."
        for line, key in [(2, "q1"), (1, "q2")]
    ]
    assert record() == before


def test_a_wrong_system_is_deleted_on_its_page_and_imported_again(client):
    collection = make_collection()
    client.force_login(make_member(collection, "dora", Role.ADMIN))
    intake.import_run(collection, sources(RUN))
    system, at = System.objects.get(), version(collection)
    page = client.get(reverse("system", args=[collection.slug, system.pk])).content.decode()
    address = reverse("delete_system", args=[collection.slug, system.pk])
    assert f'action="{address}"' in page
    client.post(address)
    assert not Ranking.objects.exists() and version(collection) == at + 1
    assert intake.import_run(collection, sources("q1 Q0 b 1 3.5 bm25\n")).counts["new"] == 1


def test_several_systems_in_one_file_are_told_apart_by_their_tag():
    collection = make_collection()
    intake.import_run(collection, sources("q1 Q0 a 1 2 x\nq1 Q0 b 1 2 y\nq1 Q0 b 2 1 x\nq2 Q0 c 1 1 y\n"))
    assert ranked(collection, "x", "q1") == ["a", "b"]
    assert ranked(collection, "y", "q1") == ["b"]
    assert ranked(collection, "y", "q2") == ["c"]


def test_system_renames_one_tag_and_refuses_two():
    collection = make_collection()
    intake.import_run(collection, sources(RUN), system="v2")
    assert [s.name for s in System.objects.all()] == ["v2"]
    report = intake.import_run(collection, sources(RUN, "q1 Q0 c 3 1 dense\n"), system="v3")
    assert refused(report) == [
        "file2, line 1: system dense differs from bm25, and one name was chosen for both."
        " Import one system at a time. If they are several systems, leave --system out."
    ]


@pytest.mark.both_databases
def test_lines_in_any_order_and_pieces_on_disk_give_the_same_rankings(monkeypatch):
    lines = [f"q{q} Q0 d{d} {d} {100 - d} s\n" for q in (1, 2) for d in range(1, 31)]
    mixed = sorted(lines, key=lambda line: hash(line[::-1]) % 97)
    one, two = make_collection("one", documents=""), make_collection("two", documents="")
    intake.import_run(one, sources("".join(lines)))
    monkeypatch.setattr(runs, "RESULTS_HELD", 7)
    monkeypatch.setattr(runs, "RANKINGS_HELD", 7)
    monkeypatch.setattr(runs, "RESULTS_PER_LOOKUP", 20)
    monkeypatch.setattr(stage, "ROWS_AT_ONCE", 4)
    intake.import_run(two, sources("".join(mixed)))
    for query in ("q1", "q2"):
        assert ranked(one, "s", query) == ranked(two, "s", query) == [f"d{d}" for d in range(1, 31)]


CONTRADICTION = "q1 Q0 a 1 1.0 s\nq1 Q0 b 2 3.0 s\nq1 Q0 c 3 2.0 s\nq2 Q0 a 1 1 s\n"


def test_ranks_that_contradict_scores_are_refused_with_the_first_place_and_the_count():
    collection = make_collection()
    report = intake.import_run(collection, sources(CONTRADICTION))
    assert refused(report) == [
        "file1, line 2: ranks and scores of s contradict each other 1 time in 1 of 2 rankings: rank 2 has the"
        " score 3.0, above the 1.0 of rank 1 on line 1."
        " If the rank counts, give --order rank. If the score counts, give --order score."
    ]
    assert Ranking.objects.count() == 0


@pytest.mark.parametrize(("order", "expected"), [("rank", ["a", "b", "c"]), ("score", ["b", "c", "a"])])
def test_order_settles_a_contradiction(order, expected):
    collection = make_collection()
    intake.import_run(collection, sources(CONTRADICTION), order=order)
    assert ranked(collection, "s", "q1") == expected


@pytest.mark.parametrize("order", [None, "rank"])
def test_a_rank_that_stands_twice_orders_nothing(order):
    collection = make_collection()
    text = "q1 Q0 a 1 2 s\nq1 Q0 b 1 1 s\n"
    (refusal,) = refused(intake.import_run(collection, sources(text), order=order))
    assert refusal.startswith("file1, line 2: ranks and scores of s contradict each other 1 time")
    assert refusal.endswith(": rank 1 already appears on line 1. If the score counts, give --order score.")
    intake.import_run(collection, sources(text), order="score")
    assert ranked(collection, "s", "q1") == ["a", "b"]


@pytest.mark.both_databases
def test_order_score_compares_all_digits_and_breaks_ties_by_key_descending_in_bytes():
    collection = make_collection(documents="")
    text = "q1 Q0 d10 1 1 s\nq1 Q0 d9 2 1.00000001 s\nq1 Q0 é 3 1 s\nq1 Q0 z 4 1 s\nq1 Q0 Z 5 2 s\n"
    intake.import_run(collection, sources(text), order="score")
    assert ranked(collection, "s", "q1") == ["Z", "d9", "é", "z", "d10"]


def test_scores_that_contradict_the_ranks_in_their_last_digit_do_contradict_them():
    (refusal,) = refused(
        intake.import_run(make_collection(), sources("q1 Q0 a 1 123456789 s\nq1 Q0 b 2 123456790 s\n"))
    )
    assert "rank 2 has the score 123456790.0, above the 123456789.0 of rank 1 on line 1" in refusal


def test_the_first_scores_of_each_file_that_only_32_bits_tie_are_named():
    # Line 3 of the first file is the first whose score is another one than that of an earlier line of its query.
    near = "q1 Q0 a 1 2 s\nq2 Q0 a 1 1.00000001 s\nq1 Q0 b 2 1.99999999 s\nq1 Q0 c 3 1.99999998 s\n"
    apart = "q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq1 Q0 c 3 2 t\nq2 Q0 a 1 1 t\n"
    turned = "q1 Q0 a 3 5 u\nq1 Q0 b 2 123456789 u\nq1 Q0 c 1 123456790 u\n"
    report = intake.import_run(make_collection(), sources(near, apart, turned))
    said = [warning for warning in report.warnings if "32 bits" in warning]
    assert [warning.split(" of one query")[0] for warning in said] == [
        "file1, line 3: the scores 2.0 and 1.99999999",
        "file3, line 3: the scores 123456789.0 and 123456790.0",
    ]
    assert next(iter(Ranking.objects.filter(system__name="u"))).scores.tolist() == [123456790.0, 123456789.0, 5.0]


def test_ties_keep_the_order_of_the_ranks_and_are_counted_with_their_share():
    collection = make_collection()
    report = intake.import_run(
        collection, sources("q1 Q0 b 0 1.00000001 s\nq1 Q0 a 1 1.00000001 s\nq1 Q0 c 2 1.0 s\n")
    )
    assert ranked(collection, "s", "q1") == ["b", "a", "c"]
    assert (
        "s: 1 of 2 neighbouring results (50.0%) have tied scores; trec_eval orders those by document key."
        in report.facts
    )


def test_a_document_twice_in_one_ranking_is_refused_with_both_lines():
    collection = make_collection()
    report = intake.import_run(collection, sources("q1 Q0 a 1 2 s\nq1 Q0 b 2 1 s\nq1 Q0 a 3 0 s\n"))
    assert refused(report) == [
        "file1, line 3: document a of this ranking of s already appears on line 1."
        " Keep one of the two. If the better place counts, give --keep-first."
    ]


# Systems of one name


ONE, TWO = "q1 Q0 a 1 2 s\nq1 Q0 b 2 1 s\nq2 Q0 a 1 1 s\n", "q1 Q0 b 1 2 s\nq1 Q0 c 2 1 s\n"


@pytest.mark.parametrize("keep_first", [False, True])
@pytest.mark.parametrize("other", [TWO, "q3 Q0 a 1 1 s\n", "q1 Q0 a 1 2 s\nq1 Q0 b 2 1 s\n"])
def test_two_files_that_name_one_system_are_refused_until_it_is_said_what_they_are(other, keep_first):
    """Also where no query is in both: two systems on other queries each would become one of both."""
    collection = make_collection(queries=["q1", "q2", "q3"])
    for order in (None, "rank", "score"):
        report = intake.import_run(collection, sources(ONE, other), order=order, keep_first=keep_first)
        (said,) = refused(report)
        assert said.startswith("file2, line 1: the system s is in file1, too. ")
        assert all(way in said for way in ("--system-from file", "--system NAME"))
        assert ("--system-from tag" in said) == (other == "q3 Q0 a 1 1 s\n"), "parts of one share no query"
    assert not collection.systems.exists()


def test_each_system_can_be_named_by_its_file():
    collection = make_collection()
    files = [source(ONE, "runs/bm25.run.gz"), source(TWO, "runs/input.dense"), source("q1 Q0 c 1 1 x\n", "x.run")]
    report = intake.import_run(collection, files, system_from="file")
    assert not report.refused and not report.warnings[1:]
    assert ranked(collection, "bm25.run", "q1") == ["a", "b"]
    assert ranked(collection, "input.dense", "q1") == ["b", "c"]
    assert ranked(collection, "x.run", "q1") == ["c"]


def test_files_of_one_name_and_files_of_several_systems_name_none():
    collection = make_collection()
    same = [source(ONE, "a/run.txt"), source(TWO, "b/run.txt")]
    (said,) = refused(intake.import_run(collection, same, system_from="file"))
    assert said.startswith("b/run.txt: the file has the same name as a/run.txt") and "--system NAME" in said
    (said,) = refused(intake.import_run(collection, sources(ONE + "q1 Q0 a 1 1 x\n"), system_from="file"))
    assert "several systems in it (s, x)" in said and "--system-from" in said
    (said,) = refused(intake.import_run(collection, [source(ONE, "my\x01run")], system_from="file"))
    assert "a control character" in said and "--system NAME" in said
    assert not collection.systems.exists()


def test_names_of_systems_may_have_blanks_and_two_of_them_stand_in_one_file():
    collection = make_collection()
    table = "query,document,rank,system\nq1,a,1,Solr old\nq1,b,1,Vector  new\n"
    assert not intake.import_run(collection, sources(table)).refused
    assert not intake.import_run(collection, sources("q1 Q0 c 1 1 x\n"), system="My own").refused
    assert not intake.import_run(
        collection, [source("q1 Q0 d 1 1 x\n", "by file.run")], system_from="file"
    ).refused
    assert sorted(collection.systems.values_list("name", flat=True)) == [
        "My own", "Solr old", "Vector new", "by file.run",
    ]  # fmt: skip


def test_a_system_without_a_name_beside_others_gets_one_in_its_rows():
    table = "query,document,rank,system\nq1,a,1,Solr\nq1,b,1,\n"
    (said,) = refused(intake.import_run(make_collection(), sources(table)))
    assert said.endswith("Write a name of at most 200 characters into each row.")


@pytest.mark.parametrize("said", [{"system_from": "tag"}, {"system": "s"}])
def test_parts_of_one_system_have_no_query_together(said):
    collection = make_collection(queries=["q1", "q2", "q3"])
    for keep_first in (False, True):
        (refusal,) = refused(intake.import_run(collection, sources(ONE, TWO), keep_first=keep_first, **said))
        assert refusal.startswith("file2, line 1: query q1 of s already appears on line 1 of file1. ")
        assert "--system-from file" in refusal
    report = intake.import_run(collection, sources(ONE, "q3 Q0 c 1 1 s\n"), **said)
    assert report.counts["new"] == 3 and collection.systems.get().rankings.count() == 3


@pytest.mark.both_databases
def test_a_later_import_of_a_system_adds_the_queries_that_it_lacks_and_says_so():
    collection = make_collection(queries=["q1", "q2", "q3"])
    intake.import_run(collection, sources(ONE))
    report = intake.import_run(collection, sources("q3 Q0 c 1 1 s\n"))
    assert report.counts["new"] == 1
    assert "s: the new rankings join 2 rankings of an earlier import." in report.warnings[0]
    (said,) = refused(intake.import_run(collection, sources(TWO)))
    assert "s has another ranking for query q1" in said and "--system NAME" in said


def test_a_table_that_names_no_system_is_told_how_it_gets_a_name():
    """And no more: what appears twice in two of them is for another time."""
    tables = [source(f"query,document,rank\nq1,{first},1\nq1,b,2\n", f"{first}.csv") for first in "ab"]
    report = intake.import_run(make_collection(), tables)
    assert len(refused(report)) == 2
    for said in refused(report):
        assert "the name of the system is empty" in said
        assert "--system NAME" in said and "--system-from file" in said
    (said,) = refused(intake.import_run(make_collection("b"), sources("query,document,rank\nq1,a,1\nq1,a,2\n")))
    assert "--system NAME" in said


def test_two_rankings_of_a_query_in_one_file_are_no_repeat_to_be_merged():
    collection = make_collection()
    for order in (None, "rank", "score"):
        report = intake.import_run(collection, sources(ONE + TWO), order=order)
        assert report.refused
        assert all(
            "Put each system in its own file" in said and "--keep-first" not in said for said in refused(report)
        )
    (said,) = refused(intake.import_run(collection, sources("q1 Q0 a 0 2 s\nq1 Q0 b 0 1 s\n")))
    assert said.endswith("If the score counts, give --order score.")


@pytest.mark.parametrize(("order", "kept"), [("rank", ["a", "b", "c"]), ("score", ["c", "a", "b"])])
def test_of_a_document_twice_the_better_place_can_be_kept(order, kept):
    """By rank a is first, by score the c on the last line; the ranks of the others close up."""
    collection = make_collection()
    run = "q1 Q0 c 4 1 s\nq1 Q0 a 1 5 s\nq1 Q0 a 2 4 s\nq1 Q0 b 3 3 s\nq1 Q0 c 5 9 s\n"
    report = intake.import_run(collection, sources(run), order=order, keep_first=True)
    assert ranked(collection, "s", "q1") == kept
    assert report.warnings[0] == "s: 2 results left out, as their document has a better place."
    again = intake.import_run(collection, sources(run), order=order, keep_first=True)
    assert again.counts["unchanged"] == 1


def test_lines_for_unknown_queries_are_skipped_counted_and_named():
    collection = make_collection(queries=["q1", "q2", "q3"])
    report = intake.import_run(collection, sources(RUN + "q9 Q0 a 1 1 bm25\nq9 Q0 b 2 1 bm25\nq8 Q0 b 2 1 bm25\n"))
    assert "file1: 3 lines for queries outside the collection skipped (q8, q9)." in report.facts
    assert report.warnings == [
        "topic ids do not match: 2 of 4 topics in the import are not in the collection (q8, q9) and"
        " 1 query has no ranking by bm25 (q3). Check that both use the same numbering."
    ]


def test_queries_without_a_ranking_are_named_once_for_all_systems_that_lack_them():
    collection = make_collection(queries=["q1", "q2", "q10"])
    report = intake.import_run(collection, sources("q1 Q0 a 1 1 x\nq1 Q0 a 1 1 y\nq2 Q0 a 1 1 z\nq1 Q0 a 1 1 z\n"))
    assert report.warnings == [
        "2 queries have no ranking by x, y (q10, q2).",
        "1 query has no ranking by z (q10).",
    ]


def test_a_file_of_which_no_query_is_known_is_refused_even_beside_a_good_one():
    collection = make_collection()
    report = intake.import_run(collection, sources(RUN, "7 Q0 a 1 1 other\n"))
    assert refused(report) == [
        "file2: none of its queries (7) is in the collection, which has q1, q2."
        " Check that both use the same numbering, or import the queries of this file first."
    ]
    assert System.objects.count() == 0


def test_runs_and_qrels_wait_for_the_queries():
    collection = make_collection(queries=[])
    for report in (
        intake.import_run(collection, sources(RUN)),
        intake.import_qrels(collection, sources(QRELS)),
    ):
        assert refused(report) == [
            "file1: the collection has no queries yet. Import queries first, with import_queries."
        ]


def test_comments_and_further_columns_are_counted():
    report = intake.import_run(
        make_collection(), sources("# made by s\nq1 Q0 a 1 2 s more junk\nq9 Q0 a 1 1 s more\n")
    )
    assert "file1: 1 comment (line that begins with #) skipped." in report.facts
    assert "file1: 2 lines with more than six columns; the rest was ignored." in report.facts


@pytest.mark.both_databases
def test_keys_with_marks_of_json_and_sql_are_found_again():
    collection = make_collection(documents="")
    keys = ['"', "\\", "'", "%s", "é", "😀", "null", "1", "01", "{}", "c\\\\\\n\\t\\N"]
    text = "".join(f"q1 Q0 {key} {i} {-i} s\n" for i, key in enumerate(keys))
    intake.import_run(collection, sources(text))
    assert ranked(collection, "s", "q1") == keys
    assert intake.import_run(collection, sources(text)).counts["unchanged"] == 1


# Qrels and ratings


@pytest.mark.both_databases
def test_qrels_become_ratings_by_one_imported_rater():
    collection = make_collection()
    report = intake.import_qrels(collection, sources(QRELS), rater="assessor")
    rater = Rater.objects.get()
    assert (rater.name, rater.kind, rater.user) == ("assessor", "imported", None)
    rows = Rating.objects.values_list("pair__query__key", "pair__document__key", "grade__value")
    assert set(rows) == {("q1", "a", 3), ("q1", "b", 0), ("q2", "b", -1)}
    assert RatingEvent.objects.filter(kind="import").count() == 3
    assert report.facts == ["3 ratings from qrels: 3 new, 0 changed, 0 unchanged."]
    assert version(collection) == 1


def test_a_collection_without_scale_takes_it_from_the_first_qrels():
    collection = make_collection(scale={})
    report = intake.import_qrels(collection, sources("q1 0 a 2\nq1 0 b -1\nq2 0 b 0.50\nq2 0 a 2.0\n"))
    assert [(g.value, g.label) for g in collection.grades.all()] == [
        (Decimal("-1"), ""),
        (Decimal("0.5"), ""),
        (Decimal("2"), ""),
    ]
    assert "The collection takes its scale from here: -1, 0.5, 2." in report.facts


def test_a_grade_outside_the_scale_is_refused_with_its_line():
    collection = make_collection()
    before = record()
    report = intake.import_qrels(collection, sources("q1 0 a 3\nq1 0 b 4\nq2 0 b 4.0\nq2 0 a 0.5\n"))
    assert refused(report) == [
        f"file1, line {line}: the grade {grade} is not on the scale of the collection."
        " The scale is -1, 0, 1, 2, 3. Correct the line or extend the scale."
        for line, grade in [(2, "4"), (3, "4"), (4, "0.5")]
    ]
    assert record() == before


def test_a_line_said_twice_is_counted_and_one_that_says_something_else_is_refused():
    collection = make_collection()
    report = intake.import_qrels(collection, sources("q1 0 a 3\nq1 0 a 3\nq2 0 a 1\n"))
    assert "1 line repeats an earlier one." in report.facts
    report = intake.import_qrels(collection, sources("q1 0 c 3\n", "q2 0 c 3\nq1 0 c 2\n"))
    assert refused(report) == [
        "file2, line 2: document c has another grade for the same query and no name of a rater on line 1 of file1."
    ]
    assert Rating.objects.count() == 2


def test_a_rating_that_contradicts_an_earlier_one_is_refused_with_what_differs():
    collection = make_collection()
    head = "query,document,rater,grade,reason\n"
    rows = "q1,a,Ann,3,\nq1,a,Ann,,broken\nq1,b,Ann,,broken\nq1,b,Ann,,other\n"
    assert [
        line.partition(" has ")[2] for line in refused(intake.import_ratings(collection, sources(head + rows)))
    ] == [
        "another grade and reason for the same query on line 2. Keep one of the two.",
        "another reason for the same query on line 4. Keep one of the two.",
    ]


def test_a_row_that_repeats_a_rating_is_counted_and_one_with_another_comment_is_refused():
    collection = make_collection()
    head = "query,document,rater,grade,comment\n"
    report = intake.import_ratings(collection, sources(f"{head}q1,a,Ann,3,old\nq1,a,Ann,3,old\n"))
    assert report.counts["duplicates"] == 1 and Rating.objects.get().comment == "old"
    (said,) = refused(intake.import_ratings(collection, sources(f"{head}q1,b,Ann,3,old\nq1,b,Ann,3,new\n")))
    assert "line 3: document b has another comment for the same query on line 2. Keep one of the two." in said
    intake.import_ratings(collection, sources(f"{head}q1,b,Ann,3,old\nq1,b,Ann,3,new\n"), repeats="last")
    assert Rating.objects.get(document__key="b").comment == "new"


def test_queries_that_were_rated_before_do_not_lack_qrels():
    collection = make_collection()
    intake.import_qrels(collection, sources("q1 0 a 1\n"))
    assert intake.import_qrels(collection, sources("q2 0 a 1\n")).warnings == []


def test_an_import_never_speaks_for_a_person():
    collection = make_collection()
    make_rater(collection, "alice")
    report = intake.import_qrels(collection, sources(QRELS), rater="alice")
    assert refused(report) == [
        "file1, line 1: the rater alice rates in this collection, and an import cannot speak for them."
        " Give the imported rater another name."
    ]
    assert Rating.objects.count() == 0


@pytest.mark.both_databases
def test_ratings_of_several_raters_keep_reason_comment_and_time():
    collection = make_collection()
    text = (
        "query,document,rater,grade,reason,comment,seconds,rated_at\n"
        'q1,a,ann,3,,"so,\nfine",12.5,2026-03-02T09:00:00+00:00\nq1,a,bob,,language,,,\nq2,a,ann,0,,,,\n'
    )
    report = intake.import_ratings(collection, sources(text))
    ann = Rating.objects.get(rater__name="ann", pair__query__key="q1")
    assert (ann.grade.value, ann.comment, ann.created_at) == (
        3,
        "so,\nfine",
        datetime(2026, 3, 2, 9, tzinfo=UTC),
    )
    bob = Rating.objects.get(rater__name="bob")
    assert (bob.grade, bob.reason) == (None, "language")
    assert RatingEvent.objects.get(rater__name="ann", pair__query__key="q1").seconds == 12.5
    assert report.facts == ["3 ratings from ratings: 3 new, 0 changed, 0 unchanged."]
    before = record()
    assert intake.import_ratings(collection, sources(text)).counts["unchanged"] == 3
    assert record() == before


def test_a_reason_that_is_not_known_is_refused():
    report = intake.import_ratings(
        make_collection(), sources("query,document,rater,grade,reason\nq1,a,ann,,tired\nq2,a,ann,1,\n")
    )
    assert refused(report) == [
        "file1, line 2: the reason 'tired' is not known."
        " Known are broken, language, knowledge, unclear, other, picture."
    ]


@pytest.mark.both_databases
def test_ratings_of_many_raters_come_in_few_queries_and_change_one_by_one(django_assert_max_num_queries):
    """However many raters there are: pieces hold rows of several."""
    collection = make_collection()
    lines = "".join(f"q{1 + n % 2},{d},rater {n},{n % 4}\n" for n in range(40) for d in "abc")
    with django_assert_max_num_queries(60):
        intake.import_ratings(collection, sources(f"query,document,rater,grade\n{lines}"))
    assert Rating.objects.count() == RatingEvent.objects.filter(kind="import").count() == 120
    changed = lines.replace("rater 7,3", "rater 7,2")
    report = intake.import_ratings(collection, sources(f"query,document,rater,grade\n{changed}"))
    assert (report.counts["new"], report.counts["changed"], report.counts["unchanged"]) == (0, 3, 117)
    said = Rating.objects.filter(rater__name="rater 7").values_list("grade__value", "revision")
    assert set(said) == {(2, 2)}
    assert not Rating.objects.exclude(rater__name="rater 7").filter(revision__gt=1).exists()


def test_progress_is_told_while_reading_checking_and_writing(monkeypatch):
    told = []
    monkeypatch.setattr(stage, "ROWS_PER_TICK", 2)
    intake.import_run(make_collection(), sources(RUN), progress=lambda *facts: told.append(facts))
    assert told == [("file1", None, 2), ("checking", None, 3), ("writing", 1.0, 3)]


def test_a_judgment_table_is_read_for_its_documents_whatever_its_query_column_is_called():
    """What differs between the rows of a document belongs to the pair; the queries of the collection show it."""
    head = "Anfrage,product,title,text,brand,grade\n"
    rows = "text of q1,p,Boot,Long,Acme,3\ntext of q2,p,Boot,Long,Acme,0\nq1,r,Sock,Short,Best,1\n"
    collection = make_collection()
    report = intake.import_documents(collection, sources(head + rows))
    assert not report.refused and any("'Anfrage', 'grade'" in fact for fact in report.facts)
    assert collection.documents.get(key="p").fields == {"brand": "Acme"}
    # Without a query that is known, a difference may also be a mistake: people say which it is.
    unknown = (head + rows).replace("q1", "boots").replace("text of q2", "socks")
    (refusal,) = intake.import_documents(make_collection("sea"), sources(unknown)).refusals
    assert (refusal.line, refusal.problem) == (3, "document p has another 'Anfrage'")
    assert [option.value for option in refusal.options] == [{"fields": "brand"}]
