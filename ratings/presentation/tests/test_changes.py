"""What changed between two texts: every word of both is told, once, as what it is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.presentation.guidelines.changes import ADDED, KEPT, MOST_LINES, REMOVED, changes


def marked(old: str, new: str) -> list[str]:
    """One line a paragraph: +added+, -removed-."""
    signs = {KEPT: "", ADDED: "+", REMOVED: "-"}
    return ["".join(f"{signs[kind]}{text}{signs[kind]}" for kind, text in pieces) for pieces in changes(old, new)]


def test_one_word_of_a_paragraph():
    assert marked("Grade the page.", "Grade the whole page.") == ["Grade the +whole +page."]
    assert marked("Grade the page.", "Grade a page.") == ["Grade -the-+a+ page."]


def test_paragraphs_that_come_and_go_stand_whole():
    assert marked("one\n\ntwo\n\nthree", "one\n\nthree\n\nfour") == ["one", "-two-", "three", "+four+"]


def test_two_sentences_without_a_word_in_common_are_not_mixed():
    assert marked("Do not guess here.", "Leave it unjudged instead!") == [
        "-Do not guess here.-+Leave it unjudged instead!+"
    ]


@pytest.mark.parametrize("new", ["a\nb", "a\n\n\nb\n", "a  \nb"])
def test_blank_lines_and_blanks_at_the_end_of_a_line_are_no_change(new):
    assert changes("a\n\nb", new) == []


def test_from_nothing_everything_is_added():
    assert marked("", "a\nb") == ["+a+", "+b+"]


def test_very_many_lines_are_told_whole():
    told = changes("\n".join("ab" * MOST_LINES), "x")
    assert {piece.kind for pieces in told for piece in pieces} == {ADDED, REMOVED}


LINE = st.text(alphabet="ab .,\u00e9", max_size=12)
TEXT = st.lists(LINE, max_size=8).map("\n".join)


@given(TEXT, TEXT)
def test_what_is_kept_and_removed_is_the_old_text_and_what_is_kept_and_added_the_new(old, new):
    told = changes(old, new)
    if not told:
        assert words(old) == words(new)
        return
    pieces = [piece for paragraph in told for piece in paragraph]
    assert words(" ".join(p.text for p in pieces if p.kind != ADDED)) == words(old)
    assert words(" ".join(p.text for p in pieces if p.kind != REMOVED)) == words(new)


def words(text: str) -> str:
    return re.sub(r"\s+", "", text)
