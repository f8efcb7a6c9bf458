"""Lines from bytes: encodings, gzip, and what is no text."""

import gzip
import io
import os

import pytest

from ratings.formats.refusal import Refusal
from ratings.formats.source import Line, Reading, Source, checked_encoding, opened
from ratings.tests.refusals import offered


def lines_of(content: bytes) -> list[Line | Refusal]:
    return list(Source("a.txt", io.BytesIO(content)).lines())


def test_lines_are_numbered_from_one_and_the_last_needs_no_end(tmp_path):
    assert lines_of("\ufeffé\ntwo\n\nfour".encode()) == [(1, "é"), (2, "two"), (3, ""), (4, "four")]
    assert lines_of(gzip.compress(b"one\n") + gzip.compress(b"two\n")) == [(1, "one"), (2, "two")]
    path = tmp_path / "plain.gz"  # its name means nothing
    path.write_text("one\n")
    with opened(str(path)) as source:
        assert list(source.lines()) == [(1, "one")]


def test_cut_off_and_damaged_gzip_is_refused_without_a_traceback():
    whole = gzip.compress(os.urandom(60).hex().encode() + b"\n")
    for cut in (1, 9, 30):
        *_, refusal = lines_of(whole[:-cut])
        assert isinstance(refusal, Refusal) and refusal.cure
        assert "the gzip data are cut off or damaged" in refusal.problem
    content = bytearray(gzip.compress(b"one\ntwo\n"))
    content[12] ^= 0xFF
    assert isinstance(lines_of(bytes(content))[-1], Refusal)


def test_a_byte_that_is_not_utf_8_and_a_nul_refuse_their_lines_only():
    first, second, third, fourth = lines_of(b"one\ncaf\xe9\nthree\nt\0o\n")
    assert (first, third) == ((1, "one"), (3, "three"))
    assert (second.file, second.line) == ("a.txt", 2)
    assert second.problem == "byte 4 of the line, 0xe9, is not UTF-8" and offered(second) == [
        ("encoding", "windows-1252"),
        ("encoding", None),
    ]
    assert (fourth.line, fourth.problem) == (4, "character 2 of the line is a NUL")


def test_a_line_beyond_10_mb_is_refused_and_ends_the_file():
    first, second = lines_of(b"one\n" + b"x" * 12_000_000 + b"\nthree\n")
    assert first == (1, "one")
    assert (second.line, second.problem) == (2, "the line is longer than 10 MB")


def test_a_bomb_of_one_line_is_refused_before_it_is_unpacked():
    bomb = gzip.compress(b"x" * 50_000_000)
    source = Source("bomb", io.BytesIO(bomb))
    assert [type(item) for item in source.lines()] == [Refusal]
    assert source._unpacked.tell() < 20_000_000


def test_lines_longer_than_a_block_stay_whole():
    text = "x" * 3_000_000
    assert lines_of(f"{text}\nend".encode()) == [(1, text), (2, "end")]


def test_the_share_that_was_read_is_known_for_a_file_and_unknown_for_a_stream(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n" * 10)
    with opened(str(path)) as source:
        assert source.share == 0
        list(source.lines())
        assert source.share == 1
    assert Source("pipe", io.BytesIO(b"one\n")).share is None


@pytest.mark.parametrize("content", [b'"a\rb"\n', b"one\r\ntwo", b"one\r", b""])
def test_a_cr_beside_other_ends_of_lines_is_left_alone(content):
    source = Source("a.txt", io.BytesIO(content))
    assert "".join(line.text for line in source.lines()) == content.decode().replace("\n", "")
    assert source.notes == []


def test_what_comes_through_a_pipe_may_be_packed(tmp_path):
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(gzip.compress(b"one\n"))
    with os.fdopen(read, "rb") as stream:
        source = Source("pipe", stream)
        assert list(source.lines()) == [(1, "one")]
        assert source.budget.sent > 20


def test_utf_16_without_its_mark_is_no_text_until_it_is_said():
    content = "one\ncafé\n".encode("utf-16-be")
    refusal, *_ = Source("a.txt", io.BytesIO(content)).lines()
    assert "NUL" in refusal.problem and offered(refusal) == [("encoding", None)]
    for mark in ("", "\ufeff"):
        file = Source("a.txt", io.BytesIO(mark.encode("utf-16-be") + content), Reading(encoding="utf-16-be"))
        assert [line.text for line in file.lines()] == ["one", "café"]


def test_any_encoding_of_python_can_be_said_and_no_other():
    for name in ("windows-1252", "Shift_JIS", "utf-32", "cp037", "mac_roman"):
        reading = Reading(encoding=checked_encoding(name))
        file = Source("a.txt", io.BytesIO("one\ncaf\n".encode(name)), reading)
        assert [line.text for line in file.lines()] == ["one", "caf"]
    for name in ("windows-125", "hex", "rot13", "", "a\0b", "undefined"):
        with pytest.raises(ValueError, match="no encoding has the name"):
            checked_encoding(name)
