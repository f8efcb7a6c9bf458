"""What changed between two texts: every word of both is told, once, as what it is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratings.presentation.guidelines.changes import ADDED, KEPT, LINES, REMOVED, Paragraph, Piece, changes


def marked(old: str, new: str) -> list[str]:
    """One line a paragraph: +added+, -removed-, (n) left out."""
    signs = {KEPT: "", ADDED: "+", REMOVED: "-"}
    return [
        f"({p.left_out})" if p.left_out else "".join(f"{signs[x.kind]}{x.text}{signs[x.kind]}" for x in p.pieces)
        for p in changes(old, new)
    ]


def test_one_word_of_a_paragraph():
    assert marked("Grade the page.", "Grade the whole page.") == ["Grade the +whole +page."]
    assert marked("Grade the page.", "Grade a page.") == ["Grade -the-+a+ page."]


def test_paragraphs_that_come_and_go_stand_whole_with_their_neighbours():
    old = "one\n\ntwo\n\nthree\n\nfour\n\nfive"
    assert marked(old, old + "\n\nsix") == ["(4)", "five", "+six+"]
    assert marked(old, old.replace("three\n\n", "")) == ["(1)", "two", "-three-", "four", "(1)"]


def test_two_sentences_without_a_word_in_common_are_not_mixed():
    assert marked("Do not guess here.", "Leave it unjudged instead!") == [
        "-Do not guess here.-+Leave it unjudged instead!+"
    ]


@pytest.mark.parametrize("new", ["a\nb", "a\n\n\nb\n", "a  \nb"])
def test_blank_lines_and_blanks_at_the_end_of_a_line_are_no_change(new):
    assert changes("a\n\nb", new) == []


def test_from_nothing_everything_is_added():
    assert changes("", "a\nb") == [Paragraph((Piece(ADDED, "a"),)), Paragraph((Piece(ADDED, "b"),))]


def test_very_many_lines_are_told_whole():
    told = changes("\n".join("ab" * LINES), "x")
    assert {piece.kind for p in told for piece in p.pieces} == {ADDED, REMOVED}


LINE = st.text(alphabet="ab .,\u00e9", max_size=12)
TEXT = st.lists(LINE, max_size=8).map("\n".join)


@given(TEXT, TEXT)
def test_what_is_kept_and_removed_is_the_old_text_and_what_is_kept_and_added_the_new(old, new):
    told = changes(old, new)
    if not told:
        assert words(old) == words(new)
        return
    if any(p.left_out for p in told):
        return  # the left-out lines are in neither
    pieces = [piece for p in told for piece in p.pieces]
    assert words(" ".join(p.text for p in pieces if p.kind != ADDED)) == words(old)
    assert words(" ".join(p.text for p in pieces if p.kind != REMOVED)) == words(new)


def words(text: str) -> str:
    return re.sub(r"\s+", "", text)
