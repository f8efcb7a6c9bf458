"""The client against the API itself, and against a wire that breaks."""

import json
import subprocess
import sys
from itertools import product
from math import log2

import httpx
import numpy as np
import pandas as pd
import pytest
from idealist_client import Idealist, Problem, importing

from evaluation.measures import calc
from evaluation.tests.hills import make_hills
from evaluation.watching.tests.cast import make_watch
from ratings.desk import queue
from ratings.models import Collection, Receipt, Role
from ratings.tests.cast import make_collection, make_member, make_user
from ratings.web.problems import MEDIA_TYPE

from .world import SERVER, connected, transport

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def pauses(monkeypatch) -> list[float]:
    """The pauses between tries, in which nobody waits."""
    taken: list[float] = []
    monkeypatch.setattr("time.sleep", taken.append)
    return taken


@pytest.fixture
def hills():
    """The collection as its admin sees it."""
    collection = make_hills()
    return connected(make_member(collection, "boss", Role.ADMIN), collection, "read", "import").collection("hills")


class Losing(httpx.BaseTransport):
    """Answers the first calls with these errors. Where `after`, the server has done what was asked."""

    def __init__(self, *errors: Exception | httpx.Response, after: bool = False) -> None:
        self.errors, self.after, self.server, self.keys = list(errors), after, transport(), []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(request.headers.get("Idempotency-Key"))
        if not self.errors:
            return self.server.handle_request(request)
        if self.after:
            self.server.handle_request(request).read()
        error = self.errors.pop(0)
        if isinstance(error, Exception):
            raise error
        return error


def refusing(status: int, **headers: str) -> httpx.Response:
    body = json.dumps({"status": status, "detail": "Later.", "type": "about:blank"})
    return httpx.Response(status, content=body, headers={"Content-Type": MEDIA_TYPE} | headers)


# Collections and imports


def test_a_collection_is_made_filled_and_read():
    with connected(make_user("root", is_superuser=True), None, "manage", "import", "read") as idealist:
        lamps = idealist.make_collection("lamps", "Lamps", {0: "No", 3: "Yes"})
        assert [grade["label"] for grade in lamps.facts()["grades"]] == ["No", "Yes"]
        frame = pd.DataFrame({"key": ["q1", "q2"], "text": ["red", "blue"], "need": ["For a desk.", None]})
        assert lamps.import_queries(frame).new == 2
        lamps.import_documents([{"key": "d1", "title": "Red lamp", "fields": {"price": 3}}, {"key": "d2"}])
        lamps.import_rankings("listed", {"q1": ["d2", "d1"]})
        lamps.import_rankings("scored", {"q1": {"d1": np.float32(2.5), "d2": 7}})
        rows = [("q1", "d1", 1.0), ("q1", "d2", 2.0), ("q2", "d1", 3.0)]
        lamps.import_rankings("framed", pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]))
        twice = pd.DataFrame([*rows, rows[0]], columns=["query_id", "doc_id", "score"])
        with pytest.raises(Problem, match="document d1"):
            lamps.import_rankings("twice", twice)
        assert lamps.import_rankings("first", twice, keep_first=True).new == 2
        lamps.import_ratings([{"query": "q1", "document": "d1", "rater": "Experts", "grade": 3}])
        assert {row["name"]: row["rankings"] for row in lamps.systems()} == {
            "listed": 1,
            "scored": 1,
            "framed": 2,
            "first": 2,
        }
        found = lamps.evaluate("nDCG@10", per_query=True)
        assert found.per_query().loc["q1"].round(6).tolist() == [0.63093] * 4
        assert lamps.queries().frame()["need"].tolist() == ["For a desk.", ""]
        assert [row["slug"] for row in idealist.collections()] == ["lamps"]


def test_rows_are_sent_in_batches_with_progress_and_the_totals_of_all(hills, monkeypatch):
    monkeypatch.setitem(importing.MOST_IN_A_BATCH, "documents", 4)
    monkeypatch.setattr(importing, "MOST_BYTES", 300)
    rows = [{"key": f"n{number}", "body": "é" * (140 if number == 5 else 1)} for number in range(10)]
    seen = []
    done = hills.import_documents(iter(rows), progress=seen.append)
    assert [so_far.rows for so_far in seen] == [4, 5, 6, 10]  # the long row has no room beside others
    assert seen[-1] == done and (done.new, done.changed, len(done.facts)) == (10, 0, 4)
    read = {row["key"]: row["body"] for row in hills.documents()}
    assert {key: read[key] for key in ("n5", "n9")} == {"n5": "é" * 140, "n9": "é"}


