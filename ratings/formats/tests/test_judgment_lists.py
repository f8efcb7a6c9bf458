"""Judgment lists of OpenSearch, RRE and learning to rank: read, refused and written."""

import io
import re
from collections.abc import Callable
from decimal import Decimal

import pytest

from ratings.formats import letor, opensearch, rre
from ratings.formats.rows import RatingLine, Topic
from ratings.formats.source import Source


def read(reader: Callable, text: str) -> list:
    return list(reader(Source("j", io.BytesIO(text.encode()))))


def judged(rating: str) -> str:
    return f'{{"judgmentRatings": [{{"query": "q", "ratings": [{rating}]}}]}}'


OPENSEARCH = """{"name": "ESCI", "type": "IMPORT_JUDGMENT", "judgmentRatings": [
  {"query": "steel", "ratings": [{"docId": "a", "rating": "0.700"}, {"rating": -1, "docId": "b"}]},
  {"query": "steel", "ratings": [{"docId": "c", "rating": "100.000"}]}
]}"""


def test_a_judgment_list_of_opensearch_keeps_decimals_and_negatives():
    assert read(opensearch.read_ratings, OPENSEARCH) == [
        RatingLine(2, "steel", "a", "", Decimal("0.7")),
        RatingLine(2, "steel", "b", "", Decimal(-1)),
        RatingLine(3, "steel", "c", "", Decimal(100)),
    ]
    assert read(opensearch.read_judged_queries, OPENSEARCH) == [Topic(2, None, "steel")]


def test_a_query_set_of_opensearch_tells_what_was_meant():
    text = '{"querySetQueries": [{"queryText": "phone"},\n{"queryText": "who?", "referenceAnswer": "I"}]}'
    assert read(opensearch.read_queries, text) == [Topic(1, None, "phone"), Topic(2, None, "who?", "I")]


RRE = """{"index": "basses", "topics": [
  {"description": "Basses", "query_groups": [
    {"description": "Fender", "queries": [
        {"template": "t.json", "placeholders": {"$query": "fender", "$lang": "en"}},
        {"placeholders": {"$query": "Fender"}, "relevant_documents": {"9": {"gain": 0.5}}}],
     "relevant_documents": {"1": {"gain": 3}, "2": {"rating": -1}}}]}]}"""


def test_the_documents_of_an_rre_group_count_for_each_of_its_queries():
    assert [(row.query, row.document, row.grade) for row in read(rre.read_ratings, RRE)] == [
        ("fender", "1", 3),
        ("fender", "2", -1),
        ("Fender", "9", Decimal("0.5")),
    ]
    assert read(rre.read_queries, RRE) == [
        Topic(2, None, "fender", "Basses\n\nFender"),
        Topic(2, None, "Fender", "Basses\n\nFender"),
    ]


def test_rre_may_list_documents_by_gain_and_queries_without_groups():
    text = '{"queries": [{"placeholders": {"$q": "x"}, "relevant_documents": {"2": ["a", "b"]}}]}'
    assert read(rre.read_ratings, text) == [RatingLine(1, "x", key, "", Decimal(2)) for key in "ab"]


LETOR = """# qid:1: rambo*1
# qid:2: the godfather 2*0.5

4	qid:1	 # 7555	rambo
0.5 qid:1 1:0.3 2:1e-3 #docid = GX-1 inc = 1 prob = 0.5
-1 qid:2 1:0.1 # docid = 9 docno = G34-15
3 qid:3 # d-3 kung fury
2 qid:3 # http://a.example/?docno=5 kung fury
"""


def test_lines_for_learning_to_rank_have_grade_query_and_document():
    assert read(letor.read_ratings, LETOR) == [
        RatingLine(4, "1", "7555", "", Decimal(4)),
        RatingLine(5, "1", "GX-1", "", Decimal("0.5")),
        RatingLine(6, "2", "G34-15", "", Decimal(-1)),
        RatingLine(7, "3", "d-3", "", Decimal(3)),
        RatingLine(8, "3", "http://a.example/?docno=5", "", Decimal(2)),
    ]
    assert read(letor.read_queries, LETOR) == [
        Topic(1, "1", "rambo"),
        Topic(2, "2", "the godfather 2"),
        Topic(7, "3", "kung fury"),
    ]


RRE_QUERY = '{"queries": [{"placeholders": {"$query": "x"}, "relevant_documents": {"a": 3}}]}'


@pytest.mark.parametrize(
    ("reader", "text", "line", "problem"),
    [
        (opensearch.read_ratings, '{"judgmentRatings": [\n{"query": "", "ratings": []}]}', 2, "query is empty"),
        (opensearch.read_ratings, judged("{}"), 1, "the docId is empty"),
        (opensearch.read_ratings, judged('{"docId": "a", "rating": "NaN"}'), 1, "'NaN' is not a decimal number"),
        (opensearch.read_queries, '{"querySetQueries": [\n\n"phone"]}', 3, "the record is 'phone', not an object"),
        (rre.read_ratings, '{"queries": [{"placeholders": {"$a": "x", "$b": "y"}}]}', 1, "is $query"),
        (rre.read_ratings, RRE_QUERY, 1, "the relevant document is 3, not an object"),
        (rre.read_ratings, '{"topics": [\n{"query_groups": {}}]}', 2, "the query_groups are {}, not a list"),
        (letor.read_ratings, "1 qid:1 # a\n1 1:0.5 # b\n", 2, "has no grade and no qid"),
        (letor.read_ratings, "1 qid:1 1:0.5\n", 1, "no document follows after a #"),
        (letor.read_ratings, "good qid:1 # a\n", 1, "the grade 'good' is not a decimal number"),
        (letor.read_ratings, "1 qid:1 # docid = \n", 1, "no document follows after a #"),
        (letor.read_queries, "1 qid:1 # a\n", 1, "the text of query 1 is empty"),
        (letor.read_queries, "1 qid:1 #docid = a inc = 1 prob = 0.5\n", 1, "the text of query 1 is empty"),
    ],
)
def test_what_cannot_be_read_is_refused_with_line_and_cure(reader, text, line, problem):
    *_, refusal = read(reader, text)
    assert refusal.line == line and problem in refusal.problem and refusal.cure


def test_titles_of_documents_in_letor_are_no_text_of_their_query():
    refusal, _ = read(letor.read_queries, "1 qid:1 # a Rambo\n1 qid:1 # b Rambo III\n")
    assert refusal.line == 2 and "has another text" in refusal.problem


@pytest.mark.parametrize("key", ["1", "a:b"])
def test_the_text_of_a_query_of_letor_can_be_given_in_a_comment_as_the_cure_says(key):
    lines = f"2 qid:{key} #docid = a inc = 1\n0 qid:{key} #docid = b inc = 0.01\n"
    (refusal,) = read(letor.read_queries, lines)
    comment = re.search('"(# .*)"', refusal.cure_text())[1].replace("qid:1:", f"qid:{key}:")
    assert read(letor.read_queries, f"{comment}\n{lines}") == [Topic(1, key, "red shoes")]
