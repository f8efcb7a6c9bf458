"""Runs and qrels straight to arrays: blocks and lines are read alike, and as trec_eval reads them."""

import gzip
import io
import json
import random
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from evaluation import files
from evaluation.measures import PROFILES, evaluate
from evaluation.measures.options import BY_SCORE
from ratings.formats import source, trec
from ratings.management.refusals import line_of
from ratings.tests.thorough import examples

MEASURES = ["nDCG@10", "nDCG", "AP", "RR", "P@5", "Judged@10"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def load(qrels: str | bytes, *runs: str | bytes, **how) -> files.Loaded:
    return files.load(write("qrels", qrels), [write(f"run{i}", run) for i, run in enumerate(runs)], **how)


def refused(qrels: str | bytes, *runs: str | bytes, **how) -> list[str]:
    with pytest.raises(files.Refused) as refusal:
        load(qrels, *runs, **how)
    return [line_of(r, {"order", "system_from"}) for r in refusal.value.refusals]


def numbers(found: files.Loaded, ties: str = "rank") -> dict[str, dict[str, list[str]]]:
    """By system and measure; as text, for nan is not equal to itself."""
    options = PROFILES["trec_eval -c"].revised(ties=ties)
    return {
        system: {
            str(measure): list(map(repr, values.tolist()))
            for measure, values in evaluate(MEASURES, found.judgments, rankings, options).values.items()
        }
        for system, rankings in found.rankings.items()
    }


def a_line_at_a_time(monkeypatch) -> None:
    monkeypatch.setattr(trec, "_columns_by_arrow", lambda block, names: {})


@pytest.fixture
def only_regular(monkeypatch) -> None:
    """A file with a line that is not regular fails the test."""
    monkeypatch.setattr(trec, "lines_of", None)


QRELS = "q1 0 a 3\nq1 0 b 0\nq1 0 é 2\nq2 0 a 1\nq10 0 long-name-of-a-document 2\n"
RUN = "q1 Q0 x 1 9.5 s\nq1 Q0 a 2 8.25 s\nq1 Q0 é 3 8.25 s\nq2 Q0 a 1 -0.5 s\n"


def test_six_columns_that_may_be_grades_are_no_run_until_it_is_said(folder):
    aspects = "q1 0 a 2 3 1\nq1 0 b 0 -1 -1\n"
    (said,) = refused(QRELS, RUN, aspects)
    assert said.startswith("run1: ") and "--system-from tag" in said
    (said,) = refused(aspects, RUN)
    assert said.startswith("qrels: ") and "Qrels have four columns" in said
    assert list(load(QRELS, "q1 0 a 1 2.5 1\n", system_from="tag").rankings) == ["1"]


def test_queries_come_in_their_natural_order_and_unjudged_documents_have_numbers_of_their_own(
    folder, only_regular
):
    found = load(QRELS, RUN)
    assert found.queries == ("q1", "q2", "q10")
    assert found.judgments.grade.tolist() == [3, 0, 2, 1, 2]
    rankings = found.rankings["s"]
    assert rankings.offsets.tolist() == [0, 3, 4, 4]
    assert rankings.documents.tolist() == [5, 0, 2, 3]  # x is new; a, é and a are judged by lines 0, 2 and 3
    assert rankings.scores.tolist() == [9.5, 8.25, 8.25, -0.5]
    assert rankings.present.tolist() == [True, True, False]
    assert found.notes == ["s: 1 query of the qrels has no ranking (q10)."]


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace(" ", "\t"),
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.rstrip("\n"),
        lambda t: "\ufeff" + t,
        lambda t: gzip.compress(t.encode()),
        lambda t: "".join(reversed(t.splitlines(keepends=True))),
        lambda t: "\n".join(sorted(t.splitlines(), key=lambda line: line.split()[2:])) + "\n",
    ],
    ids=["tabs", "carriage returns", "no last newline", "byte order mark", "gzip", "reversed", "by document"],
)
def test_plain_files_are_read_fast_however_they_are_kept(folder, only_regular, change):
    expected = load(QRELS, RUN)
    found = load(change(QRELS), change(RUN))
    assert found.queries == expected.queries
    assert numbers(found) == numbers(expected)
    assert found.rankings["s"].scores.tolist() == expected.rankings["s"].scores.tolist()


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace(" ", "  "),
        lambda t: t.replace("\n", " \n"),
        lambda t: "# a comment\n\n" + t,
        lambda t: t.replace(" ", "\v"),
        lambda t: t.replace(" 1 9.5 ", " +1 9.5 "),
    ],
    ids=["two blanks", "blanks at the end", "comment", "vertical tabs", "signs"],
)
def test_others_are_read_a_line_at_a_time_to_the_same_arrays(folder, change):
    expected, found = load(QRELS, RUN), load(change(QRELS), change(RUN))
    assert numbers(found) == numbers(expected)
    assert found.rankings["s"].documents.tolist() == expected.rankings["s"].documents.tolist()


