"""The gate: three verdicts with exit status, with missing judgments at gain 0 and at their expected gain."""

import io
import json
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command

from evaluation.comparing.gate import gate_of
from evaluation.scores import Asked
from evaluation.significance.gate import NOT_WORSE, UNDECIDED, WORSE
from ratings.models import Baseline, Role, System
from ratings.tests.calls import make_caller
from ratings.tests.cast import make_collection, make_member, make_ranking, make_sample, text

from ...tests.worked import rate

pytestmark = pytest.mark.django_db
QUERIES = [f"q{n:02}" for n in range(1, 21)]


@pytest.fixture
def shop():
    """Twenty queries: `good` and `same` answer all well, `bad` none, `new` half with what nobody judged."""
    collection = make_collection("shop", queries=QUERIES, documents="abcx")
    for place, query in enumerate(QUERIES):
        # More or less to gain, so that differences differ.
        rate(collection, query, a="3", b=str(place % 3), c="0")
        new = "xbc" if place % 2 else "abc"
        for system, documents in (("good", "abc"), ("same", "abc"), ("bad", "cba"), ("new", new)):
            make_ranking(collection, system, query, documents)
    return collection


def run(*arguments: str) -> tuple[int, str]:
    """The exit status, and what was printed."""
    out, status = io.StringIO(), 0
    try:
        call_command("gate", "shop", *arguments, stdout=out)
    except SystemExit as ended:
        status = ended.code
    return status, out.getvalue()


def test_exit_status_is_the_verdict(shop):
    assert run("bad", "--against", "good")[0] == 1
    assert run("good", "--against", "bad")[0] == 0
    assert run("same", "--against", "good", "--margin", "0")[0] == 0
    assert run("good", "--against", "good", "--margin", "0")[0] == 0


def test_without_systems_it_compares_with_the_baselines_that_a_person_chose(shop):
    with pytest.raises(ValueError, match="nothing to compare with"):
        gate_of(shop, Asked.of(shop), "same", [])
    systems = {system.name: system for system in shop.systems.all()}
    for kind, name in (("release", "bad"), ("fixed", "good"), ("release", "same")):
        Baseline.objects.create(collection=shop, kind=kind, system=systems[name], name=name, reason="It runs.")
    found = gate_of(shop, Asked.of(shop), "bad", [])
    assert [each["anchor"] for each in found["anchors"]] == ["good", "same"]
    assert run("bad")[0] == 1
    # A release that is a baseline itself is compared with the other one alone, which has the whole of alpha.
    (against,) = gate_of(shop, Asked.of(shop), "same", [])["anchors"]
    assert against == gate_of(shop, Asked.of(shop), "same", ["good"])["anchors"][0]
    systems["same"].delete()
    with pytest.raises(ValueError, match="the last release, same, was deleted"):
        gate_of(shop, Asked.of(shop), "bad", [])


def test_compare_of_a_system_with_a_chosen_baseline_says_the_verdict(shop, client):
    client.force_login(make_member(shop, "ana", Role.ANALYST))

    def shown(*systems: str) -> dict:
        page = client.get("/collections/shop/compare/", {"baseline": systems[0], "system": systems[1:]})
        return {name: page.context.get(name) for name in ("gate", "against", "no_gate")} | {"text": text(page)}

    assert shown("good", "bad")["gate"] is None
    systems = {system.name: system for system in shop.systems.all()}
    for kind, name in (("fixed", "good"), ("release", "same")):
        Baseline.objects.create(collection=shop, kind=kind, system=systems[name], name=name, reason="It runs.")
    page = shown("good", "bad")
    stored = gate_of(shop, Asked.of(shop), "bad", [])
    assert page["gate"] == stored and page["against"] == stored["anchors"][0]
    assert "bad is worse than good by more than the margin 0.02: −0." in page["text"]
    assert shown("bad", "same")["against"]["anchor"] == "same"  # whichever of the two is the first
    assert len(shown("good", "same")["gate"]["anchors"]) == 1  # both are baselines
    assert shown("new", "bad")["gate"] is None and shown("good", "bad", "new")["gate"] is None
    systems["same"].delete()
    assert "the last release, same, was deleted" in shown("good", "bad")["no_gate"]


def test_over_a_log_the_head_decides(shop):
    """The query with nine tenths of the searches loses, nineteen others gain."""
    make_ranking(shop, "tail", QUERIES[0], "cba")
    for query in QUERIES[1:]:
        make_ranking(shop, "tail", query, "abc")
        make_ranking(shop, "base", query, "bac")
    make_ranking(shop, "base", QUERIES[0], "abc")
    shop.touch()
    assert gate_of(shop, Asked.of(shop), "tail", ["base"])["verdict"] == NOT_WORSE
    make_sample(shop, [(QUERIES[0], 9_000, 1.0), *((query, 1, 0.019) for query in QUERIES[1:])])
    shop.touch()
    found = gate_of(shop, Asked.of(shop), "tail", ["base"])
    assert found["verdict"] == WORSE
    assert found["fingerprint"].endswith("est=log")
    assert found["anchors"][0]["log"]["plain"] > 0.02 and found["anchors"][0]["log"]["traffic"] == 1
    alike = "all queries with the same weight: +"
    assert all(
        alike in run("tail", "--against", "base", "--format", name)[1] for name in ("table", "markdown", "junit")
    )
    out = io.StringIO()
    call_command("compare", "shop", "base", "tail", "--measure", "nDCG@10", stdout=out)
    assert "19 of them drawn from a log, with 100% of its searches" in out.getvalue()
    assert "of the queries" in out.getvalue()


