"""Exports of Quepid, in small."""

import io
import json
from decimal import Decimal

import pytest

from ratings.formats import quepid
from ratings.formats.rows import DocumentLine, RatingLine, RunLine, Topic
from ratings.formats.source import Reading, Source

BOOK = """{
 "name": "Shoes",
 "show_rank": false,
 "scale": [0, 1, 2, 3],
 "selection_strategy": {"name": "Multiple Raters"},
 "query_doc_pairs": [
  {"query_text": "red shoes", "doc_id": "d1", "position": 1,
   "document_fields": "{\\"title\\": \\"Red shoe\\", \\"brand\\": \\"B\\"}", "information_need": null,
   "judgements": [
    {"rating": 3.0, "unrateable": false, "judge_later": false, "user_email": "ann@example.org",
     "explanation": "Fits"},
    {"rating": null, "unrateable": true, "judge_later": false, "user_email": "bob@example.org"},
    {"rating": null, "unrateable": false, "judge_later": true, "user_email": "cy@example.org"},
    {"rating": 0.5, "unrateable": false, "judge_later": false}
   ]},
  {"query_text": "red shoes", "doc_id": 7, "document_fields": null, "information_need": "To buy a pair.",
   "judgements": []}
 ]
}
"""
SNAPSHOT = """{"id": 1, "name": "no-vector", "docs": {
  "20": [{"id": "d1", "rated_only": false, "fields": {"title": "T"}}, {"id": "d2", "rated_only": true},
         {"id": "d3", "rated_only": false, "fields": null}],
  "21": []},
 "queries": [
  {"query_id": 20, "query_text": "red shoes", "information_need": "To buy.", "ratings": {"d1": 3.0, "d9": -1}},
  {"query_id": 21, "query_text": "hats", "ratings": {}}],
 "scores": [{"query_id": 20, "score": 0.3}]}
"""
CASE = """{"case_name": "C", "queries": [
  {"query_text": "red shoes", "ratings": [{"doc_id": "d1", "rating": 2, "user_email": "ann@example.org"},
                                          {"doc_id": "d2", "rating": null, "user_email": null}]}]}
"""


def source(text: str, **said) -> Source:
    return Source("q.json", io.BytesIO(text.encode()), Reading(**said))


def judged(judgement: str) -> str:
    return f'{{"query_text": "q", "doc_id": "d", "judgements": [{judgement}]}}'


FINE = judged('{"rating": 1}')


def test_a_book_gives_ratings_of_its_judges_and_what_is_unrateable_stays_that():
    assert list(quepid.read_book_ratings(source(BOOK))) == [
        RatingLine(7, "red shoes", "d1", "ann@example.org", Decimal(3), "", "Fits"),
        RatingLine(7, "red shoes", "d1", "bob@example.org", None, "other"),
        RatingLine(7, "red shoes", "d1", "Anonymous", Decimal("0.5")),
    ]


def test_a_book_gives_each_query_once_with_the_need_that_one_of_its_pairs_has():
    assert list(quepid.read_book_queries(source(BOOK))) == [Topic(7, None, "red shoes", "To buy a pair.")]


def test_a_book_gives_documents_with_their_fields():
    assert list(quepid.read_book_documents(source(BOOK))) == [
        DocumentLine(7, "d1", "Red shoe", None, None, {"brand": "B"}),
        DocumentLine(16, "7"),
    ]


def test_fields_named_as_ours_stay_fields_where_they_are_no_text():
    fields = json.dumps(json.dumps({"id": "other", "title": ["a", "b"], "text": "T"}))
    text = f'{{"query_doc_pairs": [{{"query_text": "q", "doc_id": "d", "document_fields": {fields}}}]}}'
    assert list(quepid.read_book_documents(source(text))) == [
        DocumentLine(1, "d", None, "T", None, {"title": ["a", "b"], "id": "other"})
    ]