@pytest.mark.parametrize("system_from", [None, "tag"])
def test_an_unjudged_document_has_one_number_in_all_rankings_where_that_is_asked(folder, system_from):
    qrels = "q1 0 a 2\nq2 0 c 1\n"
    half = ["q1 Q0 a 1 9 half\nq1 Q0 x 2 8 half\n", "q2 Q0 y 1 9 half\nq2 Q0 x 2 8 half\n"]
    runs = half if system_from else ["".join(half)]
    found = load(qrels, *runs, "q1 Q0 x 1 9 rest\nq2 Q0 c 2 8 rest\n", same_numbers=True, system_from=system_from)
    a, x, y, x_again = found.rankings["half"].documents.tolist()
    assert x == x_again and x not in (a, y)
    assert found.rankings["rest"].documents.tolist() == [x, 1]


def test_a_byte_order_mark_within_a_run_is_refused_and_no_query_of_its_own(folder):
    with pytest.raises(files.Refused, match="byte order mark"):
        load(QRELS, RUN + "\ufeff" + RUN.replace("q1", "q10").replace("q2", "q11"))


def test_a_line_may_not_run_on_in_the_next(folder):
    first, second = refused(QRELS, "q1 Q0 a\n1 5 s\n")
    assert "run0, line 1: there are 3 columns" in first
    assert "run0, line 2: there are 3 columns" in second


def test_there_is_no_negative_zero(folder, only_regular):
    assert list(map(repr, load("q1 0 a -0\nq1 0 b -0.0\n", RUN).judgments.grade.tolist())) == ["0.0", "0.0"]


def test_two_systems_that_share_a_query_are_two_rankings(folder):
    found = load(QRELS, "q1 Q0 a 1 5 s\nq1 Q0 b 2 4 t\n")
    assert [found.rankings[name].length.tolist() for name in "st"] == [[1, 0, 0], [1, 0, 0]]


def test_several_systems_in_one_file_and_one_tag_in_two_files(folder):
    found = load(QRELS, RUN + RUN.replace(" s\n", " t\n"), RUN)
    assert list(found.rankings) == ["s (run0)", "s (run1)", "t"]
    assert len({str(each) for each in numbers(found).values()}) == 1
    assert "s: a system of its own in each of run0, run1; for parts of one give --system-from tag." in found.notes


@pytest.mark.parametrize("tiebreak", [False, True])
def test_parts_of_one_system_are_the_whole_of_it(folder, tiebreak):
    lines = (RUN + "q10 Q0 v 1 2 s\nq10 Q0 w 2 1 s\n").splitlines(keepends=True)
    first, second = ("".join(line for line in lines if (line[:3] == "q2 ") == part) for part in (True, False))
    whole = load(QRELS, "".join(lines), tiebreak=tiebreak)
    found = load(QRELS, first, second, tiebreak=tiebreak, system_from="tag")
    assert list(found.rankings) == ["s"]
    for ties in ("rank", "score") if tiebreak else ("rank",):
        assert numbers(found, ties) == numbers(whole, ties)
    assert found.rankings["s"].documents.tolist() == whole.rankings["s"].documents.tolist()
    (said,) = refused(QRELS, first, "".join(lines), system_from="tag")
    assert "run1: queries of s stand in another part of it, too (q2)" in said and "--system-from file" in said


