"""Anchors from a file: made as on the page, whole or not at all, and the same file again changes nothing."""

from pathlib import Path

import pytest

from ratings.desk import queue
from ratings.models import Anchor, Assignment, Pair
from ratings.tests.cast import NOW, grade, make_collection, make_pair, make_rater

from .test_import_commands import command

pytestmark = pytest.mark.django_db

HEADER = "query,document,grade,kind,explanation\n"
FILE = HEADER + 'q1,a,3,gold,\nq1,b,-1,warm-up,"It sells, and tells nothing."\nq2,c,0,gold,An advert.\n'


@pytest.fixture
def file(tmp_path):
    def write(content: str) -> Path:
        path = tmp_path / "anchors.csv"
        path.write_text(content)
        return path

    return write


def known() -> list[tuple]:
    rows = Anchor.objects.order_by("pair__query__key", "pair__document__key").select_related("grade")
    return [
        (a.pair.query.key, a.pair.document.key, a.use, a.grade.plain, a.explanation)
        for a in rows.select_related("pair__query", "pair__document")
    ]


def test_anchors_are_made_as_on_the_page(file):
    collection = make_collection()
    warmed = make_pair(collection, "q1", "b")
    out, err, refused = command("anchors", "hills", file(FILE))
    assert not refused, err
    assert known() == [
        ("q1", "a", "gold", "3", ""),
        ("q1", "b", "warm_up", "-1", "It sells, and tells nothing."),
        ("q2", "c", "gold", "0", "An advert."),
    ]
    assert out == "3 anchors: 3 new, 0 changed, 0 unchanged.\n"
    assert "no warm-up shows 0 Irrelevant, 1 Related, 2 Good, 3 Perfect." in err
    assert "gold is not mixed in: its share is 0." in err
    # Whoever learned the answer must not rate it.
    warmed.refresh_from_db()
    assert warmed.retired_at and not Assignment.objects.filter(pair=warmed).exists()


def test_the_same_file_again_changes_nothing_and_what_departs_is_changed(file):
    make_collection()
    command("anchors", "hills", file(FILE))
    before = list(Anchor.objects.order_by("pk").values()), list(Pair.objects.order_by("pk").values())
    out, _, _ = command("anchors", "hills", file(FILE + "q1,a,3.0,gold,\n"))
    assert out == ("3 anchors: 0 new, 0 changed, 3 unchanged.\n1 line repeats an earlier one.\n")
    assert (list(Anchor.objects.order_by("pk").values()), list(Pair.objects.order_by("pk").values())) == before
    # A gold pair becomes a warm-up and the warm-up gold, so that it can be rated again.
    other = HEADER + "q1,a,3,warm-up,Just so.\nq1,b,-1,gold,\n"
    out, _, _ = command("anchors", "hills", file(other))
    assert out == "2 anchors: 0 new, 2 changed, 0 unchanged.\n"
    assert [row[:4] for row in known()] == [
        ("q1", "a", "warm_up", "3"),
        ("q1", "b", "gold", "-1"),
        ("q2", "c", "gold", "0"),
    ]
    assert Pair.objects.get(anchor__use="warm_up").retired_at
    assert not Pair.objects.filter(anchor__use="gold", retired_at__isnull=False).exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("q11,a,3,gold,", "the collection has no query 'q11'. Did you mean q1?"),
        ("zzz,a,3,gold,", "the collection has no query 'zzz'. Import queries first, with import_queries."),
        ("q1,e,3,gold,", "the collection has no document 'e'. Correct the id. If the id is right, import"),
        ("q1,d,5,gold,", "the grade 5 is not on the scale of the collection. The scale is -1, 0, 1, 2, 3."),
        ("q1,d,good,gold,", "the grade 'good' is not a decimal number. Correct the cell."),
        ("q1,d,3,silver,", "the kind 'silver' is neither warm-up nor gold. Correct the cell."),
        ("q1,d,3,warm-up, ", "a warm-up needs an explanation: raters read it after their answer."),
        (f"q1,d,3,gold,{'x' * 5_001}", "the explanation is longer than 5,000 characters."),
        ("q1,a,2,gold,", "the pair has another grade, kind or explanation on line 2. Keep one of the two."),
        ("q1,a,3,gold", "there are 4 cells, the header has 5. The header is query,document,grade,kind"),
    ],
)
def test_one_wrong_line_keeps_the_whole_file_out(file, line, said):
    make_collection()
    path = file(FILE + line + "\n")
    out, err, refused = command("anchors", "hills", path)
    assert refused and f"{path}, line 5: {said}" in err
    assert (out, known()) == ("", [])
    assert not Pair.objects.exists()


def test_a_failure_half_way_leaves_nothing_behind(file, monkeypatch):
    make_collection()
    retire, calls = queue.retire, []

    def once(*arguments, **facts):
        calls.append(arguments)
        if len(calls) == 2:
            raise ValueError("the second fails")
        return retire(*arguments, **facts)

    monkeypatch.setattr(queue, "retire", once)
    _, _, refused = command("anchors", "hills", file(HEADER + "q1,a,3,warm-up,x\nq1,b,3,warm-up,y\n"))
    assert refused and len(calls) == 2
    assert known() == []


@pytest.mark.parametrize(
    "content",
    [
        "query;document;grade;kind;explanation\nq1;a;1,0;gold;\nq1;b;3;warm-up;It sells, so no.\n",
        "sep=;\r\nquery;document;grade;kind;explanation\r\nq1;a;1,0;gold;\r\nq1;b;3;warm-up;It sells, so no.\r\n",
        "query\tdocument\tgrade\tkind\texplanation\nq1\ta\t1.0\tgold\t\nq1\tb\t3\twarm-up\tIt sells, so no.\n",
        'query,document,grade,kind,explanation\nq1,a,"1,0",gold,\nq1,b,3,warm-up,"It sells, so no."\n',
    ],
)
def test_anchors_are_read_as_spreadsheets_write_them(file, content):
    collection = make_collection()
    make_pair(collection, "q1", "a"), make_pair(collection, "q1", "b")
    _, err, refused = command("anchors", "hills", file(content))
    assert not refused, err
    assert known() == [("q1", "a", "gold", "1", ""), ("q1", "b", "warm_up", "3", "It sells, so no.")]


def test_a_file_without_a_header_that_fits_is_refused(file):
    make_collection()
    _, err, refused = command("anchors", "hills", file("query,document,grade\nq1,a,3\n"))
    assert refused and "line 1: the header 'query,document,grade' lacks kind" in err
    _, err, refused = command("anchors", "hills", file(""))
    assert refused and "it holds nothing to import" in err


def test_what_raters_said_before_is_kept(file):
    collection = make_collection()
    rater, pair = make_rater(collection), make_pair(collection)
    queue.save(rater, pair, queue.Submission(grade=grade(collection, "1")), now=NOW)
    command("anchors", "hills", file(FILE))
    assert pair.ratings.get().grade.plain == "1"
