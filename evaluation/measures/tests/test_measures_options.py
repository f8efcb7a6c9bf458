"""Options: their text, their fingerprint, what they refuse, the named profiles."""

import math

import numpy as np
import pytest

from evaluation.measures import PROFILES, Options, cautions

SEVERAL = [
    Options(),
    Options(gain="map", gain_map={2: 3, 0: 0, 1: 1.5, -1: -0.25}),
    Options(gain="exponential"),
    Options(gain="exponential_signed", log_base=math.e),
    Options(discount="jk2002"),
    Options(log_base=10),
    Options(ideal="retrieved"),
    Options(unjudged="condensed"),
    Options(unjudged="require"),
    Options(unjudged=0),
    Options(unjudged=-1.5),
    Options(unjudged=-999_999.5),
    Options(negatives="minmax_closed"),
    Options(undefined="zero"),
    Options(missing="skip"),
    Options(ties="average"),
    Options(relevant_from=2),
    Options(relevant_from=0.1 + 0.2),
    Options(relevant_from=math.e),
]


@pytest.mark.parametrize("options", SEVERAL, ids=Options.fingerprint)
def test_the_text_of_options_reads_back_as_the_same_options(options):
    assert Options.parse(**options.as_dict()) == options
    assert all(isinstance(text, str) for text in options.as_dict().values())


def test_different_options_have_different_fingerprints():
    assert len({options.fingerprint() for options in SEVERAL}) == len(SEVERAL)
    assert len(set(SEVERAL)) == len(SEVERAL)


def test_text_is_that_of_the_command_line():
    assert Options.parse(gain="map:0=0,1=1,2=3", log_base="e", unjudged="1").as_dict() == {
        "gain": "map:0=0,1=1,2=3",
        "discount": "log_shift",
        "log_base": "e",
        "ideal": "judged",
        "unjudged": "1",
        "negatives": "minmax",
        "undefined": "skip",
        "missing": "empty",
        "ties": "rank",
        "relevant_from": "1",
    }


def test_the_default_fingerprint_is_short_and_others_add_what_departs():
    assert Options().fingerprint() == "lin log2 ideal=judged unj=0 neg=minmax"
    assert PROFILES["trec_eval"].fingerprint() == (
        "lin log2 ideal=judged unj=0 neg=clip undefined=zero missing=skip ties=score"
    )
    assert Options(gain="exponential", discount="jk2002", unjudged=1).fingerprint() == (
        "exp jk2 ideal=judged unj=grade:1 neg=minmax"
    )
    assert Options(gain="exponential_signed", ideal="retrieved", unjudged="condensed").fingerprint() == (
        "expsigned log2 ideal=retrieved unj=condensed neg=minmax"
    )
    assert Options(gain="map", gain_map={1: 0.5, 0: 0}, log_base=math.e, relevant_from=2).fingerprint() == (
        "map:0=0,1=0.5 loge ideal=judged unj=0 neg=minmax relevant_from=2"
    )


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        ({"gain": "lineal"}, "gain must be one of .*'lineal'"),
        ({"gain": "map"}, "gain=map needs a gain for each grade"),
        ({"gain": "map:"}, "gain=map: must list grade=gain"),
        ({"gain": "map:0=x"}, "a gain of gain=map must be a finite number, not 'x'"),
        ({"gain": "map:0=0,0=1"}, "lists grade 0 twice"),
        ({"gain": "map:0=0,1=2,2=1"}, "falls from 2 to 1 between the grades 1 and 2: a better grade must not"),
        ({"gain": "map:0=0,1=1", "unjudged": "3"}, "unjudged=3 is not a grade that gain=map lists"),
        ({"gain": "linear:0=0"}, "gain=linear takes no list of grades"),
        ({"log_base": "1"}, r"log_base must be greater than 1, not 1\.$"),
        ({"log_base": "inf"}, "log_base must be a finite number, not 'inf'"),
        ({"log_base": "1_0"}, "not '1_0'"),  # Python would read ten
        ({"log_base": "+5"}, r"not '\+5'"),
        ({"log_base": "\u0663"}, "not '\u0663'"),  # and three here
        ({"unjudged": "condense"}, "or a grade, not 'condense'"),
        ({"unjudged": "nan"}, "unjudged must be one of zero, condensed, require or a grade, not 'nan'"),
        ({"unjudged": "1e308"}, r"unjudged must have at most six digits before the point, not 1e\+308\.$"),
        (
            {"ties": "scor"},
            "ties must be one of rank, score, trec_eval_9, average, not 'scor'",
        ),
        ({"negatives": "minmax_closed", "ideal": "retrieved"}, "cannot stand with ideal=retrieved"),
        ({"relevant_from": "nan"}, "relevant_from must be a finite number"),
        ({"log_bse": "2"}, "unknown option 'log_bse'; did you mean log_base"),
        ({"xyzzy": "0"}, "unknown option 'xyzzy'; known are"),
    ],
)
def test_options_without_a_meaning_are_refused_with_the_reason(strings, message):
    with pytest.raises(ValueError, match=message):
        Options.parse(**strings)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"gain": "none"}, "gain must be one of linear, exponential, exponential_signed, map, not 'none'"),
        ({"undefined": None}, "undefined must be one of skip, zero, not None"),
        ({"ties": 1.0}, "ties must be one of rank, score, trec_eval_9, average, not 1.0"),
        ({"log_base": True}, "log_base must be a finite number, not True"),
        ({"unjudged": 10**400}, "unjudged must be a finite number, not 10000"),
        ({"gain": "map", "gain_map": {"x": 1}}, "a grade of gain=map must be a finite number, not 'x'"),
        ({"gain": "map", "gain_map": {}}, "gain=map lists no grade"),
    ],
)
def test_values_of_another_kind_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Options(**values)


def test_a_reader_is_warned_where_exponential_gain_surprises():
    exponential = Options(gain="exponential")
    assert cautions(Options(), np.array([-1.0, 40.0])) == []
    assert cautions(exponential, np.array([0.0, 3.0, 30.0])) == []
    assert "below -1" in cautions(exponential, np.array([-1.0, 0.0]))[0]
    assert cautions(Options(gain="exponential_signed"), np.array([-1.0])) == []
