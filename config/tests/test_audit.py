"""Every act is noted with who did it, from where and how, in its own transaction; or stands here with a reason."""

import csv
import io
import json
import logging
from datetime import timedelta

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ratings.collection import deleting
from ratings.formats.source import Source
from ratings.importing import intake, jobs
from ratings.models import AuditEvent, Collection, Job, Role
from ratings.people import audit, erasure, members, tokens
from ratings.people.audit import Act
from ratings.people.audit.who import acting_for
from ratings.pool import anchors, asking_again
from ratings.pool.asking_again import Scope
from ratings.tests.calls import ROOT as API
from ratings.tests.cast import grade, make_collection, make_member, make_rater

from .test_access import BOTH, TABLE, World
from .test_api_access import TABLE as API_TABLE

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def listed(settings) -> None:
    """The host of the judge, which is not asked."""
    settings.PULL_HOSTS = ["127.0.0.1/32"]


# The address: the act that it notes.
NOTED = {
    "password_change": Act.PASSWORD,
    "end_other_sessions": Act.SESSIONS_ENDED,
    "save_adjudication": Act.DECIDED,
    "withdraw_adjudication": Act.DECISION_WITHDRAWN,
    "make_token": Act.TOKEN_MADE,
    "revoke_token": Act.TOKEN_REVOKED,
    "revoke_token_of_member": Act.TOKEN_REVOKED,
    "make_collection": Act.MADE,
    "describe_collection": Act.DESCRIBED,
    "put_away": Act.PUT_AWAY,
    "take_out": Act.TAKEN_OUT,
    "delete_collection": Act.DELETED,
    "restore_collection": Act.RESTORED,
    "remove_collection": Act.REMOVED,
    "join": Act.JOINED,
    "edit_guidelines": Act.GUIDELINES,
    "presentation": Act.PRESENTATION,
    "save_scale": Act.SCALE,
    "save_default_options": Act.DEFAULT_OPTIONS,
    "invite": Act.INVITED,
    "set_role": Act.ROLE,
    "end_sessions": Act.SESSIONS_ENDED,
    "new_password_link": Act.SIGN_IN,
    "remove_member": Act.MEMBER_REMOVED,
    "save_terms": Act.TERMS,
    "deactivate_rater": Act.DEACTIVATED,
    "reactivate_rater": Act.REACTIVATED,
    "leave_out": Act.LEFT_OUT,
    "count_again": Act.COUNTED_AGAIN,
    "erase_rater": Act.ERASED,
    "act_on_many": Act.DEACTIVATED,
    "withdraw_many": Act.INVITATION_WITHDRAWN,
    "invite_again": Act.INVITED,
    "save_account": Act.ACCOUNT,
    "make_password_link": Act.SIGN_IN,
    "remove_second_factor": Act.SIGN_IN,
    "delete_account": Act.ERASED,
    "want_fewer": Act.POOL_FEWER,
    "ask_raters_again": Act.ASKED_AGAIN,
    "ask_aged_again": Act.ASKED_AGAIN,
    "take_back_asking": Act.ASKING_BACK,
    "save_judging": Act.JUDGING,
    "choose_decisive": Act.JUDGING,
    "retire": Act.RETIRED,
    "bring_back": Act.BROUGHT_BACK,
    "save_anchor": Act.ANCHOR,
    "remove_anchor": Act.ANCHOR_REMOVED,
    "make_judge": Act.JUDGE,
    "make_judge_version": Act.JUDGE_VERSION,
    "draw_judge_sample": Act.JUDGE_SAMPLE,
    "take_judge_sample": Act.JUDGE_SAMPLE,
    "drop_judge_sample": Act.JUDGE_SAMPLE_DROPPED,
    "use_judge": Act.JUDGE_USE,
    "start_probes": Act.JUDGE_RUN,
    "start_judge_run": Act.JUDGE_RUN,
    "change_judge_run": Act.JUDGE_RUN_CHANGED,
    "delete_system": Act.SYSTEM_DELETED,
    "make_baseline": Act.BASELINE,
    "undo_job": Act.IMPORT_UNDONE,
    "decide_sampled": Act.QUERY_LEFT_OUT,
    "freeze": Act.FROZEN,
    "allow_picture_host": Act.HOST_ALLOWED,
    "end_picture_host": Act.HOST_NO_MORE,
    "end_engine_host": Act.HOST_NO_MORE,
    "make_engine": Act.ENGINE,
    "save_engine": Act.ENGINE,
    "replace_texts": Act.ENGINE,
    "allow_engine": Act.HOST_ALLOWED,
    "remove_engine": Act.ENGINE_REMOVED,
    "answer_alarm": Act.ALARM_ANSWERED,
    "mail_me": Act.NOTICES,
    "save_reminders": Act.NOTICES,
    "make_webhook": Act.NOTICES,
    "remove_webhook": Act.NOTICES,
    "allow_webhook": Act.HOST_ALLOWED,
    "end_webhook_host": Act.HOST_NO_MORE,
    "remove_watch": Act.WATCH_REMOVED,
    "share": Act.SHARED,
    "stop_sharing": Act.SHARED_NO_MORE,
}
EXPORTS = [
    "judge_log",
    "export_judgments",
    "export_run",
    "export_ratings",
    "export_dataset",
    "export_rounds",
    "export_archive",
]
NOTED |= dict.fromkeys([*EXPORTS, "frozen_bundle", "my_data"], Act.EXPORTED)
NOTED |= dict.fromkeys(["make_pool", "want_more", "want_holes", "ask_raters_of_night"], Act.POOL)
NOTED |= dict.fromkeys(["make_watch", "save_watch", "pause_watch", "run_watch"], Act.WATCH)
OWN = "it concerns nobody but the person"
RATED = "the history of ratings has it, with who and when"
LEASE = "a lease changes no rating and no pool"
FACTOR = "ratings/people/tests/test_second_factor.py has it"
TRIED = "ratings/people/tests/test_tries.py has it"
MAILED = "a link by mail asks for it; a changed password is noted wherever it is set"
UNPUBLISHED = "it changes no record: the worker notes what it publishes"
LOOKED = "it changes nothing"
NOT_NOTED_ALIKE = [
    ("the record changes only by what is fetched, which is noted", "ask_engine place_engine"),
    (OWN, "provider sign_out end_session desk_settings save_appearance read_guidelines"),
    (RATED, "save_rating skip_pair undo_rating"),
    (LEASE, "claim stop_rating release"),
    (
        FACTOR,
        """
        mfa_activate_totp mfa_deactivate_totp mfa_add_webauthn mfa_remove_webauthn
        mfa_generate_recovery_codes
        """,
    ),
    (
        TRIED,
        """
        account_login account_reauthenticate mfa_authenticate mfa_reauthenticate mfa_reauthenticate_webauthn
        sign_in_link sign_in
        """,
    ),
    (MAILED, "forgotten_password new_password"),
    (
        UNPUBLISHED,
        """
        send_archive cancel_archive copy_collection cancel_copy send_files check_import
        start_import cancel_job send_log check_log draw_log draw_more fetch_engine stop_fetch
        """,
    ),
    (LOOKED, "check_scale find_pair api_nothing test_webhook"),
    ("the person ends mail to themselves", "notices_off no_mail"),
    ("pictures are copies of what documents name", "fetch_pictures send_pictures"),
    ("where there is a provider: see ratings/people/tests/test_provider_sign_out.py", "provider_sign_out"),
]
NOT_NOTED = {name: reason for reason, names in NOT_NOTED_ALIKE for name in names.split()}
API_NOTED = {
    ("post", "/collections"): Act.MADE,
    ("post", "/collections/{slug}/queries"): Act.IMPORTED,
    ("post", "/collections/{slug}/documents"): Act.IMPORTED,
    ("post", "/collections/{slug}/rankings"): Act.IMPORTED,
    ("post", "/collections/{slug}/ratings"): Act.IMPORTED,
    ("post", "/collections/{slug}/watches"): Act.WATCH,
    ("patch", "/collections/{slug}/watches/{watch}"): Act.WATCH,
    ("delete", "/collections/{slug}/watches/{watch}"): Act.WATCH_REMOVED,
}
API_NOT_NOTED = {("post", "/collections/{slug}/tasks"): LEASE, ("post", "/collections/{slug}/my-ratings"): RATED}
API_NOT_NOTED[("post", "/collections/{slug}/fetches")] = UNPUBLISHED
API_NOT_NOTED[("post", "/collections/{slug}/gate")] = "it stores nothing"
API_NOT_NOTED[("post", "/collections/{slug}/watches/{watch}/nights")] = (
    "the import of its system was noted, or what the engine brings"
)


