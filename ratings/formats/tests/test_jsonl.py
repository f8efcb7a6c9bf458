"""Documents as JSON lines."""

import io

import pytest

from ratings.formats.rows import DocumentLine
from ratings.formats.source import Source
from ratings.formats.tables import read


def documents_of(text: str) -> list:
    return list(read("jsonl", "documents", Source("d.jsonl", io.BytesIO(text.encode()))))


def test_a_document_has_a_key_a_title_a_body_a_url_and_other_fields():
    text = '{"id": "d1", "title": "T", "body": "B", "url": "http://x", "year": 1958, "by": ["a", "b"]}\n'
    assert documents_of(text) == [DocumentLine(1, "d1", "T", "B", "http://x", {"year": 1958, "by": ["a", "b"]})]


def test_the_key_and_the_body_have_many_names():
    for name in ("id", "docid", "doc_id", "docno", "_id", "key"):
        assert documents_of(f'{{"{name}": "7"}}') == [DocumentLine(1, "7")]
    for name in ("body", "text", "contents", "abstract"):
        assert documents_of(f'{{"id": "7", "{name}": "words"}}')[0].body == "words"


def test_of_two_names_for_one_thing_the_second_stays_a_field():
    (row,) = documents_of('{"docid": "7", "id": "x", "abstract": "short", "text": "long"}')
    assert (row.key, row.body, row.fields) == ("x", "long", {"docid": "7", "abstract": "short"})


def test_a_document_without_text_and_a_null_title_are_taken():
    assert documents_of('{"docid": "471", "title": null, "text": ""}\n\n') == [DocumentLine(1, "471", "", "")]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"id": "d1", "title": ', "the line is not JSON: Expecting value at character"),
        ('["d1"]', 'the line is ["d1"], not an object'),
        ("12", "the line is 12, not an object"),
        ('{"title": "T"}', "no column holds the id; the columns are 'title'"),
        ('{"id": null}', "the id is empty"),
        ('{"id": "a\\tb"}', "has a blank or a control character"),
        ('{"id": ""}', "the id is empty"),
        ('{"id": true}', "the id is True, neither text nor a whole number"),
        ('{"id": 1.10}', "the id is 1.1, neither text nor a whole number"),
        ('{"id": "%s"}' % ("d" * 501), "is longer than 500 characters"),
        ('{"id": "a", "id": "b"}', "the name 'id' appears twice in one object"),
        ('{"id": "a", "x": {"y": 1, "y": 2}}', "the name 'y' appears twice in one object"),
        ('{"id": "a", "text": ["x"]}', "['x'] is given where a text or a number is expected"),
        ('{"id": "a", "x": NaN}', "NaN is not a JSON number"),
        ('{"id": "a", "x": -Infinity}', "-Infinity is not a JSON number"),
        ('{"id": "a", "x": 1e999}', "the number '1e999' is too large"),
        ('{"id": "a", "x": ["\\u0000"]}', "holds a NUL or half a surrogate pair"),
        ('{"id": "a", "\\ud800": 1}', "holds a NUL or half a surrogate pair"),
        ('{"id": "a", "x": ' + "[" * 100_000 + "}", "the JSON is nested too deeply"),
        ('{"id": "a", "x": ' + "[" * 100 + "]" * 100 + "}", "the JSON is nested too deeply"),
        ('{"id": "a", "x": ' + "1" * 5_000 + "}", "a number with too many digits"),
    ],
)
def test_a_line_that_is_no_document_is_refused(line, problem):
    good, refusal = documents_of('{"id": "z"}\n' + line)
    assert good.key == "z"
    assert (refusal.file, refusal.line) == ("d.jsonl", 2)
    assert problem in refusal.problem
    assert refusal.cure


def test_an_escaped_backslash_and_a_whole_surrogate_pair_are_plain_text():
    (row,) = documents_of(r'{"id": "a", "title": "\\u0000", "body": "\ud83d\ude00"}')
    assert (row.title, row.body) == (r"\u0000", "😀")
