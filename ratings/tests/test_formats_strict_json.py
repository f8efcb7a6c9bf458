"""JSON read from front to back."""

import gzip
import io
import json
import tracemalloc
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.formats.refusal import Refusal
from ratings.formats.source import Source
from ratings.formats.strict_json import Part, parts


class Slow(io.BytesIO):
    """Gives a few bytes at a time, so that every value is cut somewhere."""

    def peek(self, size: int) -> bytes:
        return self.getvalue()[self.tell() :][:size]

    def read1(self, size: int = -1) -> bytes:
        return super().read(3)

    def read(self, size: int = -1) -> bytes:
        return super().read(3)


def parts_of(text: str | bytes, stream: type = io.BytesIO) -> list:
    return list(parts(Source("a.json", stream(text if isinstance(text, bytes) else text.encode()))))


def test_values_come_two_steps_into_an_object_with_their_lines():
    text = '{"name": "x",\n "list": [1,\n  {"a": [2]}], "map": {"k":\n [3], "l": null}, "none": []}\n'
    assert parts_of(text) == [
        Part(1, ("name",), "x"),
        Part(2, ("list", 0), 1),
        Part(3, ("list", 1), {"a": [2]}),
        Part(3, ("map", "k"), [3]),
        Part(4, ("map", "l"), None),
    ]


def test_values_come_one_step_into_a_list():
    assert parts_of('[{"a": {"b": 1}},\n[2], -3.5]') == [
        Part(1, (0,), {"a": {"b": 1}}),
        Part(2, (1,), [2]),
        Part(2, (2,), -3.5),
    ]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('aé\\"\n😀'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(values, max_size=5), st.sampled_from([None, 1]))
def test_what_json_writes_is_read_the_same_however_it_is_cut(written, indent):
    text = json.dumps(written, ensure_ascii=False, indent=indent)
    assert [part.value for part in parts_of(text)] == written
    with mock.patch("ratings.formats.source.START", 1):
        assert [part.value for part in parts_of(text, Slow)] == written


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "there is neither an object nor a list"),
        ('"text"', 1, "there is neither an object nor a list"),
        ('{"a": [1,\n2', 2, "the JSON has the end where , is expected"),
        ('{"a": [1\n 2]}', 2, "the JSON has '2' where , is expected"),
        ('{"a": 1}\n]', 2, "more text follows after the end"),
        ("{a: 1}", 1, "a name in quotation marks is missing"),
        ('{"a": 1,}', 1, "a name in quotation marks is missing"),
        ('{"a": 1, "a": 2}', 1, "the name 'a' appears twice"),
        ('{"a": [{"b": 1,\n "b": 2}]}', 1, "the name 'b' appears twice"),
        ('{"a": [\n{"b": \n tru}]}', 3, "this is not JSON: Expecting value"),
        ('{"a": [NaN]}', 1, "NaN is not a JSON number"),
        ('{"a": [1e999]}', 1, "the number '1e999' is too large"),
        ('{"a": ["\\u0000"]}', 1, "holds a NUL or half a surrogate pair"),
        ('{"a": [\n' + "[" * 100_000, 2, "the JSON is nested too deeply"),
        ('{"a": [' + "1" * 5_000 + "]}", 1, "Exceeds the limit"),
        (b'{"a": [1,\n"\xe9"]}', 2, "cannot be read as utf-8"),
        ('{"a": ["' + "x" * 11_000_000 + '"]}', 1, "one record is longer than 10 MB"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text, line, problem):
    *_, refusal = parts_of(text)
    assert isinstance(refusal, Refusal)
    assert problem in refusal.problem
    assert refusal.line == line


def test_a_large_file_is_read_in_little_memory():
    record = json.dumps({"query_text": "q", "fields": "x" * 2_000})
    packed = gzip.compress(b'{"query_doc_pairs": [' + b",".join([record.encode()] * 10_000) + b"]}")
    tracemalloc.start()
    count = sum(1 for part in parts(Source("a.json", io.BytesIO(packed))) if isinstance(part, Part))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 10_000
    assert peak < 10_000_000


@given(st.binary(max_size=200))
def test_no_bytes_at_all_break_it(content):
    assert all(isinstance(item, Part | Refusal) for item in parts_of(b"{" + content))