def test_over_a_log_whose_head_was_left_out_there_is_no_verdict(shop):
    make_sample(shop, [("", 9_000, 1.0), *((query, 1, 0.019) for query in QUERIES)])
    shop.touch()
    status, text = run("bad", "--against", "good")
    assert status == 2 and "no query of a whole stratum of the log for a verdict" in text


def test_a_drop_that_holds_only_if_unjudged_documents_are_worthless_is_undecided(shop):
    # One judged first document of two is perfect: the model expects something of those that nobody judged.
    found = gate_of(shop, Asked.of(shop, measure="nDCG@1"), "new", ["good"], margin=0.295)
    (each,) = found["anchors"]
    assert each["plain"]["verdict"] == WORSE
    assert each["expected"]["verdict"] != WORSE and each["expected"]["difference"] > each["plain"]["difference"]
    asked = ("--measure", "nDCG@1", "--margin", "0.295")
    assert (found["verdict"], each["decided_by_judgments"]) == (UNDECIDED, True)
    assert [(row["system"], row["results"], row["of"]) for row in found["unjudged"]] == [
        ("new", 10, 20),
        ("good", 0, 20),
    ]
    status, text = run("new", "--against", "good", *asked, "--site", "https://x.org/")
    assert status == 2
    page = f"https://x.org/collections/shop/pool/holes/?system={System.objects.get(name='new').pk}&depth=1"
    assert f"new: 10 of 20 results unjudged. Ask raters for them: {page}\n" in text
    for read_as, expected in (("pass", 0), ("fail", 1)):
        assert run("new", "--against", "good", *asked, "--undecided", read_as)[0] == expected


def test_unjudged_documents_of_the_baseline_can_decide_too(shop):
    """Where the baseline has what nobody judged, the release has what is worth nothing."""
    shop.grades.filter(value__lt=0).delete()  # so that what nobody judged may be worth more, and not less
    for place, query in enumerate(QUERIES):
        make_ranking(shop, "half", query, "cba" if place % 2 else "abc")
    found = gate_of(shop, Asked.of(shop, measure="nDCG@1"), "half", ["new"])
    (each,) = found["anchors"]
    assert (each["plain"]["verdict"], each["expected"]["verdict"], found["verdict"]) == (
        NOT_WORSE,
        WORSE,
        UNDECIDED,
    )
    for form in ("table", "markdown", "junit"):
        status, text = run("half", "--against", "new", "--measure", "nDCG@1", "--format", form)
        assert status == 2
        assert "new: 10 of 20 results unjudged" in text and "half: 0 of 20 results unjudged" in text
        assert "Unjudged documents decide it" in text


def test_what_is_unjudged_stands_beside_every_verdict_and_its_page_goes_down_to_the_cutoff(shop, client):
    for measure, depth in (("nDCG@20", 20), ("AP", 3)):
        asked = Asked.of(shop, measure=measure)
        row, _ = gate_of(shop, asked, "new", ["good"])["unjudged"]
        assert (row["results"], row["of"]) == (10, 60) and row["path"].endswith(f"&depth={depth}")
    client.force_login(make_member(shop, "ana", Role.ANALYST))
    assert client.get(row["path"]).context["count"] == 10
    for release, verdict in (("new", "worse"), ("good", "not worse")):
        against = "good" if release == "new" else "new"
        for form in ("table", "markdown"):
            text = run(release, "--against", against, "--format", form)[1]
            assert f"{release}: {verdict}" in text and "new: 10 of 60 results unjudged" in text


def test_where_expected_values_are_not_defined_the_plain_reading_decides_and_says_so(shop):
    found = gate_of(shop, Asked.of(shop, measure="AP"), "bad", ["good"])
    (each,) = found["anchors"]
    assert (each["verdict"], each["expected"], bool(each["without_expected"])) == (
        each["plain"]["verdict"],
        None,
        True,
    )


def test_two_anchors_share_alpha_and_one_loss_is_enough(shop):
    alone = gate_of(shop, Asked.of(shop), "bad", ["good"], alpha=0.05)
    both = gate_of(shop, Asked.of(shop), "bad", ["good", "bad"], alpha=0.1)
    assert both["anchors"][0]["plain"] == alone["anchors"][0]["plain"]
    assert [each["verdict"] for each in both["anchors"]] == [WORSE, NOT_WORSE]
    assert both["verdict"] == WORSE


