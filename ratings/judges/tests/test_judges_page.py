"""The pages of judges, by the forms that a browser sends without a script."""

import io
import json
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from ratings.collection import deleting, putting_away
from ratings.formats.source import Source
from ratings.importing import intake
from ratings.judges import sample as samples
from ratings.judges import versions
from ratings.models import AuditEvent, Job, JudgeRun, JudgeVersion, MachineGrade, Role
from ratings.tests.cast import make_asked, make_collection, make_member, make_pair, signed_in

from .test_judges import allowed, free, judge_of, pool_of, server, started, worked  # noqa: F401

pytestmark = pytest.mark.django_db


def admin(collection) -> Client:
    return signed_in(make_member(collection, "root", Role.ADMIN))


VERSION = {
    "model": "llama3", "template": "scale", "sees": ["title", "body"], "structured": "on",
    "sampling": '{"temperature": 0}', "seed": "1", "price_in": "10", "price_out": "20",
}  # fmt: skip


def test_from_a_name_to_a_graded_run_and_its_log(server):  # noqa: F811
    found = server(lambda handler, text: handler.say('{"grade": 2}' if text == "good" else "=1+1"))
    collection = pool_of({"a": "good", "b": "bad"})
    client = admin(collection)
    page = client.post(reverse("make_judge", args=["hills"]), {"name": "llama"}, follow=True)
    judge = page.context["judge"]
    assert page.context["version_form"]["structured"].value() is True
    client.post(reverse("make_judge_version", args=["hills", judge.pk]), VERSION | {"endpoint": found.url})
    version = JudgeVersion.objects.get()
    asked = {"version": version.pk, "choice": "pool", "size": "1", "seed": "1", "depth": "1"}
    asked |= {"concurrency": "2", "per_minute": "0"}
    own = reverse("judge", args=["hills", judge.pk])
    page = client.get(own, asked)
    assert page.status_code == 400 and "This judge is not measured yet" in page.content.decode()
    free(judge)
    page = client.get(own, asked)
    plan = page.context["plan"]
    assert (page.status_code, plan.pairs, plan.calls, plan.answered) == (200, 2, 2, 0)
    assert plan.cost == round((plan.tokens_in * 10 + plan.tokens_out * 20) / Decimal(1_000_000), 6)
    assert not JudgeRun.objects.exists()
    sent = asked | {"most_calls": "9", "most_cost": "1"}
    page = client.post(reverse("start_judge_run", args=["hills", judge.pk]), sent, follow=True)
    run = worked(page.context["run"])
    page = client.get(reverse("judge_run", args=["hills", run.pk]))
    assert "1 of 2 graded, 1 without a grade; 2 of at most 9 calls" in page.content.decode()
    assert [(row["problem"], row["n"]) for row in page.context["problems"]] == [("not_json", 1)]
    page = client.get(reverse("judge_run", args=["hills", run.pk]), {"problem": "not_json"})
    assert [row.document.key for row in page.context["page"]] == ["b"]
    assert client.get(reverse("judge_run", args=["hills", run.pk]), {"problem": "x"}).status_code == 404
    log = reverse("judge_log", args=["hills", run.pk, "jsonl"])
    lines = [json.loads(line) for line in b"".join(client.get(log)).splitlines()]
    facts = [(line["document"], line["grade"], line["problem"], line["answer"]) for line in lines]
    assert facts == [("a", "2", "", '{"grade": 2}'), ("b", None, "not_json", "=1+1")]
    log = reverse("judge_log", args=["hills", run.pk, "csv"])
    rows = b"".join(client.get(log)).decode().splitlines()
    assert len(rows) == 3 and rows[0].startswith("\ufeff") and "'=1+1" in rows[2]
    assert client.get(reverse("judge_log", args=["hills", run.pk, "xml"])).status_code == 404


