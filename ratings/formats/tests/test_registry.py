"""The list of formats: each is recognised, tells what it is, gives back what it wrote, and survives any bytes."""

import gzip
import io
import json
import os
import random
import zipfile
from contextlib import ExitStack
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ratings.formats import values
from ratings.formats.archives import files_of
from ratings.formats.refusal import Refusal, Refused
from ratings.formats.registry import (
    BY_NAME,
    FORMATS,
    KINDS,
    certain_kind,
    readable,
    recognised,
    unsupported,
)
from ratings.formats.rows import DocumentLine, RatingLine, RunLine, Topic, one_by_one
from ratings.formats.source import Source

from .test_archives import tarred, zst
from .test_xlsx import made as workbook

DEFAULTS = {"queries": "topics", "documents": "jsonl", "results": "trec-run", "ratings": "csv"}
ROWS = {"queries": Topic, "documents": DocumentLine, "results": RunLine, "ratings": RatingLine}
CSV = b"query,document,rater,grade,reason,comment,seconds,rated_at\r\n"
CSV += b"q1,d1,ann,1,,x,2.5,2026-03-02T09:00:00+00:00\r\n"
SAMPLES = {
    "quepid-book": b'{"name": "B", "query_doc_pairs": [{"query_text": "q", "doc_id": "d", "document_fields": "{}",'
    b' "information_need": "n", "judgements": [{"rating": 3.0, "unrateable": false, "user_email": "a@b"}]}]}',
    "quepid-case": b'{"queries": [{"query_text": "q", "ratings": [{"doc_id": "d", "rating": 1}]}]}',
    "quepid-snapshot": b'{"name": "s", "docs": {"7": [{"id": "d", "fields": {"title": "t"}}]},'
    b' "queries": [{"query_id": 7, "query_text": "q", "ratings": {"d": 1}}]}',
    "opensearch": b'{"judgmentRatings": [{"query": "q", "ratings": [{"docId": "d", "rating": "0.5"}]}]}',
    "opensearch-queries": b'{"querySetQueries": [{"queryText": "q"}]}',
    "rre": b'{"queries": [{"placeholders": {"$query": "q"}, "relevant_documents": {"d": {"gain": 3}}}]}',
    "letor": b"# qid:1: rambo*1\n4 qid:1 1:0.5 # d rambo\n",
    "jsonl": b'{"query": "q", "document": "d", "rater": "ann", "grade": 0.5}\n',
    "csv": CSV,
    "trec-run": b"1 Q0 d 1 2.5 bm25\n",
    "trec-qrels": b"1 0 d 2\n",
    "topics": b"<top>\n<num> Number: 1\n<title> t\n</top>\n",
}
SAMPLES["json-topics"] = b'{"q1": "fog",\n "q2": "rain"}'
SAMPLES["by-query"] = b'{"q": {"d": 0.5}}'
SAMPLES["rank-eval"] = b'{"requests": [{"id": "q", "request": {}, "ratings": [{"_id": "d", "rating": 2}]}]}'
SAMPLES["trec-documents"] = b"<DOC>\n<DOCNO> d </DOCNO>\n<HEAD>t</HEAD>\n<TEXT>b</TEXT>\n</DOC>\n"
SAMPLES["xlsx"] = workbook(("query", "document", "rater", "grade"), ("q", "d", "ann", 0.5))
SAMPLES["parquet"] = b"".join(
    BY_NAME["parquet"].writes["ratings"]([RatingLine(1, "q", "d", "ann", Decimal("0.5"), "", "", 1.5, None)])
)


def source(content: bytes, name: str = "file") -> Source:
    """The file, or the first of an archive."""
    stack = ExitStack()
    return next(files_of(Source(name, io.BytesIO(content)), stack))


def rows_of(content: bytes, kind: str) -> list:
    found = recognised(source(content), kind, DEFAULTS[kind])
    return [found] if isinstance(found, Refusal) else list(one_by_one(found.reads[kind](source(content))))


