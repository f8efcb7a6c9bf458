"""What is guessed of a table: what parts its cells, whether it has a header, and which column holds what.

A guess may be silent where a wrong one loses nothing. Else the file is refused with the option that decides.
"""

import io
from decimal import Decimal

import pytest

from ratings.formats.header import delimiter_of
from ratings.formats.refusal import Refusal
from ratings.formats.registry import certain_kind, recognised
from ratings.formats.rows import DocumentLine, RatingLine, RunLine
from ratings.formats.source import Reading, Source
from ratings.tests.refusals import offered

from .test_registry import DEFAULTS


def source(text: str | bytes, **said) -> Source:
    return Source("f", io.BytesIO(text if isinstance(text, bytes) else text.encode()), Reading(**said))


def rows_of(kind: str, text: str | bytes, **said) -> list:
    return read(kind, source(text, **said))


def read(kind: str, file: Source) -> list:
    found = recognised(file, kind, DEFAULTS[kind])
    return [found] if isinstance(found, Refusal) else list(found.reads[kind](file))


def queries_of(text: str | bytes, **said) -> list[tuple]:
    return [(row.key, row.text) for row in rows_of("queries", text, **said)]


def refusal_of(kind: str, text: str | bytes, **said) -> Refusal:
    """The one refusal that is all there is."""
    (refusal,) = rows_of(kind, text, **said)
    assert isinstance(refusal, Refusal)
    return refusal


# The header


@pytest.mark.parametrize(
    "text",
    [
        "q1\tkeyword\n",  # nothing stands below it, so nobody knows
        "query\nred shoes\nblue hat\n",
        "query\nq2\nq3\n",
        "q1\ttext\nq2\tsecond text\n",
        "q1\tquery\tdescription\nq2\tsecond text\tx\n",
        "1\tid\n2\tred shoes\n",
        "1,query\n2,red shoes\n",
        "nr\tfrage\n1\tred shoes\n2\tblue hat\n",
        "query,category\nshoes,a\nhats,b\n",
        "query\t2023\nlaptop\t12\n",
        "1,red shoes\n2,blue hat\n",
    ],
)
def test_what_may_be_a_header_or_a_query_is_refused_with_the_switch(text):
    refusal = refusal_of("queries", text)
    assert refusal.line == 1
    assert sorted(offered(refusal)) == [("header", "no"), ("header", "yes")]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("id\ttitle\n1\tred\n2\tblue\n", [("1", "red"), ("2", "blue")]),
        ("Query ID;Search Term\n1;red\n2;blue\n", [("1", "red"), ("2", "blue")]),
        ("query,description\nred shoes,to buy\nhats,to wear\n", [(None, "red shoes"), (None, "hats")]),
        ("keyword,frequency\nred,3\nblue,1\n", [(None, "red"), (None, "blue")]),
        (",query,weight\n0,red,1\n1,blue,2\n", [(None, "red"), (None, "blue")]),  # pandas
        ('"id","query"\n"1","red"\n', [("1", "red")]),
        (" id , query \n1,red\n", [("1", "red")]),
        ("\ufeffid;query\r\n1;red\r\n", [("1", "red")]),
        ("sep=;\r\nid;query\r\n1;red\r\n2;a, b\r\n", [("1", "red"), ("2", "a, b")]),
    ],
)
def test_a_header_with_evidence_is_one(text, rows):
    assert queries_of(text) == rows


def test_what_is_said_of_the_header_decides():
    assert queries_of("query\nred shoes\n", header=True) == [(None, "red shoes")]
    assert queries_of("query\nred shoes\n", header=False) == [(None, "query"), (None, "red shoes")]
    assert queries_of("1,query\n2,red\n", header=False) == [("1", "query"), ("2", "red")]
    assert queries_of("Frage\nrote Schuhe\n", header=True) == [(None, "rote Schuhe")]
    assert queries_of("id\ttitle\n1\tred\n", header=False) == [("id", "title"), ("1", "red")]
    assert queries_of("query\nred shoes\n", columns={"text": "query"}) == [(None, "red shoes")]
    two_and_one = {"key": "2", "text": "1"}
    assert queries_of("query,1\nred,2\n", header=False, columns=two_and_one) == [("1", "query"), ("2", "red")]


