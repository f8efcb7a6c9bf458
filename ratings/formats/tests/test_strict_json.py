"""JSON read from front to back."""

import gzip
import io
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.formats.refusal import Refusal
from ratings.formats.source import Source
from ratings.formats.strict_json import Part, loaded, parts


def parts_of(text: str | bytes) -> list:
    return list(parts(Source("a.json", io.BytesIO(text if isinstance(text, bytes) else text.encode()))))


def test_values_come_two_steps_into_an_object_with_their_lines():
    text = '{"name": "x",\n "list": [1,\n  {"a": [2]}], "map": {"k":\n [3], "l": null}, "none": []}\n'
    assert parts_of(text) == [
        Part(1, ("name",), "x"),
        Part(2, ("list", 0), 1),
        Part(3, ("list", 1), {"a": [2]}),
        Part(3, ("map", "k"), [3]),
        Part(4, ("map", "l"), None),
    ]


@pytest.mark.parametrize("form", ['[1,\n{"id": "d1", "body": "%s"}]', '{"a": {"b":\n["%s"]}}', '{"a":\n"%s"}'])
def test_a_text_may_be_as_long_as_a_line_and_no_longer(form):
    longest = "x" * 10_000_000
    assert not any(isinstance(part, Refusal) for part in parts_of(form % longest))
    *_, refusal = parts_of(form % f"{longest}y")
    assert refusal.line == 2 and "10,000,001 characters) is longer than 10 MB; shorten it" in refusal.problem


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
def test_what_json_writes_is_read_the_same(written, indent):
    text = json.dumps(written, ensure_ascii=False, indent=indent)
    assert [part.value for part in parts_of(text)] == written


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
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text, line, problem):
    *_, refusal = parts_of(text)
    assert isinstance(refusal, Refusal)
    assert problem in refusal.problem
    assert refusal.line == line


def test_a_file_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("ratings.formats.strict_json.LARGEST_FILE", 3_000_000)
    content = b"[" + b'"x",' * 999_999 + b"1]"
    (refusal,) = parts_of(gzip.compress(content))
    assert refusal.problem == "it is longer than 3 MB" and "Split it" in refusal.cure[0]


def test_a_repeated_name_behind_many_others_is_found_at_once():
    """A file of 300 KB took 8 seconds, and the time grew with the square of its size."""
    names = [str(number) for number in range(30_000)]
    text = "{" + ", ".join(f'"{name}": 0' for name in [*names, names[-1]]) + "}"
    begun = time.process_time()
    with pytest.raises(ValueError, match="'29999' appears twice"):
        loaded(text)
    assert time.process_time() - begun < 0.5