def test_every_format_has_its_own_name_and_a_title():
    assert len(BY_NAME) == len(FORMATS)
    assert all(format.title and (format.reads or format.writes) for format in FORMATS)
    assert set().union(*(format.reads for format in FORMATS)) == set(KINDS)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zst])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_shows_its_format(name, pack):
    for kind in BY_NAME[name].reads:
        # A table of ratings is no table of documents.
        if BY_NAME[name].queries_by == "either" and kind != "ratings":
            continue
        file = source(pack(SAMPLES[name]))
        assert recognised(file, kind, "csv").name == name
        assert bool(file.notes) == (name != "csv")
        rows = list(one_by_one(BY_NAME[name].reads[kind](file)))
        assert rows
        assert {type(row) for row in rows} == {ROWS[kind]}


@pytest.mark.parametrize(
    "text",
    [
        "1\t{}\n",
        "<top>\n<num> 1\n<title> {}\n</top>\n",
        '<topics><topic number="1"><query>{}</query></topic></topics>',
        "# qid:1: {}\n1 qid:1 # d\n",
        "key,text\n1,{}\n",
        '{{"key": "1", "text": "{}"}}\n',
        '{{"1": "{}"}}',
        '{{"querySetQueries": [{{"queryText": "{}"}}]}}',
    ],
)
def test_the_text_of_a_query_may_be_as_long_in_one_format_as_in_another(text):
    longest = "x" * values.QUERY_TEXT_LENGTH
    assert [row.text for row in rows_of(text.format(longest).encode(), "queries")] == [longest]
    (refusal,) = rows_of(text.format(f"{longest}y").encode(), "queries")
    assert isinstance(refusal, Refusal)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"id": "a", "title": "docs"}\n{"id": "b", "title": "x"}\n', "documents"),
        ('{"id": "a", "docs": 3}\n', "documents"),
        ('{"id": "a", "about": {"docs": ["x"]}}\n', "documents"),
        ('{"id": "a", "docs": ["x"]}\n{"id": "b"}\n', "documents"),
        ('{"id": "a", "title": "query_doc_pairs"}\n', "documents"),
        ('{"id": "a", "text": "say \\"docs\\": {"}\n', "documents"),
        ('{"key": "a", "text": "queries"}\n{"key": "b", "text": "ratings"}\n', "queries"),
        ('{"query": "docs", "document": "a", "grade": 1}\n', "ratings"),
        ('{"query": "judgmentRatings", "document": "a", "grade": 1}\n', "ratings"),
        ('{"key": "a", "text": "say \\"querySetQueries\\": ["}\n', "queries"),
        ('{"key": "a", "text": "x", "about": {"querySetQueries": ["x"]}}\n', "queries"),
    ],
)
def test_json_lines_with_words_of_another_program_are_no_export_of_it(text, kind):
    assert recognised(source(text.encode()), kind, "csv").name == "jsonl"


def test_an_export_of_quepid_is_known_from_its_beginning():
    long = b'{"name": "s", "docs": {"7": [' + b'{"id": "d", "fields": {"title": "t\\"}"}},' * 3_000
    assert recognised(source(long), "documents", "csv").name == "quepid-snapshot"


@pytest.mark.parametrize(
    ("content", "kind", "problem"),
    [
        (SAMPLES["opensearch"], "results", "it is in the format opensearch, which has only queries and ratings"),
        (b'{"a": {"b": "x"}}', "ratings", "it is unknown JSON"),
        (b"PK\x03\x04\x00", "queries", "the archive is cut off or damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", "ratings", "it is an Excel workbook"),
    ],
)
def test_what_holds_no_such_rows_is_refused_with_what_it_is_and_what_would_do(content, kind, problem):
    refusal = recognised(source(content), kind, DEFAULTS[kind])
    assert refusal.problem.startswith(problem) and refusal.cure