def test_systems_are_named_by_their_files(folder):
    Path("other").mkdir()
    paths = [write("bm25.gz", gzip.compress(RUN.encode())), write("dense.run", RUN)]
    found = files.load(write("qrels", QRELS), paths, system_from="file")
    assert list(found.rankings) == ["bm25", "dense.run"]
    with pytest.raises(files.Refused, match="other/dense.run: another file is called dense.run, too"):
        files.load("qrels", [*paths, write("other/dense.run", RUN)], system_from="file")
    (said,) = refused(QRELS, RUN + RUN.replace(" s\n", " t\n"), system_from="file")
    assert "several systems in it (s, t)" in said


def test_standard_input_is_read_once(folder, monkeypatch):
    write("qrels", QRELS)
    for content in (RUN, RUN.replace(" ", "  ")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        assert files.load("qrels", ["-"]).rankings["s"].scores.tolist() == [9.5, 8.25, 8.25, -0.5]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("q1 Q0 z 4 1", "run0, line 5: there are 5 columns, a run needs six. A run has six columns"),
        ("q1  z 4 1 s", "run0, line 5: there are 5 columns, a run needs six."),
        (" q1 Q0 z 4 1", "run0, line 5: there are 5 columns, a run needs six."),
        ("q1 Q0\x01z 4 1 s", "run0, line 5: there are 5 columns, a run needs six."),
        ("q1 Q0 z 4 1\ns q1 Q0 y 5 1 s", "run0, line 5: there are 5 columns, a run needs six."),
        ("q1 Q0 z four 1 s", "run0, line 5: the rank 'four' is not an integer."),
        ("q1 Q0 z 4 1e999 s", "run0, line 5: the score '1e999' is not a finite number."),
        ("q1 Q0 z 4 1_000 s", "run0, line 5: the score '1_000' is not a finite number."),
        ("q1 Q0 z\u00a0 4 1 s", r"run0, line 5: the document 'z\xa0' has a blank or a control character."),
        ("q1 Q0 z\x7f 4 1 s", r"run0, line 5: the document 'z\x7f' has a blank or a control character."),
        ("q1 Q0 " + "z" * 501 + " 4 1 s", "is longer than 500 characters"),
        ("q1 Q0 a 4 1 s", "run0, line 5: document a of this ranking of s already appears on line 2. Keep one"),
        ("q1 Q0 z 3 1 s", "line 5: ranks and scores of s contradict each other 1 time in 1 of 2 rankings: rank 3"),
        ("q1 Q0 z 4 9 s", "rankings: rank 4 has the score 9.0, above the 8.25 of rank 3 on line 3."),
        ("q1 Q0 z 4 9 s", "If the rank counts, give --order rank. If the score counts, give --order score."),
    ],
)
def test_a_fault_in_a_run_is_refused_with_file_line_and_cure(folder, line, says):
    said, *_ = refused(QRELS, f"{RUN}{line}\n")
    assert says in said


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("q1 0 z", "qrels, line 6: there are 3 columns, qrels have four."),
        ("q1 0 z good", "qrels, line 6: the grade 'good' is not a decimal number."),
        ("q1 0 z 1234567", "qrels, line 6: the grade '1234567' has more than 6 digits before the point."),
        ("q1 0 z 0.1234567891", "qrels, line 6: the grade '0.1234567891' has more than 9 digits after the point."),
        ("q1 0 a 2", "qrels, line 6: document a has another grade for the same query on line 1. Keep one"),
        ("q1 Q0 z 1 2 s", "there are 6 columns, qrels have four."),
    ],
)
def test_a_fault_in_qrels_is_refused_with_file_line_and_cure(folder, line, says):
    (said,) = refused(f"{QRELS}{line}\n", RUN)
    assert says in said