# The delimiter


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("q1\tred, blue, green\nq2\tone, two\n", "\t"),
        ("query;grade\na;1,5\nb;2,5\n", ";"),
        ("a;1,5\nb;2,5\n", ";"),
        ("query|document\na, b|c\n", "|"),
        ("red, blue\ngreen\nyellow\nblack\n", "\x1f"),
        ('query,document\n"a;b;c",d\n', ","),
    ],
)
def test_the_delimiter_parts_most_records_as_the_first(text, delimiter):
    assert delimiter_of(source(text).start) == delimiter


# Who says columns means a table


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_run_whose_columns_are_said_is_read_as_a_table(delimiter):
    text = "Suche,Artikel,Platz\nred shoes,p1,1\nred shoes,p2,2\n".replace(",", delimiter)
    rows = rows_of("results", text, columns={"query": "Suche", "document": "Artikel", "rank": "Platz"})
    assert [row[1:4] for row in rows] == [("red shoes", "p1", 1), ("red shoes", "p2", 2)]
    refusal = refusal_of("results", text)
    assert "'Suche', 'Artikel', 'Platz'" in refusal.problem
    assert offered(refusal) == [("columns", {"query": None, "document": None, "rank": None})]


def test_a_run_without_a_header_is_read_by_the_numbers_of_its_columns():
    text = "q1,Q0,d1,1,2.5,bm25\nq1,Q0,d2,2,1.5,bm25\n"
    assert ("header", "no") in offered(refusal_of("results", text))
    assert "'1', '2', '3'" in refusal_of("results", text, header=False).problem
    said = {"query": "1", "document": "3", "rank": "4", "score": "5", "system": "6"}
    first, _ = rows_of("results", text, header=False, columns=said)
    assert first == RunLine(1, "q1", "d1", 1, 2.5, "bm25")


def test_documents_of_json_lines_take_the_columns_that_are_said():
    text = '{"number": 7, "name": "Lamp", "price": 9}\n'
    (row,) = rows_of("documents", text, columns={"id": "number", "title": "name"})
    assert row == DocumentLine(1, "7", "Lamp", None, None, {"price": 9})


# One table of queries, documents and ratings

PAIRS = (
    "query,description,product,text,brand,grade\n"
    "red,Made of felt,p1,A long text,Ace,3\n"
    "blue,Made of felt,p1,A long text,Ace,0\n"
    "blue,Made of wood,p2,Another,Bo,1\n"
)


def test_of_a_table_of_pairs_the_description_is_no_need_and_the_text_no_query():
    for said in ({}, {"text": "query"}, {"text": "query", "need": ""}):
        rows = rows_of("queries", PAIRS, columns=said)
        assert [(row.key, row.text, row.need) for row in rows] == [(None, "red", None), (None, "blue", None)]


def test_what_is_said_to_be_in_no_column_is_not_guessed():
    text = "id,query,description\n1,red,Made of felt\n"
    assert rows_of("queries", text)[0].need == "Made of felt"
    assert rows_of("queries", text, columns={"need": ""})[0].need is None
    rows = rows_of("ratings", "query,document,Ann,grade\nq,d,1,2\n", columns={"raters": ""})
    assert [(row.rater, row.grade) for row in rows] == [("", 2)]


def test_of_a_table_of_pairs_a_document_keeps_what_is_said_of_it_and_that_is_told():
    file = source(PAIRS)
    first, second, _ = read("documents", file)
    fields = {"description": "Made of felt", "brand": "Ace"}
    assert first == DocumentLine(2, "p1", None, "A long text", None, fields)
    assert second[1:] == first[1:]
    assert "f: extra fields: 'description', 'brand'." in file.notes
    assert "f: nothing is read from the columns 'query', 'grade'." in file.notes


def test_which_columns_of_documents_are_kept_can_be_said():
    text = "sku,title,brand,price\nd1,Lamp,Ace,9\n"
    assert rows_of("documents", text, columns={"fields": "price"})[0].fields == {"price": "9"}
    assert rows_of("documents", text, columns={"fields": ""})[0].fields is None