def test_a_document_with_other_fields_elsewhere_is_refused():
    pair = '{"query_text": "q%s", "doc_id": "d", "document_fields": "{\\"title\\": \\"%s\\"}"}'
    pairs = ",\n".join(pair % said for said in [(1, "T"), (2, "T"), (3, "U")])
    text = f'{{"query_doc_pairs": [\n{pairs}]}}'
    row, refusal = quepid.read_book_documents(source(text))
    assert (row.title, refusal.line, refusal.problem) == ("T", 4, "document d has other fields on line 2")


def test_a_case_names_who_rated_and_a_rating_that_is_not_there_is_none():
    assert list(quepid.read_case_ratings(source(CASE))) == [
        RatingLine(2, "red shoes", "d1", "ann@example.org", Decimal(2))
    ]
    assert list(quepid.read_case_queries(source(CASE))) == [Topic(2, None, "red shoes")]


def test_the_ratings_of_a_case_may_stand_without_names():
    text = '{"queries": [{"query": "hats", "ratings": {"d1": 1, "d2": 0.25}}]}'
    assert list(quepid.read_case_ratings(source(text))) == [
        RatingLine(1, "hats", "d1", "", Decimal(1)),
        RatingLine(1, "hats", "d2", "", Decimal("0.25")),
    ]


def test_a_snapshot_gives_what_was_returned_but_not_what_was_only_rated():
    assert list(quepid.read_snapshot_results(source(SNAPSHOT))) == [
        RunLine(2, "red shoes", "d1", 1, 1.0, "no-vector"),
        RunLine(2, "red shoes", "d3", 2, 0.5, "no-vector"),
    ]
    assert [row.key for row in quepid.read_snapshot_documents(source(SNAPSHOT))] == ["d1"]
    assert [row.grade for row in quepid.read_case_ratings(source(SNAPSHOT))] == [3, -1]


def test_queries_of_a_snapshot_that_are_none_are_refused():
    (refusal,) = quepid.read_snapshot_results(source('{"docs": {},\n"queries": [12]}'))
    assert (refusal.line, refusal.problem) == (2, "the query is 12, not an object")
    (refusal,) = quepid.read_snapshot_results(source('{"docs": {\n"9": [{"id": "d"}]}, "queries": []}'))
    assert (refusal.line, refusal.problem) == (2, "query '9' is not among the queries")


@pytest.mark.parametrize(
    ("pair", "problem"),
    [
        ("12", "the record is 12, not an object"),
        ('{"doc_id": "d"}', "the query is empty"),
        ('{"query_text": "q"}', "the doc_id is empty"),
        ('{"query_text": "q", "doc_id": "a\\tb"}', "has a blank"),
        ('{"query_text": "q", "doc_id": "d", "judgements": 1}', "the judgements are 1, not a list"),
        (judged("1"), "the judgement is 1, not an object"),
        (judged('{"rating": "x"}'), "'x' is not a decimal number"),
        (judged('{"rating": true}'), "True is given where a text or"),
        (judged('{"rating": 1, "unrateable": true}'), "document d is unrateable and has the rating 1"),
    ],
)
def test_a_pair_that_cannot_be_read_is_refused_where_it_begins(pair, problem):
    good, refusal = quepid.read_book_ratings(source(f'{{"query_doc_pairs": [\n{FINE},\n{pair}]}}'))
    assert good.document == "d"
    assert (refusal.line, problem in refusal.problem) == (3, True) and refusal.cure


def test_a_query_with_two_information_needs_is_refused():
    pair = '{"query_text": "hats", "doc_id": "%s", "information_need": "%s"}'
    text = f'{{"query_doc_pairs": [\n{pair % ("a", "To buy")},\n{pair % ("b", "To look")}]}}'
    refusal, topic = quepid.read_book_queries(source(text))
    assert (refusal.line, refusal.problem) == (3, "query 'hats' has another information need")
    assert refusal.other == (refusal.file, 2)
    assert topic.need == "To buy"