def test_a_batch_of_rankings_has_at_most_so_many_results(monkeypatch):
    monkeypatch.setitem(importing.MOST_IN_A_BATCH, "rankings", 50)
    run = {f"q{number}": ["d"] * length for number, length in enumerate((30, 20, 1, 1, 1, 1, 1, 60, 1))}
    sizes = [len(batch) for batch in importing.batches(importing.rankings_of(run), "rankings")]
    assert sizes == [2, 5, 1, 1]


def test_a_refusal_has_the_problem_of_the_server_and_says_how_many_rows_came_before(hills, monkeypatch):
    monkeypatch.setitem(importing.MOST_IN_A_BATCH, "ratings", 2)
    row = {"query": "q1", "document": "a", "rater": "tool", "grade": 2}
    rows = [row, row | {"document": "b"}, row | {"document": "c"}, row | {"document": "d", "grade": 7}]
    with pytest.raises(Problem) as caught:
        hills.import_ratings(rows)
    problem = caught.value
    assert (problem.status, problem.kind, problem.rows_before) == (422, "refused", 2)
    assert problem.errors[0]["pointer"] == "/ratings/1" and problem.errors[0]["index"] == 1
    assert str(problem).startswith("422: Nothing was written: 1 thing to correct.\n  /ratings/1 ")
    assert sum(row["rater"] == "tool" for row in hills.ratings()) == 2


def test_what_is_not_there_or_not_allowed_is_a_problem(hills):
    with pytest.raises(Problem, match="404: There is nothing here"):
        hills.unjudged("nobody").frame()
    with pytest.raises(Problem, match="403: The token cannot rate, only read, import") as caught:
        hills.tasks()
    assert caught.value.kind == "scope"


# Retries


@pytest.mark.parametrize(
    ("error", "pause"),
    [
        (httpx.ConnectError("refused"), 0.5),
        (httpx.ReadTimeout("silent"), 0.5),
        (refusing(503, **{"Retry-After": "7"}), 7),
        (refusing(429, **{"Retry-After": "60"}), 60),
        (httpx.Response(502, text="<h1>Bad gateway</h1>"), 0.5),
    ],
)
def test_a_call_is_sent_again(pauses, error, pause):
    collection = make_hills()
    boss = make_member(collection, "boss", Role.ADMIN)
    hills = connected(boss, collection, "import", through=Losing(error)).collection("hills")
    assert hills.import_queries([{"key": "q9", "text": "nine"}]).new == 1
    assert pauses == [pause]


def test_an_import_whose_answer_was_lost_is_not_done_twice(pauses):
    collection = make_hills()
    wire = Losing(httpx.ReadError("gone"), httpx.RemoteProtocolError("gone"), after=True)
    hills = connected(make_member(collection, "boss", Role.ADMIN), collection, "import", through=wire).collection(
        "hills"
    )
    done = hills.import_queries([{"key": "q9", "text": "nine"}])
    assert (done.new, done.unchanged) == (1, 0)  # the stored answer, not that of a second import
    assert len({*wire.keys}) == Receipt.objects.count() == 1 and pauses == [0.5, 1]


def test_rows_with_a_key_of_their_own_are_imported_once(hills):
    rows = [{"key": "q9", "text": "nine"}]
    assert [hills.import_queries(rows, key="night-417").new for _ in range(2)] == [1, 1]
    assert hills.import_queries(rows).unchanged == 1
    with pytest.raises(Problem, match="This Idempotency-Key came with something else"):
        hills.import_queries([{"key": "q10", "text": "ten"}], key="night-417")


def test_what_cannot_be_repeated_is_sent_again_only_if_nothing_was_done():
    root = make_user("root", is_superuser=True)
    for lost in (httpx.ReadError("gone"), httpx.Response(503, text="busy")):
        with pytest.raises((httpx.ReadError, Problem)):
            connected(root, None, "manage", through=Losing(lost)).make_collection("lamps")
    connected(root, None, "manage", through=Losing(httpx.ConnectError("no"), refusing(503))).make_collection(
        "lamps"
    )
    assert Collection.objects.get().slug == "lamps"


def test_tries_end_and_nobody_waits_for_an_hour(pauses):
    with pytest.raises(Problem, match="503: Later"):
        Idealist(SERVER, "x", transport=Losing(*(refusing(503) for _ in range(3))), tries=3).token()
    with pytest.raises(httpx.ConnectError):
        Idealist(SERVER, "x", transport=Losing(*map(httpx.ConnectError, "ab")), tries=2).token()
    assert pauses == [0.5, 1, 0.5]
    with pytest.raises(Problem, match="429"):
        Idealist(SERVER, "x", transport=Losing(refusing(429, **{"Retry-After": "3600"}))).token()
    with pytest.raises(Problem, match="301: Moved Permanently https://elsewhere"):
        moved = httpx.Response(301, headers={"Location": "https://elsewhere.example"})
        Idealist(SERVER, "x", transport=Losing(moved)).token()


