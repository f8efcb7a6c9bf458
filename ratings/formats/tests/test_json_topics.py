"""Queries as JSON: a list, or an object by their keys."""

import io
import json

import pytest

from ratings.formats.json_topics import read_topics
from ratings.formats.refusal import Refusal
from ratings.formats.registry import recognised
from ratings.formats.rows import Topic
from ratings.formats.source import Source


def source(content) -> Source:
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    return Source("t.json", io.BytesIO(text.encode()))


FOG = Topic(2, "q1", "fog", None, None, None)
OF_TWO = [{"number": "1-2", "response": "Rain?"}, {"number": "1-3", "utterance": "fog"}]


@pytest.mark.parametrize(
    ("content", "topics"),
    [
        ([{"id": "q1", "text": "fog"}], [FOG]),
        ([{"query_id": 7, "query": "fog", "narrative": "how thick"}], [FOG._replace(key="7", need="how thick")]),
        ({"q1": "fog", "q2": "rain"}, [FOG, FOG._replace(line=3, key="q2", text="rain")]),
        # As BEIR and CODEC have them
        ({"q1": {"text": "fog", "metadata": {"a": 1}}}, [FOG._replace(line=3, fields={"metadata": {"a": 1}})]),
        (
            {"q1": {"Domain": "x", "Query": "fog", "Guidelines": "thick"}},
            [FOG._replace(line=3, need="thick", fields={"Domain": "x"})],
        ),
        (
            {"topics": [{"number": "q1", "title": "x", "query": "fog"}]},
            [FOG._replace(line=3, fields={"title": "x"})],
        ),
        ([{"text": "fog"}], [FOG._replace(key=None)]),
        # As TREC CAsT has conversations: of 2020 and 2021, and of 2022, where the system has turns of its own
        ([{"number": 81, "turn": [{"number": 1, "raw_utterance": "fog"}]}], [FOG._replace(key="81_1")]),
        ([{"number": 132, "turn": OF_TWO}], [FOG._replace(key="132_1-3")]),
        ({"81": {"turns": [{"text": "fog"}]}}, [FOG._replace(line=3, key="81_1")]),
    ],
)
def test_topics_are_known_and_read(content, topics):
    assert recognised(source(content), "queries", "topics").name == "json-topics"
    assert list(read_topics(source(content))) == topics


def test_what_is_no_list_of_topics_is_not_taken_for_one():
    other = {"collection": "x", "options": {"gain": "linear"}, "results": []}
    for content in (
        other,
        {"id": "q1", "text": "fog"},
        {"a": 1},
        [{"a": 1}],
        [{"turn": [{"a": 1}]}],
        ["fog"],
        [[{"text": "fog"}]],
        "{",
    ):
        found = recognised(source(content), "queries", "topics")
        assert isinstance(found, Refusal) or found.name != "json-topics"


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ('[{"id": "q1", "text": "fog"},\n {"id": "q2"}]', 2, "no column holds the text"),
        ('[{"id": "q1", "text": "fog"},\n 3]', 2, "3 is given where a topic is expected"),
        ('{"q1": "fog",\n "q1": "rain"}', 2, "appears twice"),
        ('{"q1": "fog",\n "q\\t2": "rain"}', 2, "has a blank"),
        ('{"q1": "fog",\n "q2": ["rain"]}', 2, "the topic 'q2' is a list"),
        ('{"q1": "fog",\n "q2": 1.5e999}', 2, "is too large"),
        ('[{"id": "q1", "text": "fog"},', 1, "this is not JSON"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(content, line, said):
    refusals = [row for row in read_topics(source(content)) if isinstance(row, Refusal)]
    assert [(r.line, said in r.problem) for r in refusals] == [(line, True)]