@pytest.fixture(scope="module")
def built(standing) -> World:
    world = World()
    world.users["root"] = get_user_model().objects.create_superuser("root", password="a pass phrase")
    world.sessions["root"] = world.sign_in("root")
    world.deletion.collection.memberships.all()
    return world


def before(world: World, name: str) -> None:
    """What an act needs to find."""
    if name == "take_out":
        Collection.objects.filter(pk=world.collection.pk).update(put_away_at=timezone.now())
    if name == "undo_job":
        lines = [Source("queries.tsv", io.BytesIO(b"q9\tnew\n"))]
        world.job = Job.objects.get(pk=intake.import_queries(world.collection, lines).job)
    if name == "allow_engine":
        world.collection.engines.update(address="https://es.example.org/find?q={query}")
    if name == "run_watch":
        type(world.watch).objects.update(engine=world.engine)
    if name == "bring_back":
        world.collection.queries.get(key="q1").pairs.update(retired_at=timezone.now())
    if name == "want_more":
        world.pair.__class__.objects.filter(pk=world.pair.pk).update(wanted=1)
    if name == "ask_aged_again":
        world.pair.ratings.update(changed_at=timezone.now() - timedelta(days=9))
    if name == "take_back_asking":
        asking_again.ask_again(
            Scope(world.collection, "pair", world.pair), by=world.users["admin"], of_others=False
        )
    if name == "remove_second_factor":
        Authenticator.objects.create(user=world.loner, type="totp", data={})
    if name == "remove_anchor":
        anchors.set_anchor(world.pair, use="gold", grade=grade(world.collection, "1"))
    if name == "save_adjudication":
        world.pair.adjudication.delete()