def test_a_run_of_other_queries_is_refused(folder):
    (said,) = refused(QRELS, "1 Q0 a 1 2 s\n2 Q0 a 1 2 s\n")
    assert said.startswith("run0: none of its queries (1, 2) is in qrels, which has q1, q10, q2. Check that both")


def test_an_empty_file_and_a_damaged_one_are_refused(folder):
    assert "run0: it holds nothing to import." in refused(QRELS, "")[0]
    assert "the gzip data are cut off or damaged" in refused(QRELS, gzip.compress(RUN.encode() * 99)[:-9])[0]
    with pytest.raises(FileNotFoundError):
        files.load("qrels", ["nowhere"])


def test_order_says_what_counts_where_ranks_and_scores_contradict(folder, only_regular):
    run = "q1 Q0 a 2 9 s\nq1 Q0 x 1 1 s\nq1 Q0 b 3 9 s\nq2 Q0 a 1 1 s\nq10 Q0 a 1 1 s\n"
    by_rank = load(QRELS, run, order="rank").rankings["s"]
    by_score = load(QRELS, run, order="score").rankings["s"]
    assert by_rank.scores.tolist()[:3] == [1, 9, 9]
    assert by_score.documents.tolist()[:3] == [1, 0, 7]  # b before a, as trec_eval has it, and x last


# Both ways of reading


KEYS = ["a", "b", "B", "aa", "doc-00001", "doc-00002", "doc-000021", "é", "éé", "x" * 17, "x" * 16 + "y", "漢字"]


def scores_of(chance: random.Random) -> str:
    number = chance.choice(
        [
            chance.randrange(4),
            chance.randrange(4) + 123456789,  # differ, and not in 32 bits
            chance.uniform(-3, 3),
            chance.random() * 10 ** chance.randrange(-9, 9),
        ]
    )
    return chance.choice([repr, "{:.3f}".format, "{:.0f}".format, "{:e}".format, str])(number)


def fuzzed(seed: int) -> tuple[str, str]:
    """Qrels and a run with equal scores, unjudged queries, lines apart, and now and then a fault."""
    chance = random.Random(seed)
    queries = [f"q{number}" for number in range(chance.randrange(1, 6))]
    qrels = [
        f"{query} 0 {key} {chance.choice(['0', '1', '2', '-1', '0.5', '-0', '3.25'])}"
        for query in queries
        for key in chance.sample(KEYS, chance.randrange(1, 7))
    ]
    lines = []
    for query in [*queries, "q77"][chance.randrange(2) :]:
        keys = chance.sample(KEYS, chance.randrange(1, len(KEYS)))
        scores = sorted((scores_of(chance) for _ in keys), key=lambda text: -float(text))
        lines += [
            f"{query} Q0 {key} {i} {score} tag" for i, (key, score) in enumerate(zip(keys, scores, strict=True))
        ]
    if chance.random() < 0.4:
        chance.shuffle(lines)
    if chance.random() < 0.2:
        lines.append(chance.choice(lines))
    return "\n".join(qrels) + "\n", "\n".join(lines) + "\n"


@pytest.mark.parametrize("order", [None, "rank", "score"])
@pytest.mark.slow
def test_blocks_and_lines_are_read_alike(folder, monkeypatch, order):
    near = 0
    for seed in range(examples(40)):
        qrels, run = fuzzed(seed)
        found = []
        for block in (150, source.BLOCK_BYTES, None):
            with monkeypatch.context() as patch:
                if block:
                    patch.setattr(source, "START_BYTES", block)
                    patch.setattr(source, "BLOCK_BYTES", block)
                else:
                    a_line_at_a_time(patch)
                try:
                    found.append(load(qrels, run, order=order, tiebreak=True))
                except files.Refused as refused:
                    found.append([str(refusal) for refusal in refused.refusals])
        *others, expected = found
        for each in others:
            if isinstance(expected, list):
                assert each == expected, seed
                continue
            assert (each.queries, each.notes) == (expected.queries, expected.notes)
            np.testing.assert_array_equal(each.judgments.key, expected.judgments.key)
            np.testing.assert_array_equal(each.judgments.grade, expected.judgments.grade)
            (ours,), (theirs,) = each.rankings.values(), expected.rankings.values()
            for name in ("offsets", "documents", "scores", "present"):
                np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), str((seed, name)))
            for ties in BY_SCORE:
                assert numbers(each, ties) == numbers(expected, ties)
        near += not isinstance(expected, list) and any("32 bits" in note for note in expected.notes)
    assert near > 5


