"""The forms in which queries come."""

import io

import pytest

from ratings.formats.refusal import Refusal
from ratings.formats.source import Source
from ratings.formats.topics import Topic, read_topics


def topics_of(text: str) -> list:
    return list(read_topics(Source("t", io.BytesIO(text.encode()))))


def test_tab_separated_lines_hold_key_text_and_perhaps_the_need():
    assert topics_of('1\twhat similarity laws\r\n2\t"red" shoes\r\n') == [
        Topic(1, "1", "what similarity laws"),
        Topic(2, "2", '"red" shoes'),
    ]
    assert topics_of("205277\tprojector screen\tI am looking for a screen.\n7\tiphone 8\t\n") == [
        Topic(1, "205277", "projector screen", "I am looking for a screen."),
        Topic(2, "7", "iphone 8", ""),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1\ta\tb\tc", "there are 4 cells, the header has 2"),
        ("1 2\ttext", "the query key '1 2' has a blank"),
        ("\ttext", "the query key is empty"),
        ("1\t  ", "the query is empty"),
        ("1\tblue\r2\tgreen", "ends with CR alone"),
    ],
)
def test_a_line_that_is_no_query_is_refused(line, problem):
    refusal, good = topics_of(f"0\tfirst\n{line}\n")
    assert good.key == "0" and problem in refusal.problem
    assert (refusal.file, refusal.line) == ("t", 2) and refusal.cure


def test_sgml_topics_leave_their_parts_open_and_put_labels_before_them():
    text = """
<top>

<num> Number: 301
<title> International  R&D Crime

<desc> Description:
Identify organizations that
participate.

<narr> Narrative:
A relevant document must, as x < y, name one.
</top>
<top>
<num> Number: 051
<title> Airbus
</top>
"""
    need = "Identify organizations that participate.\n\nA relevant document must, as x < y, name one."
    assert topics_of(text) == [
        Topic(2, "301", "International R&D Crime", need),
        Topic(14, "051", "Airbus"),
    ]


def test_a_word_that_is_also_a_label_stays_inside_the_text():
    (topic,) = topics_of("<top>\n<num> 1\n<title> phone number: how to\n<desc> Description of a job\n</top>")
    assert (topic.text, topic.need) == ("phone number: how to", "Description of a job")


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("<top>\n<num> 1\n<title> a\n<top>\n<num> 2\n<title> b\n</top>", 1, "that begins here is not closed"),
        ("<top>\n<num> 1\n<title> a\n", 1, "that begins here is not closed"),
        ("<top>\n<title> a\n</top>", 1, "the topic number is empty"),
        ("<top>\n<num> 1\n</top>", 1, "topic '1' has no title and no query"),
        ("\n\n<top>\n<num> 1 2\n<title> a\n</top>", 3, "the topic number '1 2' has a blank"),
    ],
)
def test_broken_sgml_is_refused_where_its_topic_begins(text, line, problem):
    refusal = next(item for item in topics_of(text) if isinstance(item, Refusal))
    assert refusal.line == line and problem in refusal.problem and refusal.cure


def test_xml_topics_with_a_number_a_query_a_question_and_a_narrative():
    text = """<topics task="T" batch="1">
  <topic number="1">
    <query>virus origin</query>
    <question>what is the origin</question>
    <narrative>seeking a range of
      information</narrative>
  </topic>
</topics>
"""
    assert topics_of(text) == [
        Topic(2, "1", "virus origin", "what is the origin\n\nseeking a range of information")
    ]


def test_xml_topics_in_the_old_tags():
    text = "<?xml version='1.0'?>\r\n<xml>\r\n<top>\r\n<num> 4</num> \r\n<title>\r\nheat\r\n</title></top></xml>"
    assert topics_of(text) == [Topic(3, "4", "heat")]