def data(world: World, name: str) -> dict:
    """What is sent, where that of test_access changes nothing."""
    if name == "allow_engine":
        return {"host": "es.example.org"}
    if name == "save_adjudication":
        latest = world.pair.events.order_by("-pk").first().pk
        return {"grade": "3", "reason": "clear", "seen": latest}
    if name == "presentation":
        return {"save": "1", "base": "0", **PRESENTED}
    sent = {
        "password_change": {
            "old_password": "a pass phrase",
            "new_password1": "another long phrase",
            "new_password2": "another long phrase",
        },
        "make_engine": {"name": "site", **ENGINE_ASKED},
        "save_engine": {"name": "shop", **ENGINE_ASKED},
        "make_collection": {"name": "Lakes", "slug": "lakes", "preset": "graded"},
        "join": {"by": "new", "username": "anna", "password": "a long phrase of hers"},
        "edit_guidelines": {"text": "## 3 Perfect\n\nNew.", "base": "1"},
        "save_judging": {"order": "depth", "gold_share": "0", "repeat_share": "0", "break_after": "0"},
        "freeze": {"name": "third", "measure": "AP"},
        "save_scale": {"base": "1", "relevant_from": "2"},
    }
    return sent.get(name) or world.data(name)


ENGINE_ASKED = {"dialect": "json", "address": "https://es.example.org/find?q={query}"}
PRESENTED = {
    "document-TOTAL_FORMS": "1",
    "document-INITIAL_FORMS": "0",
    "document-0-place": "1",
    "document-0-kind": "title",
    "document-0-path": "title",
    "query-TOTAL_FORMS": "0",
    "query-INITIAL_FORMS": "0",
}
SUPERUSERS = {"make_collection", "remove_collection", "allow_picture_host", "end_picture_host", "allow_engine"}
SUPERUSERS |= {"end_engine_host", "allow_webhook", "end_webhook_host"}
SUPERUSERS |= {"save_account", "make_password_link", "remove_second_factor", "delete_account"}


def actor_of(name: str) -> str:
    if name in SUPERUSERS:
        return "root"
    return {
        "join": "anonymous",
        "revoke_token": "analyst",
        "make_token": "analyst",
        "end_other_sessions": "analyst",
    }.get(name, "admin")


def noted(world: World, name: str) -> list[AuditEvent]:
    """The events of one act, done as a browser does it."""
    before(world, name)
    known = AuditEvent.objects.count()
    client = world.client(actor_of(name), REMOTE_ADDR="192.0.2.7")
    if name == "end_other_sessions":
        client.post(reverse("account_reauthenticate"), {"password": "a pass phrase"})
    method = "post" if name in BOTH else TABLE[name][0]
    address = reverse(name, kwargs=world.arguments(name))
    response = getattr(client, method)(address, data(world, name))
    assert response.status_code < 400, response.content.decode()
    return list(AuditEvent.objects.order_by("pk")[known:])