def test_a_run_is_paused_resumed_and_cancelled():
    run = started(judge_of(pool_of({"a": "x"})))
    client = admin(run.version.judge.collection)
    address = reverse("change_judge_run", args=["hills", run.pk])
    states = []
    for act in ("pause", "resume", "cancel", "resume"):
        assert client.post(address, {"act": act}).status_code == 302
        run.refresh_from_db()
        states.append(run.state)
    assert states == ["paused", "queued", "cancelled", "cancelled"]
    assert client.post(address, {"act": "explode"}).status_code == 404
    JudgeRun.objects.update(state="capped", calls=5, most_calls=5)
    assert client.post(address, {"act": "resume", "calls": "5"}).status_code == 400
    assert client.post(address, {"act": "resume", "calls": "6"}).status_code == 302


def test_a_run_pauses_with_its_collection_and_can_be_stopped_but_not_continued():
    run = started(judge_of(pool_of({"a": "x"})))
    collection = run.version.judge.collection
    client, page = admin(collection), reverse("judge_run", args=["hills", run.pk])
    change = reverse("change_judge_run", args=["hills", run.pk])
    putting_away.put_away(collection)
    run.refresh_from_db()
    assert run.state == "paused"
    assert client.post(change, {"act": "resume"}).url == reverse("collection", args=["hills"])
    run.refresh_from_db()
    assert run.state == "paused"
    for before, act, after in (("running", "pause", "paused"), ("paused", "cancel", "cancelled")):
        JudgeRun.objects.update(state=before)
        assert client.post(change, {"act": act}).url == page
        run.refresh_from_db()
        assert run.state == after


def test_runs_of_a_deleted_collection_are_paused_and_only_theirs():
    collection, other = make_collection(), make_collection("sea")
    waiting, working, failed, theirs = (
        make_asked(each, make_pair(each, document=document), name=document)
        for each, document in ((collection, "a"), (collection, "b"), (collection, "c"), (other, "a"))
    )
    for run, state in ((waiting, "queued"), (working, "running"), (failed, "failed"), (theirs, "queued")):
        JudgeRun.objects.filter(pk=run.pk).update(state=state)
    deletion = deleting.delete(collection, None)
    states = JudgeRun.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["paused", "paused", "failed", "queued"]
    deleting.restore(deletion)
    assert list(states.all()) == ["paused", "paused", "failed", "queued"]


def test_a_sample_that_keeps_an_import_from_being_undone_is_dropped():
    collection = make_collection(documents="")
    jsonl = b'{"id": "a", "title": "x"}\n'
    intake.import_documents(collection, [Source("documents.jsonl", io.BytesIO(jsonl))])
    job, judge = Job.objects.get(), versions.make_judge(collection, "llama")
    make_pair(collection)
    for seed in (1, 2):
        samples.draw(judge, 1, seed)
    client = admin(collection)
    undo = reverse("undo_job", args=["hills", job.pk])
    drop = reverse("drop_judge_sample", args=["hills", judge.pk])
    client.post(undo)
    assert Job.objects.get().state == "published"
    for _ in range(2):
        client.post(drop)
    event = AuditEvent.objects.get(act="judge.sample.dropped")  # of the first time alone
    assert (event.about, event.detail) == ("llama", {"samples": 2})
    client.post(undo)
    assert Job.objects.get().state == "undone" and not collection.documents.exists()


def test_lists_need_as_many_queries_for_many_rows(django_assert_num_queries):
    version = judge_of(pool_of({f"d{i}": str(i) for i in range(30)}))
    run = started(version)
    JudgeRun.objects.update(state="paused")  # one that waits asks whether there is a worker, too
    client = admin(version.judge.collection)
    for address, count in (
        (reverse("judges", args=["hills"]), 7),
        (reverse("judge", args=["hills", version.judge_id]), 20),
        (reverse("judge_run", args=["hills", run.pk]), 10),
    ):
        client.get(address)
        with django_assert_num_queries(count):
            assert client.get(address).status_code == 200
    assert MachineGrade.objects.count() == 30