def zipped(*names: str, content: bytes | str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return out.getvalue()


SHEET = "application/vnd.oasis.opendocument.spreadsheet"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (zipped("[Content_Types].xml", "xl/workbook.bin"), "a binary Excel workbook"),
        (zipped("[Content_Types].xml", "word/document.xml"), "a Word document"),
        (b"%PDF-1.7", "a PDF"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "a 7z archive"),
        (b"\xfd7zXZ\x00", "packed with xz"),
        (b"BZh91AY&SY", "packed with bzip2"),
        (zipped("mimetype", content=SHEET), "an OpenDocument spreadsheet"),
        (b"<!DOCTYPE html>\n<html><body>Sign in", "an HTML page"),
        (b"\n<HTML lang=en>", "an HTML page"),
        (b'<?xml version="1.0"?>\n<!-- x -->\n<!DOCTYPE html PUBLIC "">', "an HTML page"),
    ],
)
def test_what_people_send_by_mistake_is_called_by_its_name(content, problem):
    for kind in KINDS:
        refusal = recognised(source(content, "x.run"), kind, DEFAULTS[kind])
        assert refusal.problem.startswith(f"it is {problem}") and refusal.cure
        with pytest.raises(Refused) as refused:
            certain_kind(source(content, "x.run"))
        assert refused.value.refusals == [refusal]


def test_markup_that_is_no_page_is_taken_for_no_page():
    markup = b"<topics><topic/></topics>", b'<?xml version="1.0"?><!DOCTYPE topics>', b"<top>\n", b"html,body\n"
    for content in (*markup, b"<!---->" * 9_000):
        assert unsupported(source(content).start) is None


@pytest.mark.parametrize("text", ["q1 0 d1 1 extra\n", "q1 d1 1\n", "q1 d1 1\nq1 d2 0\n", "q1  184  -1.5\n"])
def test_nearly_qrels_are_refused_as_qrels_with_the_columns(text):
    found = source(text.encode())
    (first, *_) = recognised(found, "ratings", DEFAULTS["ratings"]).reads["ratings"](found)
    columns = len(text.splitlines()[0].split())
    assert (first.line, first.problem) == (1, f"there are {columns} columns, qrels have four")
    places = {3: {"query": "1", "document": "2", "grade": "3"}, 5: {"query": "1", "document": "3", "grade": "4"}}
    assert [(option.name, option.value) for option in first.options] == [("columns", places[columns])]


@pytest.mark.parametrize("text", ["q1\td1\t1\n", "q1,d1,1\n", "q1;d1;1\n", "query document 1\td\n"])
def test_a_table_is_not_nearly_qrels(text):
    assert recognised(source(text.encode()), "ratings", DEFAULTS["ratings"]).name == "csv"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"q1": "fog", "q2": "rain"}, None),
        ([{"query": "q1", "document": "d1", "grade": 1}], "ratings"),
        ([{"query": "q1", "document": "d1", "rank": 1}], "results"),
        ([{"query": "q1", "doc_id": "d1"}], None),
        ([{"id": "p1", "title": "Lamp", "body": "Warm"}], "documents"),
        ([{"id": "p1", "title": "Lamp", "price": 3}], None),
        ({"querySetQueries": [{"queryText": "fog"}]}, "queries"),
        (json.loads(SAMPLES["quepid-book"]), None),
    ],
)
def test_json_shows_what_is_in_it_only_if_its_members_say_so(content, kind):
    assert certain_kind(source(json.dumps(content).encode())) == kind


@pytest.mark.parametrize(("kind", "value"), [("ratings", "grade"), ("results", "rank")])
def test_json_of_other_rows_is_lines_or_a_list(kind, value):
    row = {"query": "q1", "document": "d1", value: 1}
    for content in (row, [row]):
        assert recognised(source(json.dumps(content).encode()), kind, DEFAULTS[kind]).name == "jsonl"
    refusal = recognised(source(json.dumps([{"text": "fog", "more": [1]}]).encode()), kind, DEFAULTS[kind])
    assert "one object on each line" in refusal.cure_text()