def test_every_act_is_noted_or_has_a_reason():
    acts = {name for name, (method, _) in TABLE.items() if method == "post"} | BOTH
    assert acts <= NOTED.keys() | NOT_NOTED.keys()
    assert NOTED.keys() | NOT_NOTED.keys() <= TABLE.keys()
    assert not NOTED.keys() & NOT_NOTED.keys()
    calls = {call for call in API_TABLE if call[0] != "get"}
    assert calls == API_NOTED.keys() | API_NOT_NOTED.keys()


@pytest.mark.parametrize("name", NOTED)
def test_an_act_is_noted_in_its_transaction(world, name, monkeypatch):
    depths = []
    save = AuditEvent.save
    monkeypatch.setattr(AuditEvent, "save", lambda e: (depths.append(len(connection.savepoint_ids)), save(e)))
    outside = len(connection.savepoint_ids)
    events = noted(world, name)
    (event,) = [event for event in events if event.act == NOTED[name]]
    assert (event.way, event.address) == ("page", "192.0.2.7")
    assert event.name == {"join": "anna"}.get(name, actor_of(name))
    assert NOTED[name] == Act.EXPORTED or min(depths) > outside


def test_an_act_that_is_not_noted_is_found(world, monkeypatch):
    """The twin: without the one call, the test above fails."""
    monkeypatch.setattr(members, "note", lambda *args, **detail: None)
    assert [event.act for event in noted(world, "set_role")] == []


def test_no_event_stays_of_an_act_that_was_taken_back(world, monkeypatch):
    monkeypatch.setattr(Collection, "touch", broken)  # which comes after the event
    client = world.client("admin", raise_request_exception=False)
    known = AuditEvent.objects.count()
    address = reverse("save_terms", kwargs=world.arguments("save_terms"))
    assert client.post(address, {"weight": "2"}).status_code == 500
    assert AuditEvent.objects.count() == known


def broken(*args) -> None:
    raise RuntimeError


# Who, by other ways than pages


def last() -> AuditEvent:
    return AuditEvent.objects.first()


def test_a_token_is_named_with_its_owner(world):
    admin = world.users["admin"]
    _, key = tokens.make(admin, world.collection, name="nightly", scopes=["import"], days=7)
    sent = {"queries": [{"key": "q7", "text": "new"}]}
    headers = {"Authorization": f"Bearer {key}"}
    path = f"{API}/collections/hills/queries"
    known = {"content_type": "application/json", "headers": headers, "REMOTE_ADDR": "192.0.2.9"}
    assert Client().post(path, json.dumps(sent), **known).status_code == 200
    event = last()
    assert (event.act, event.way, event.name, event.token) == ("imported", "token", "admin", "nightly")
    assert (event.address, event.slug, event.detail["kind"]) == ("192.0.2.9", "hills", "queries")


def test_a_command_is_named_with_the_user_of_the_operating_system(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["manage.py", "create_collection", "lakes"])
    call_command("create_collection", "lakes")
    call_command("add_member", "lakes", "zoe", "analyst")
    call_command("export_ratings", "lakes")
    assert last().name and not last().address
    found = [(e.act, e.way, e.slug) for e in reversed(AuditEvent.objects.all()[:3])]
    assert [(act, about) for act, *_, about in found] == [
        ("collection.made", "lakes"),
        ("member.added", "lakes"),
        ("exported", "lakes"),
    ]
    assert {way for _, way, _ in found} == {"command"} and last().token == "create_collection"


def test_a_worker_notes_who_asked_for_the_import(world):
    world.job.state = "running"
    world.job.save()
    with acting_for(world.users["admin"]):
        intake.import_queries(world.collection, [Source("new.tsv", io.BytesIO(b"q8\tnew\n"))])
    assert (last().way, last().name, last().about) == ("worker", "admin", "new.tsv")


def test_the_worker_takes_up_a_job_for_who_asked(world, monkeypatch):
    seen = []
    monkeypatch.setattr(jobs, "_run", lambda job, progress: seen.append(audit.who.now()) or broken())
    job = jobs.check(world.collection, "queries", [], {}, world.users["admin"])
    assert job.take_up()
    jobs.work_on(job)
    assert [(who.way, who.name) for who in seen] == [("worker", "admin")]