def test_xml_topics_with_a_dtd_a_type_and_subtopics():
    text = """<?xml version="1.0"?>
<!DOCTYPE webtrack2012 [
  <!ELEMENT webtrack2012 (topic)*>
  <!ATTLIST topic number CDATA #REQUIRED type (ambiguous|faceted|other) "ambiguous">
]>
<webtrack2012>
<!-- types are a general indicator -->
<topic number="151" type="faceted">
  <query>403b</query>
  <description> What is a 403b plan? </description>
  <subtopic number="1" type="inf"> What is it? </subtopic>
  <subtopic number="2" type="nav"> Find the page. </subtopic>
</topic>
<topic number="152"><query>angular</query></topic>
</webtrack2012>
"""
    assert topics_of(text) == [
        Topic(8, "151", "403b", "What is a 403b plan?\n\n1. What is it?\n2. Find the page.", ("faceted",)),
        Topic(14, "152", "angular", None, ("ambiguous",)),
    ]


def test_a_topic_without_title_takes_its_description_as_text():
    (topic,) = topics_of('<topics><topic number="1"><description>an old man</description></topic></topics>')
    assert (topic.text, topic.need) == ("an old man", None)


BOMB = '<!DOCTYPE t [\n<!ENTITY a "h"><!ENTITY b "&a;&a;">]>\n<t><topic number="1"><query>&b;</query></topic></t>'
OUTSIDE = '<!DOCTYPE t [\n<!ENTITY x SYSTEM "file:///x">\n]>\n<t><topic number="1"><query>&x;</query></topic></t>'
PARAMETER = '<!DOCTYPE t [\n<!ENTITY % x SYSTEM "http://localhost/x.dtd">\n%x;\n]>\n<t/>'
LEFT_OPEN = '<!DOCTYPE t SYSTEM "http://localhost/x.dtd">\n<t><topic number="1"><query>a &x; b</query></topic></t>'


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, PARAMETER, LEFT_OPEN])
def test_entities_are_never_expanded(text):
    (refusal,) = topics_of(text)
    assert "entities are never expanded" in refusal.problem or "undefined entity" in refusal.problem
    assert refusal.line > 1


def test_the_five_entities_of_every_xml_file_are_known():
    (topic,) = topics_of('<t><topic number="1"><query>R&amp;D &lt; &#233;</query></topic></t>')
    assert topic.text == "R&D < é"


def test_xml_that_is_not_well_formed_is_refused_with_the_line():
    *_, refusal = topics_of('<t>\n<topic number="1">\n<query>a</quer>\n</topic></t>')
    assert refusal.line == 3 and "not well-formed" in refusal.problem


def test_xml_without_topics_is_refused_and_an_empty_file_has_none():
    (refusal,) = topics_of("<html><body>Sign in</body></html>")
    assert refusal.problem == "there is no topic in the XML"
    assert topics_of("") == topics_of("\n \n") == []


def test_a_declared_encoding_does_not_outweigh_utf_8():
    declared = "<?xml version='1.0' encoding='iso-8859-1'?>"
    (topic,) = topics_of(declared + "<t><topic number='1'><query>é</query></topic></t>")
    assert topic.text == "é"


def test_a_billion_characters_in_one_topic_are_refused():
    text = '<t><topic number="1"><query>' + ("x" * 999 + "\n") * 10_100
    assert "10 MB of text in one topic" in topics_of(text)[-1].problem
    assert "longer than 10 MB" in topics_of("<top>\n<num> 1\n<title> " + ("x" * 999 + "\n") * 10_100)[-1].problem


def test_attributes_do_not_hide_a_topic():
    text = "<top>\n<num>1</num><title>red</title></top>\n<top lang=en>\n<num a=b>2\n<title lang=en>blue\n</top>\n"
    assert [(topic.key, topic.text) for topic in topics_of(text)] == [("1", "red"), ("2", "blue")]
    assert [topic.key for topic in topics_of(text[text.index("<top lang") :])] == ["2"]


def test_what_stands_outside_all_topics_is_refused():
    first, refusal, _ = topics_of("<top><num>1<title>red</top>\n<!-- no text -->\n<num>2<title>blue</top>\n")
    assert first.key == "1" and (refusal.line, "outside a topic" in refusal.problem) == (3, True)
