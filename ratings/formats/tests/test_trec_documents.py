"""Documents of TREC's collections, each with tags of its own."""

import gzip
import io
import time

import pytest

from ratings.formats.refusal import Refusal
from ratings.formats.registry import recognised
from ratings.formats.rows import DocumentLine
from ratings.formats.source import Source
from ratings.formats.trec_documents import read_documents


def source(text: str) -> Source:
    return Source("docs", io.BytesIO(text.encode()))


NEWSWIRE = """
<DOC>
<DOCNO> AP880212-0001 </DOCNO>
<FILEID>AP-NR-02-12-88 2344EST</FILEID>
<HEAD>Reports Former Saigon</HEAD>
<HEAD>Officials Released</HEAD>
<DATELINE>BANGKOK (AP) </DATELINE>
<TEXT>
More than 150 officers &amp; officials.
<P>
They stayed.
</TEXT>
<TEXT>The end.</TEXT>
</DOC>

<DOC>
<DOCNO>AP-2</DOCNO><TEXT></TEXT>
</DOC>
"""


def test_newswire_is_read_with_its_parts():
    first, second = read_documents(source(NEWSWIRE))
    assert first == DocumentLine(
        2,
        "AP880212-0001",
        "Reports Former Saigon Officials Released",
        "More than 150 officers & officials.\n\nThey stayed.\n\nThe end.",
        None,
        {"fileid": "AP-NR-02-12-88 2344EST", "dateline": "BANGKOK (AP)"},
    )
    assert second == DocumentLine(16, "AP-2", body="")


def test_a_page_of_the_web_has_its_address_and_its_text():
    text = "<DOC>\n<DOCNO>W1</DOCNO>\n<DOCHDR>\nhttp://a.example/b 200 text/html\n</DOCHDR>\n"
    text += "<html><head><title>A &lt;b&gt;</title></head><body>One <b>two</b><br>three</body></html>\n</DOC>\n"
    (page,) = read_documents(source(text))
    assert (page.url, page.title, page.body.split()) == ("http://a.example/b", "A <b>", ["One", "two", "three"])


@pytest.mark.parametrize("text", [NEWSWIRE, "<doc><docno>1</docno></doc>", '<?xml version="1.0"?>\n<a>\n<doc>\n'])
def test_documents_are_known_by_their_tag(text):
    assert recognised(source(text), "documents", "jsonl").name == "trec-documents"
    assert recognised(source(text), "ratings", "csv").name != "trec-documents"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("<DOC>\n<DOCNO>1</DOCNO>\n", 1, "not closed"),
        ("<DOC>\n<DOC>\n<DOCNO>1</DOCNO>\n</DOC>", 1, "not closed"),
        ("<DOC>\n<TEXT>x</TEXT>\n</DOC>", 1, "no <DOCNO>"),
        ("\n<DOC><DOCNO>a b</DOCNO></DOC>", 2, "has a blank"),
        ("</DOC>", 1, "did not begin"),
    ],
)
def test_a_document_that_is_none_is_refused_with_its_line(text, line, said):
    refusals = [row for row in read_documents(source(text)) if isinstance(row, Refusal)]
    assert [(r.line, said in r.problem) for r in refusals] == [(line, True)]


def test_many_tags_that_are_never_closed_take_no_more_time_than_they_are_long():
    text = "<DOC><DOCNO>1</DOCNO><TEXT>" + "<p>" * 300_000 + "</TEXT></DOC>"
    begun = time.process_time()  # which other work on the machine does not lengthen
    (document,) = read_documents(source(text))
    assert document.key == "1"
    assert time.process_time() - begun < 10


@pytest.mark.slow
def test_a_document_that_never_ends_is_refused_before_it_fills_the_memory():
    bomb = gzip.compress(b"<DOC><DOCNO>1</DOCNO>\n" + b"<TEXT>x</TEXT>\n" * 2_000_000)
    (refusal,) = read_documents(Source("bomb", io.BytesIO(bomb)))
    assert "longer than 10 MB" in refusal.problem


def test_documents_of_cranfield_are_read(shared):
    with gzip.open(shared / "data" / "cranfield" / "cran.all.1400.trec.xml.gz") as file:
        rows = list(read_documents(Source("cran", io.BytesIO(file.read()))))
    assert len(rows) == 1400 and not any(isinstance(row, Refusal) for row in rows)
    assert (rows[0].key, sorted(rows[0].fields)) == ("1", ["author", "bib"])
    assert rows[0].title.startswith("experimental investigation of the aerodynamics of a wing")


def test_attributes_do_not_hide_a_document():
    text = "<DOC lang=en>\n<DOCNO x=1>A</DOCNO><TEXT>one</TEXT></DOC>\n"
    text += "<DOC id='B' type=\"story\"><TEXT>two</TEXT></DOC>"
    assert recognised(source(text), "documents", "jsonl").name == "trec-documents"
    assert [(row.key, row.body) for row in read_documents(source(text))] == [("A", "one"), ("B", "two")]
    (refusal,) = read_documents(source("<DOC type='story'>\n<TEXT>two</TEXT></DOC>"))
    assert "no <DOCNO>" in refusal.problem


def test_what_stands_outside_all_documents_is_refused():
    text = "<?xml version='1.0'?>\n<root>\n<DOC><DOCNO>A</DOCNO>one</DOC> lost\n<!-- no text -->\n</root>\n"
    document, refusal = read_documents(source(text))
    assert document.key == "A" and (refusal.line, "'lost'" in refusal.problem) == (3, True)


def test_marks_of_files_put_together_are_no_text():
    text = "<DOC><DOCNO>A</DOCNO>one</DOC>\n\ufeff<DOC><DOCNO>B</DOCNO>two</DOC>\r\n\x1a"
    assert [document.key for document in read_documents(source(text))] == ["A", "B"]