# What is no file of any format


def zipped_once(content: bytes) -> bytes:
    return zipped("file", content=content)


def tarred_once(content: bytes) -> bytes:
    return tarred({"file": content})


def mutated(content: bytes, chance: random.Random) -> bytes:
    """One of the things that happen to files: cut, doubled, overwritten, re-encoded, packed and damaged."""
    place = chance.randrange(len(content) + 1)
    odd = [b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe9", b'"', b"\n", b"\r", b"\t", b",", b"{", b"NaN", b"1e308"]
    odd += [b"[" * 3_000, b"-1e999", b"\\ud800", b"<!ENTITY x 'y'>", b"9" * 5_000, b"x" * 70_000]
    odd += ["٣\u2028".encode(), bytes([chance.randrange(256)])]
    how = chance.randrange(8)
    if how == 0:
        return content[:place]
    if how == 1:
        return content[place:] + content[:place]
    if how == 2:
        return content.decode("latin-1").encode(chance.choice(["utf-16", "utf-16-le", "utf-8", "utf-32"]))
    if how == 3:
        packed = bytearray(chance.choice([gzip.compress, zst, zipped_once, tarred_once])(content))
        packed[chance.randrange(2, len(packed))] ^= 1 << chance.randrange(8)
        return bytes(packed)
    if how == 4:
        return content + content[:place]
    if how == 5:
        return chance.choice([gzip.compress, zst, zipped_once, tarred_once])(content)
    length = chance.choice([0, 1, 2, 20])
    return content[:place] + chance.choice(odd) + content[place + length :]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.slow
def test_any_damage_is_read_or_refused(name):
    """A few hundred files in all; IDEALIST_FUZZ says how many. What fails names the seed that made it."""
    wanted = int(os.environ.get("IDEALIST_FUZZ", 350))
    for seed in range(wanted // len(SAMPLES)):
        chance = random.Random(f"{name} {seed}")
        content = SAMPLES[name]
        for _ in range(chance.randint(1, 3)):
            content = mutated(content, chance)
        for kind in KINDS:
            for item in rows_of(content, kind):
                assert isinstance(item, ROWS[kind] | Refusal), (name, seed)
        for kind in BY_NAME[name].reads:
            for item in one_by_one(BY_NAME[name].reads[kind](source(content))):
                assert isinstance(item, ROWS[kind] | Refusal), (name, seed)
                if isinstance(item, Refusal):
                    assert item.problem and item.cure and item.line >= 0, (name, seed)


@given(st.binary(max_size=300), st.sampled_from(KINDS))
def test_no_bytes_at_all_break_a_reader(content, kind):
    for format in readable(kind):
        for item in one_by_one(format.reads[kind](source(content))):
            assert isinstance(item, ROWS[kind] | Refusal)


@given(st.text('q1 .,;\t\r\n"<>{}[]:\x00\x1aé', max_size=60))
@example("one\rword\ttwo\n")  # csv finds no record in it
def test_what_is_in_any_text_is_answered_or_refused(text):
    try:
        kind = certain_kind(source(text.encode()))
    except Refused:
        return
    assert kind in (None, *KINDS)


def test_what_grows_beyond_measure_is_refused_before_it_fills_the_disk(monkeypatch):
    monkeypatch.setattr("ratings.formats.budget.HARMLESS_BYTES", 1_000_000)
    bomb = gzip.compress(b"1 0 d 2\n" * 600_000, 9)
    *rows, refusal = BY_NAME["trec-qrels"].reads["ratings"](source(bomb))
    assert 100_000 < len(rows) < 400_000
    assert refusal.problem == "it unpacks to more than 200 times its size"
