from evaluation.measures.refusal import unknown
from ratings.words import nearest


def test_the_nearest_names_are_asked_after_in_their_own_letters():
    assert nearest("KEYWORDS", ["Keyword", "hybrid"]) == "did you mean Keyword?"
    assert nearest("first", ["frist", "firsts", "second"]) == "did you mean firsts or frist?"
    assert nearest("x", ["Keyword"]) == ""


def test_without_a_near_name_all_known_ones_are_named():
    assert unknown("system", "x", ["first", "second"]) == "unknown system 'x'; known are first, second."
    assert unknown("system", "x", []) == "unknown system 'x'; there are none yet."
    assert unknown("measure", "presicion", ["AP"], ["Precision"]).endswith("did you mean Precision?")
    assert unknown("measure", "x", ["AP"], ["MAP"]) == "unknown measure 'x'; known are AP."
