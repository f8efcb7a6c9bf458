import io

import pytest
from django.core.management import CommandError, call_command, load_command_class

from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import grade, make_collection, make_pair

from ...tests.worked import rate, worked_collection

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("export_qrels", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    assert refused.value.returncode == 1
    return str(refused.value)


def test_judgments_come_as_qrels_in_the_natural_order_of_keys():
    collection = make_collection(queries=("q10", "q9"), documents=("d10", "d9"))
    rate(collection, "q10", d10="0", d9="2")
    rate(collection, "q9", d9="3")
    assert run("hills") == ("q9 0 d9 3\nq10 0 d9 2\nq10 0 d10 0\n", "")


def test_several_ratings_become_one_line_by_the_rule():
    collection = make_collection(queries=("q1",))
    rate(collection, "q1", rater="x", a="3", b="unclear")
    rate(collection, "q1", rater="y", a="1")
    assert run("hills")[0] == "q1 0 a 2\n"
    assert run("hills", "--rule", "max")[0] == "q1 0 a 3\n"


def test_an_adjudicated_grade_stands_above_the_rule_unless_the_ratings_alone_are_asked_for():
    collection = make_collection(queries=("q1",))
    rate(collection, "q1", a="3", b="1")
    for document, value in {"a": "0", "d": "2"}.items():
        adjudicate(make_pair(collection, "q1", document), grade(collection, value), reason="clear", actor=None)
    assert run("hills", "--rule", "max")[0] == "q1 0 a 0\nq1 0 b 1\nq1 0 d 2\n"
    assert run("hills", "--adjudications", "ignore")[0] == "q1 0 a 3\nq1 0 b 1\n"
    assert "did you mean ignore" in refusal("hills", "--adjudications", "ignored")


def test_weights_of_raters_count_where_the_rule_is_weighted():
    collection = make_collection(queries=("q1",))
    rate(collection, "q1", rater="x", a="3")
    rate(collection, "q1", rater="y", a="1", b="1")
    collection.raters.filter(name="y").update(weight=0)
    assert run("hills", "--rule", "weighted")[0] == "q1 0 a 3\n"
    collection.raters.filter(name="y").update(weight="0.5")
    ending = (
        "; the rule median keeps to the grades of the scale, but gives other numbers than the mean; a CSV holds "
        "decimals. The options --map and --rule decide."
    )
    assert refusal("hills", "--rule", "weighted").endswith(ending)


def test_a_map_gives_an_integer_for_each_of_them_and_without_they_are_refused():
    collection = worked_collection()
    rate(collection, "q1", rater="second", b="3")
    assert "2 of 5 judgments" in refusal("hills") and "The options --map and --rule decide." in refusal("hills")
    assert "1 of 5 judgments" in refusal("hills", "--map", "-1=0")
    mapped = "q1 0 a 3\nq1 0 b 3\nq1 0 c 0\nq2 0 a 1\nq2 0 d {}\n"
    assert run("hills", "--map", "-1=0,2.5=3") == (mapped.format(0), "")
    assert run("hills", "--map", "-1=-1,2.5=3")[0] == mapped.format(-1)


def test_a_map_may_begin_with_a_minus_on_the_command_line_too():
    parser = load_command_class("evaluation", "export_qrels").create_parser("manage.py", "export_qrels")
    assert parser.parse_args(["hills", "--map", "-1=0,0.5=1"]).map == "-1=0,0.5=1"
    assert parser.parse_args(["hills", "--map", "-.5=0", "--rule", "min"]).map == "-.5=0"


def test_a_map_that_cannot_be_read_is_refused():
    worked_collection()
    for text in ("0.5", "0.5=0.5", "a=1", "0.5=1,,", "1=2=3", "nan=1", "0.5=1,0.50=2"):
        assert text in refusal("hills", "--map", text)


def test_qrels_can_go_to_a_file(tmp_path):
    collection = make_collection(queries=("q1",), documents=("é",))
    rate(collection, "q1", é="1")
    path = tmp_path / "hills.qrels"
    assert run("hills", "--output", str(path)) == ("", "")
    assert path.read_bytes() == "q1 0 é 1\n".encode()
    assert "No such file" in refusal("hills", "--output", str(tmp_path / "no" / "folder"))


def test_other_formats_name_queries_as_they_do_and_keep_decimals():
    collection = make_collection(queries=("q1",), scale={"-1": "Bad", "0.5": "Half"})
    rate(collection, "q1", a="0.5", b="-1")
    assert run("hills", "--format", "csv") == ("query,document,grade\r\nq1,a,0.5\r\nq1,b,-1\r\n", "")
    assert (
        run("hills", "--format", "quepid-csv")[0]
        == "query,docid,rating\r\ntext of q1,a,0.5\r\ntext of q1,b,-1\r\n"
    )
    assert (
        '{"docId": "a", "rating": "0.5"}, {"docId": "b", "rating": "-1"}'
        in run("hills", "--format", "opensearch")[0]
    )


def test_formats_that_hold_whole_grades_only_refuse_others_until_they_are_mapped():
    collection = make_collection(queries=("q1",), scale={"-1": "Bad", "0.5": "Half"})
    rate(collection, "q1", a="0.5", b="-1")
    assert "2 of 2 judgments have grades that letor cannot hold" in refusal("hills", "--format", "letor")
    assert run("hills", "--format", "letor", "--map", "0.5=1,-1=0") == ("1 qid:q1 # a\n0 qid:q1 # b\n", "")