def test_a_query_that_stands_twice_with_another_weight_or_need_is_refused():
    text = "query,frequency\nred shoes,3\nred shoes,4\nhat,1\n"
    refusal = next(row for row in rows_of("queries", text) if isinstance(row, Refusal))
    assert (refusal.problem, refusal.other) == ("query 'red shoes' has another weight", (refusal.file, 2))
    assert offered(refusal) == [("columns", {"weight": ""})]


# Raters


@pytest.mark.parametrize(
    "name",
    ["Consensus", "relevance_variance", "Mittelwert", "clicks", "page", "raters", "# raters", "rater_id", "Ann"],
)
def test_a_column_is_no_rater_until_its_name_or_somebody_says_so(name):
    text = f"query,docid,rater1,Judge B,{name}\nred,p1,1,2,1\nred,p2,1,0,3\n"
    refusal = refusal_of("ratings", text)
    assert f"the column '{name}' may be" in refusal.problem
    one, other = offered(refusal)
    assert one == ("columns", {"raters": f"rater1|Judge B|{name}"})
    assert other == ("columns", {"raters": "rater1|Judge B"})
    for _, columns in (one, other):
        rows = rows_of("ratings", text, columns=columns)
        assert {row.rater for row in rows} == set(columns["raters"].split("|"))


def test_columns_with_names_of_people_are_raters_once_somebody_says_so():
    text = "query,docid,maker,Ann,Ben\nred,p1,Nike,1,2\nred,p2,Ace,1,0\n"
    refusal = refusal_of("ratings", text)
    assert "'maker', 'Ann', 'Ben'" in refusal.problem
    every = {"raters": "maker|Ann|Ben"}
    assert offered(refusal) == [("columns", every), ("columns", {"raters": None}), ("columns", {"grade": None})]
    rows = rows_of("ratings", text, columns={"raters": "Ann|Ben"})
    assert {row.rater for row in rows} == {"Ann", "Ben"}
    text = text.replace(",maker", "").replace(",Nike", "").replace(",Ace", "")
    assert {row.rater for row in rows_of("ratings", text, raters={"Ann", "Ben", "Cy"})} == {"Ann", "Ben"}


def test_one_column_beside_the_pair_is_a_rater_or_the_grade():
    text = "query,docid,median\nred,p1,1\n"
    one, other = offered(refusal_of("ratings", text))
    assert [row.rater for row in rows_of("ratings", text, columns=one[1])] == ["median"]
    assert [row[3:5] for row in rows_of("ratings", text, columns=other[1])] == [("", 1)]


def test_a_column_that_is_usual_for_something_else_is_no_rater():
    file = source("query,docid,position,price,a@b.org\nred,p1,1,9.5,2\n")
    assert [row.rater for row in read("ratings", file)] == ["a@b.org"]
    assert "f: nothing is read from the columns 'position', 'price'." in file.notes
    assert any("1 column as a rater ('a@b.org')" in told for told in file.notes)


def test_of_two_columns_of_grades_none_is_taken():
    refusal = refusal_of("ratings", "query,docid,rating,label\nred,p1,1,2\n")
    assert "'rating' or 'label'" in refusal.problem and "grade" in offered(refusal)[0][1]
    rows = rows_of("ratings", "query,docid,rating,label\nred,p1,1,2\n", columns={"grade": "label"})
    assert rows[0].grade == 2
    assert rows_of("ratings", "query,docid,score,rating\nred,p1,7.5,2\n")[0].grade == 2


# Keys of queries


def test_a_column_that_may_hold_the_keys_is_asked_for():
    text = "nr,query\n17,red\n18,blue\n"
    refusal = refusal_of("queries", text)
    assert "'nr'" in refusal.problem
    assert offered(refusal) == [("columns", {"key": "nr"}), ("columns", {"key": ""})]
    assert queries_of(text, columns={"key": "nr"}) == [("17", "red"), ("18", "blue")]
    assert queries_of(text, columns={"key": ""}) == [(None, "red"), (None, "blue")]


# Habits of others