def test_a_query_longer_than_a_block_stays_whole(folder, only_regular, monkeypatch):
    monkeypatch.setattr(source, "START_BYTES", 100)
    monkeypatch.setattr(source, "BLOCK_BYTES", 100)
    lines = [f"q{q} Q0 d{q}-{i} {i} {1000 - i} s\n" for q in (1, 2, 10) for i in range(500)]
    found = load("q1 0 d1-499 1\nq2 0 d2-3 1\nq10 0 d10-0 1\n", "".join(lines))
    assert found.rankings["s"].length.tolist() == [500, 500, 500]
    assert numbers(found)["s"]["RR"] == ["0.002", "0.25", "1.0"]


# Real collections


def expected_of(shared: Path, name: str) -> dict:
    return json.loads((shared / "data" / name).read_text())


@pytest.mark.parametrize(
    "name",
    [
        "cranfield/expected.graded.json",
        "trec-covid/round1/expected.dev.json",
        "trec_eval/expected.results.test.json",
        "trec_eval/expected.rel_level.json",
    ],
)
@pytest.mark.slow
def test_real_files_score_as_trec_eval_scores_them_whichever_way_they_are_read(shared, monkeypatch, name):
    expected = expected_of(shared, name)
    qrels = str(shared / "data" / expected["qrels"])
    for system in expected["systems"].values():
        path = str(shared / "data" / system["file"])
        found = files.load(qrels, [path], order="score", tiebreak=True)
        (rankings,) = found.rankings.values()
        options = PROFILES["trec_eval -c"].revised(ties="trec_eval_9")
        scores = evaluate(["nDCG@10", "AP"], found.judgments, rankings, options)
        ndcg, ap = (scores.mean(measure) for measure in scores.values)
        assert ndcg == pytest.approx(system["mean_all"]["ndcg_cut_10"], abs=6e-7)
        assert ap == pytest.approx(system["mean_all"]["map"], abs=6e-7)
        with monkeypatch.context() as patch:
            a_line_at_a_time(patch)
            again = files.load(qrels, [path], order="score", tiebreak=True)
        (theirs,) = again.rankings.values()
        np.testing.assert_array_equal(rankings.documents, theirs.documents)
        np.testing.assert_array_equal(rankings.scores, theirs.scores)
        assert numbers(found) == numbers(again)


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize("pack", [gzip.compress, lambda content: zipped(file=content)])
def test_packed_files_and_archives_are_read_as_what_they_hold(folder, pack):
    qrels, runs = b"1 0 a 1\n", [b"1 Q0 a 1 2 one\n", b"1 Q0 b 1 2 two\n"]
    found = load(pack(qrels), zipped(one=runs[0], two=gzip.compress(runs[1])))
    assert list(found.rankings) == ["one", "two"]
    assert numbers(found) == numbers(load(qrels, *runs))


def test_what_cannot_be_unpacked_is_refused(folder):
    (said,) = refused(zipped(a=b"1 0 a 1\n", b=b""), b"1 Q0 a 1 2 one\n")
    assert "the archive has several files" in said
    (said,) = refused(b"1 0 a 1\n", zipped())
    assert "there is no file in the archive" in said
    (said,) = refused(b"1 0 a 1\n", gzip.compress(b"1 Q0 a 1 2 one\n")[:-5])
    assert "the gzip data are cut off or damaged" in said