# What stays


def test_an_event_is_never_changed_and_never_deleted(world):
    event = last()
    for act in (event.save, event.delete, AuditEvent.objects.all().delete):
        with pytest.raises(TypeError, match="written once"):
            act()
    with pytest.raises(TypeError, match="written once"):
        AuditEvent.objects.update(name="nobody")


def test_a_removed_collection_leaves_its_events():
    collection = make_collection("lakes")
    members.add(collection, make_member(make_collection("sea2"), "vera", Role.ADMIN), "analyst")
    deleting.remove_now(deleting.delete(collection))
    deleting.remove_due()
    assert not Collection.written.filter(pk=collection.pk).exists()
    acts = [event.act for event in AuditEvent.objects.filter(collection=collection.pk)]
    assert acts == ["collection.removed", "collection.deleted", "member.added"]
    assert {event.slug for event in AuditEvent.objects.filter(collection=collection.pk)} == {"lakes"}


def test_an_erased_person_is_in_no_event_and_the_acts_stay():
    collection = make_collection("lakes")
    rater = make_rater(collection, "Zenobia")
    members.change_terms(rater, limit=3, weight=1, queries=[])
    with acting_for(rater.user):
        members.invite(collection, ["Zenobia <z@example.org>"], role="rater", days=1, by=rater.user)
    acts = list(AuditEvent.objects.filter(collection=collection.pk).values_list("act", flat=True))
    pseudonym = erasure.erase(rater)
    events = list(AuditEvent.objects.filter(collection=collection.pk).values())
    assert "zenobia" not in repr(list(AuditEvent.objects.values())).casefold()
    assert [event["act"] for event in events][-len(acts) :] == acts
    assert pseudonym in {event["name"] for event in events} & {event["about"] for event in events}


def test_an_event_goes_to_the_log_after_the_commit(world, caplog, django_capture_on_commit_callbacks):
    with caplog.at_level(logging.INFO, "idealist.audit"):
        with django_capture_on_commit_callbacks() as after:
            members.add(world.collection, world.users["root"], "analyst")
        assert not caplog.records
        for call in after:
            call()
    (record,) = caplog.records
    assert record.event["act"] == "member.added" and record.event["about"] == "root"
    json.dumps(record.event)


# The page


def test_the_page_is_for_superusers_and_filters(world):
    members.add(world.collection, world.users["root"], "analyst")
    root = world.client("root")
    for asked, there in [
        ({}, True),
        ({"act": "member.added"}, True),
        ({"act": "scale"}, False),
        ({"slug": "hills"}, True),
        ({"slug": "sea"}, False),
        ({"who": last().name}, True),
        ({"who": "nobody at all"}, False),
        ({"since": f"{timezone.now():%Y-%m-%d}", "until": f"{timezone.now():%Y-%m-%d}"}, True),
        ({"since": f"{timezone.now() + timedelta(days=2):%Y-%m-%d}"}, False),
        ({"until": "2020-01-01"}, False),
        ({"until": "9999-12-31"}, True),  # no day follows
        ({"since": "0001-01-01"}, True),
    ]:
        page = root.get(reverse("audit"), asked)
        assert page.status_code == 200
        assert ("added the member <bdi>root</bdi>" in page.content.decode()) == there, asked
        table = b"".join(root.get(reverse("audit_csv"), asked).streaming_content).decode()
        assert table.startswith("\ufeff")  # Excel reads its letters then
        assert any(row["about"] == "root" for row in csv.DictReader(io.StringIO(table))) == there, asked
    assert root.get(reverse("audit"), {"since": "yesterday"}).status_code == 400


def test_the_pages_of_events_follow_one_another(world, monkeypatch):
    monkeypatch.setattr("ratings.people.views.audit.EVENTS_PER_PAGE", 1)
    for role in ("rater", "analyst", "admin"):
        members.give_role(world.collection, world.users["analyst"], role)
    root, seen, query = world.client("root"), [], "act=role"
    while query:
        context = root.get(reverse("audit") + "?" + query).context
        seen.append([event.pk for event, _ in context["events"]])
        query = context["older"]
    found = AuditEvent.objects.filter(act="role").values_list("pk", flat=True)
    assert sum(seen, []) == list(found) and [len(page) for page in seen[:-1]] == [1] * (len(seen) - 1)
    assert len(seen) > 1