def test_numbers_with_a_decimal_comma_are_read():
    text = "Query;Doc ID;Grade (0-3)\nred;p1;0,5\nred;p2;2,0\nred;p3;-1\n"
    assert [row.grade for row in rows_of("ratings", text)] == [Decimal("0.5"), 2, -1]
    text = 'query,document,score\nred,p1,"1234,5"\nred,p2,"12,25"\n'
    assert [row.score for row in rows_of("results", text)] == [1234.5, 12.25]
    weights = rows_of("queries", "keyword;frequency\nred;1234,5\nblue;1,125\nhat;2,25\n")
    assert [row.weight for row in weights] == [1234.5, 1.125, 2.25]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("queries", 'keyword,frequency\nred,"1,234"\nblue,3\n'),
        ("queries", "keyword;frequency\nred;1.234\nblue;3\n"),
    ],
)
def test_a_mark_that_may_be_for_thousands_is_refused(kind, text):
    refusals = [row for row in rows_of(kind, text) if isinstance(row, Refusal)]
    assert len(refusals) == 1 and "decimals" in refusals[0].problem


def test_ranks_may_begin_with_0_and_stand_as_decimals():
    rows = rows_of("results", "query,product_id,position\nred,p1,0\nred,p2,1.0\nred,p3,2\n")
    assert [(row.document, row.rank) for row in rows] == [("p1", 0), ("p2", 1), ("p3", 2)]
    assert rows[0].score > rows[1].score > rows[2].score


@pytest.mark.parametrize("delimiter", ["\t", ";"])
@pytest.mark.parametrize("cell", ["1,000", "1.000", "2,345"])
def test_a_rank_that_may_be_a_thousand_or_one_is_refused(cell, delimiter):
    lines = ["query document rank", "q a 1", f"q b {cell}"]
    _, refusal = rows_of("results", "\n".join(line.replace(" ", delimiter) for line in lines))
    assert refusal.line == 3 and f"the rank {cell!r} has a mark that may be" in refusal.problem


def test_what_sql_clients_write_for_nothing_is_nothing():
    rows = rows_of("ratings", "query\tdocument\trater\tgrade\tcomment\nq\ta\tAnn\t1\t\\N\nq\tb\tAnn\t\\N\tx\n")
    assert rows == [RatingLine(2, "q", "a", "Ann", Decimal(1))]


def test_a_line_of_a_dump_of_elasticsearch_is_its_document():
    text = '{"_index": "i", "_id": "7", "_score": 1, "_source": {"id": "x", "title": "T", "price": 9}}\n'
    (row,) = rows_of("documents", text)
    assert (row.key, row.title, row.fields) == ("7", "T", {"price": 9})


def test_columns_without_a_name_are_passed_over_and_that_is_told():
    file = source("id;title;;\n1;A;x;\n")
    assert read("documents", file) == [DocumentLine(2, "1", "A")]
    assert "f: nothing is read from 2 columns without a name." in file.notes


# Which kind of row


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("query,document,rank,score,system\nq1,a,1,2.5,bm25\n", "results"),
        ("query,product_id,position\nq1,a,0\n", "results"),
        ("query,document,grade\nq1,a,3\n", "ratings"),
        ("query-id\tcorpus-id\tscore\nq1\ta\t1.25\n", None),
        ("query,document,rater1,rater2\nq1,a,3,\n", "ratings"),
        ("query,document,rank,grade\nq1,a,3,1\n", None),
        ("query,document,maker,Ben\nq1,a,Ace,\n", None),
        ("query,product_id,title,grade\nq1,a,Lamp,3\n", None),
        ("query,item,place\nq1,a,3\nq2,b,1\n", None),
        ("product_id,title,text,price,image url\n1,A,B,2,x\n", "documents"),
        ("id,title,brand\n1,A,B\n", None),
        ("id,title\n1,A\n", None),
        ("id,title,text,url\na,A,Words,\n", "documents"),
        ("query_id,query,need\nq1,fog,How thick\n", "queries"),
        ("q1\tfog\n", "queries"),
        ("q1\td1\t1\nq2\td2\t1\n", None),
        ("q1\td1\nq2\td2\n", None),
        ("301 num_ret 967.0 169.1\n301 num_rel 474.0 1\n301 map 0.1 0.2\n", None),
        ("q1 0 a 3\n", "ratings"),
        ("q1 Q0 a 1 2.5 bm25\n", "results"),
        ("query\nred shoes\n", None),
        ("Some words.\n", None),
    ],
)
def test_what_is_in_a_file_is_guessed_only_where_it_can_be_nothing_else(text, sure):
    assert certain_kind(source(text)) == sure