def test_the_worst_queries_come_first_and_link_to_both_lists(shop):
    (each,) = gate_of(shop, Asked.of(shop), "bad", ["good"])["anchors"]
    losses = [row["difference"] for row in each["worst"]]
    assert len(losses) == 3 and losses == sorted(losses) and losses[0] < 0
    assert each["worst"][0]["path"].endswith("?system=good&system=bad")


def test_reports_have_the_same_verdict(shop):
    document = json.loads(run("bad", "--against", "good", "--against", "same", "--format", "json")[1])
    assert (document["verdict"], document["margin"], document["alpha"]) == ("worse", 0.02, 0.05)
    suite = ElementTree.fromstring(run("bad", "--against", "good", "--format", "junit")[1].encode())
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1") and suite.find("testcase/failure") is not None
    markdown = run("bad", "--against", "good", "--format", "markdown")[1]
    assert markdown.startswith("### ❌ bad: worse\n") and "| good | worse |" in markdown


def test_rankings_of_a_file_are_imported_first(shop, tmp_path):
    file = tmp_path / "build.run"
    file.write_text("".join(f"{query} Q0 a 1 9 x\n" for query in QUERIES))
    assert run("build", "--against", "good", "--run", str(file))[0] in (0, 1, 2)
    assert System.objects.filter(name="build").exists()


@pytest.mark.parametrize("arguments", [["nobody"], ["good", "--margin", "-1"], ["good", "--measure", "nDGC"]])
def test_a_wrong_call_is_no_verdict(shop, arguments):
    with pytest.raises(CommandError) as refused:
        call_command("gate", "shop", "bad", "--against", *arguments)
    assert refused.value.returncode == 3


def test_the_api_takes_rankings_that_are_not_imported(shop):
    """They get the verdict that they would get as a system, and leave nothing behind."""
    lists = {"new": ["xbc" if place % 2 else "abc" for place in range(20)], "unknown": ["yza"] * 20}
    runs = {
        name: "".join(
            f"{query} Q0 {key} {rank} {9 - rank} tag\n"
            for query, keys in zip(QUERIES, documents, strict=True)
            for rank, key in enumerate(keys, 1)
        )
        for name, documents in lists.items()
    }
    reader = make_caller(make_member(shop, "ana", Role.ANALYST), shop, "read")
    before = shop.systems.count(), shop.documents.count(), shop.jobs.count()

    def sent(run: str, query_string: str):
        return reader.post(f"/collections/shop/gate?against=good&{query_string}", run)

    answer = sent(runs["new"], "release=build").json()
    stored = gate_of(shop, Asked.of(shop), "new", ["good"])
    # The model of expected gains sees one system more.
    assert answer["anchors"][0]["plain"] == stored["anchors"][0]["plain"]
    assert answer["unjudged"][0] == {"system": "build", "results": 10, "of": 60, "path": ""}
    assert answer["anchors"][0]["worst"][0]["path"].endswith("?system=good")
    report = sent(runs["unknown"], "release=build&format=markdown&measure=nDCG@2&ties=score")
    assert (
        report["Idealist-Verdict"] == "worse"
        and "build: 40 of 40 results unjudged. To ask" in report.content.decode()
    )
    assert (shop.systems.count(), shop.documents.count(), shop.jobs.count()) == before
    taken, broken = sent(runs["new"], "release=new"), sent("q01 Q0 a one 9 x\n", "release=build")
    assert [taken.status_code, broken.status_code] == [422, 422]
    assert "line 1: " in broken.json()["errors"][0]["detail"]
    as_json = reader.post("/collections/shop/gate?against=good&release=build", b"{}")
    assert as_json.status_code == 415 and "text/plain" in as_json.json()["detail"]


def test_the_api_has_the_document_and_the_reports_with_the_verdict_in_a_header(shop):
    reader = make_caller(make_member(shop, "ana", Role.ANALYST), shop, "read")
    asked = {"release": "bad", "against": ["good", "same"]}
    answer = reader.get("/collections/shop/gate", **asked)
    found = gate_of(shop, Asked.of(shop), "bad", ["good", "same"])
    assert answer.json() == json.loads(json.dumps(found))
    report = reader.get("/collections/shop/gate", **asked, format="markdown")
    assert report["Idealist-Verdict"] == answer["Idealist-Verdict"] == "worse"
    assert report["Content-Type"] == "text/markdown; charset=utf-8"
    assert "](http://testserver/collections/shop/queries/" in report.content.decode()
    for wrong, parameter in (
        ({"against": ["nobody"]}, "release"),
        ({"margin": "-1"}, "margin"),
        ({"measure": ["AP", "RR"]}, "measure"),
    ):
        refused = reader.get("/collections/shop/gate", **asked | wrong)
        assert refused.status_code == 422 and parameter in refused.content.decode()