# Rate


def want(collection: Collection, documents: str, *queries: str) -> None:
    found = product(collection.queries.filter(key__in=queries), collection.documents.filter(key__in=documents))
    queue.want([*queue.pairs_for([(query.pk, document.pk) for query, document in found]).values()], 1)


def test_a_script_rates_all_that_there_is():
    collection = make_collection()
    want(collection, "abcd", "q1", "q2")
    robin = connected(make_member(collection, "robin", Role.RATER), collection, "rate").collection("hills")

    def judge(task):
        return "broken" if task["document"]["title"] == "Title c" else 3

    results = robin.rate(judge, at_once=3)
    assert len(results) == 8 and all(result["saved"] for result in results)
    assert robin.tasks() == [] and sorted(row["reason"] for row in robin.my_ratings()) == [""] * 6 + ["broken"] * 2


def test_a_rating_that_is_not_saved_ends_it(monkeypatch):
    collection = make_collection()
    want(collection, "a", "q1")
    robin = connected(make_member(collection, "robin", Role.RATER), collection, "rate").collection("hills")
    (task,) = robin.tasks()
    (stale,) = robin.save([(task, 3)])
    assert stale["saved"]
    (result,) = robin.save([(task, 0)])
    assert (result["saved"], result["current"]["grade"]) == (False, 3)
    monkeypatch.setattr(robin, "tasks", lambda count: [task])
    assert len(robin.rate(lambda task: 1)) == 1


# Numbers


def test_scores_are_those_of_the_hills_as_frames(hills):
    found = hills.evaluate("nDCG@10", "AP", systems=["good", "bad"], per_query=True)
    means = found.frame().set_index(["system", "measure"])["mean"]
    assert means["good", "nDCG@10"] == pytest.approx(0.815465, abs=5e-7)
    assert found["options"]["gain"] == "linear"
    assert found.per_query()["nDCG@10", "bad"].round(6).to_dict() == {"q1": 0.408728, "q2": 0.0}
    exponential = hills.evaluate("nDCG@10", systems=["bad"], gain="exponential").frame()["mean"]
    assert exponential[0] == pytest.approx((7 / log2(3) - 0.5 + 0.5) / (7 + 1 / log2(3) + 0.5) / 2)


def test_qrels_go_into_calc(hills):
    qrels = hills.qrels(rule="mean")
    assert qrels == {"q1": {"a": 3, "b": 0, "c": -1, "d": 1}, "q2": {"b": 2}}
    run = {"q1": {"a": 3.0, "d": 2.0, "b": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    mean = hills.evaluate("nDCG@10", systems=["good"])["results"][0]["mean"]
    assert calc(["nDCG@10"], qrels, run, profile="default").aggregated["nDCG@10"] == pytest.approx(mean)
    assert [(row["query"], row["document"]) for row in hills.unjudged("good")] == [("q2", "a")]


def test_comparison_and_gate(hills):
    found = hills.compare("bad", "good", measure=["nDCG@10"], draws=100, per_query=True)
    assert found.frame()["difference"][0] == pytest.approx(0.815465 - 0.204364, abs=1e-6)
    assert found.per_query()["nDCG@10", "bad", "good"]["q2"] == pytest.approx(0.63093, abs=1e-6)
    gate = hills.gate("good", "bad", margin=0.01)
    assert gate["verdict"] in ("worse", "not worse", "cannot tell")
    assert len(gate.frame()) == 1 and "plain.difference" in gate.frame()
    assert "| against | verdict |" in hills.gate_report("good", "bad")


def test_a_watch_gets_a_night_from_an_imported_system(hills):
    watch = make_watch(Collection.objects.get(), name="after the build")
    (found,) = hills.watches()
    assert (found["watch"], found["id"]) == ("after the build", watch.pk)
    assert hills.add_night(watch.pk, "good")["queries"] == 2
    assert hills.watch(watch.pk).frame()["mean"].tolist() == [pytest.approx(0.815465, abs=5e-7)]
    with pytest.raises(Problem, match="none is no system of"):
        hills.add_night(watch.pk, "none")


def test_pages_are_read_one_after_the_other(hills, monkeypatch):
    hills.import_queries({"key": f"n{number}", "text": "more"} for number in range(5))
    rows = hills.rows("queries", limit=3)
    assert (
        [row["key"] for row in rows] == [row["key"] for row in rows] == ["q1", "q2", *(f"n{n}" for n in range(5))]
    )


def test_without_frames_pandas_is_not_loaded():
    code = "import idealist_client, sys; print({'pandas', 'numpy', 'django'} & {*sys.modules})"
    folder = importing.__file__.rsplit("/", 2)[0]
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
