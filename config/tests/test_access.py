"""Every address for every kind of visitor. A new address that is not in the table fails here."""

import re
from collections import Counter
from html import unescape
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.urls import Resolver404, URLPattern, get_resolver, resolve, reverse
from django.utils import timezone

from evaluation import frozen, scores
from evaluation.models import FrozenLink
from evaluation.watching.tests.cast import make_night, make_watch
from ratings.admin import site
from ratings.collection import deleting, putting_away
from ratings.desk import queue
from ratings.importing.pictures import store
from ratings.judges import sample, versions
from ratings.models import (
    AllowedHost,
    AuditEvent,
    Baseline,
    Check,
    Engine,
    Guidelines,
    Job,
    JudgeRun,
    LostLease,
    MachineGrade,
    Picture,
    Receiver,
    Role,
    Session,
)
from ratings.people import members, sessions, tokens
from ratings.pool import anchors
from ratings.pool.adjudication import adjudicate
from ratings.tests.cast import (
    grade,
    make_collection,
    make_member,
    make_pair,
    make_rated_pair,
    make_round,
    make_sample,
    make_user,
)
from ratings.tests.thorough import examples
from ratings.web.ways_back import page_above

pytestmark = pytest.mark.django_db

SIGN_IN = 302  # to the sign-in page
ACTORS = ["anonymous", "rater", "analyst", "admin", "stranger"]

# The method, and the expected status for each of ACTORS
READ = ("get", [SIGN_IN, 404, 200, 200, 404])
MEMBERS = ("get", [SIGN_IN, 200, 200, 200, 404])
RATE = ("get", [SIGN_IN, 200, 404, 404, 404])
ACT = ("post", [SIGN_IN, 302, 404, 404, 404])
DECIDE = ("get", [SIGN_IN, 404, 404, 200, 404])
DECISION = ("post", [SIGN_IN, 404, 404, 302, 404])
EVERYBODY = ("get", [200, 200, 200, 200, 200])
OWN = ("get", [SIGN_IN, 200, 200, 200, 200])
SECOND = ("get", [SIGN_IN, 302, 302, 302, 302])  # nobody has a second factor, nor just shown who they are
NOBODY = ("get", [404, 404, 404, 404, 404])
NOBODY_ACTS = ("post", [404, 404, 404, 404, 404])
SUPERUSER = ("get", [SIGN_IN, 404, 404, 404, 404])
SUPERUSER_ACT = ("post", [SIGN_IN, 404, 404, 404, 404])
SHOWN = ("post", [SIGN_IN, 404, 404, 200, 404])
INVALID = ("post", [SIGN_IN, 404, 404, 400, 404])

# What nobody gets here opens with a key that fits, where mail is set, or with a provider: see test_second_factor,
# test_mail and test_provider of ratings. Superusers are none of ACTORS: see test_archives_page,
# test_accounts_page, test_new_collection_page and test_collection_page.
ASKED = "make_engine save_engine ask_engine fetch_engine"
ALIKE = [
    (EVERYBODY, "home help help_page new_password session join shared notices_off catalog"),
    (NOBODY, "no_mail sign_in_link forgotten_password provider_callback api_nothing"),
    (NOBODY_ACTS, "provider provider_sign_out"),
    (("get", [200, SIGN_IN, SIGN_IN, SIGN_IN, SIGN_IN]), "sign_in account_login"),
    (OWN, "mfa_index account_reauthenticate password_change sessions my_data tokens api_docs"),
    (
        SECOND,
        """
        mfa_authenticate mfa_reauthenticate mfa_reauthenticate_webauthn mfa_activate_totp mfa_add_webauthn
        """,
    ),
    (
        ("post", [SIGN_IN] * 5),
        """
        mfa_remove_webauthn mfa_generate_recovery_codes sign_out end_session end_other_sessions
        """,
    ),
    (("post", [SIGN_IN, 302, 302, 302, 302]), "save_appearance"),
    (SUPERUSER, "archives archive_job archive_progress accounts account audit audit_csv new_collection"),
    (
        SUPERUSER_ACT,
        """
        mfa_deactivate_totp save_account make_password_link remove_second_factor delete_account send_archive
        cancel_archive make_collection remove_collection copy_collection allow_picture_host end_picture_host
        allow_engine end_engine_host allow_webhook end_webhook_host
        """,
    ),
    (MEMBERS, "guidelines guidelines_versions guidelines_version picture"),
    (RATE, "rate rate_pair my_ratings desk_settings"),
    (ACT, "claim save_rating skip_pair undo_rating stop_rating read_guidelines"),
    (
        READ,
        """
        document holes exports export_judgments export_run export_ratings export_dataset export_rounds overview
        overview_csv
        overview_xlsx overview_json queries queries_csv queries_xlsx queries_json query query_documents
        query_csv query_xlsx query_json system system_csv system_xlsx system_json agreement agreement_csv
        agreement_xlsx agreement_json drift alone_csv alone_xlsx alone_json machine machine_csv machine_xlsx
        machine_json drift_csv drift_xlsx drift_json
        compare compare_csv compare_xlsx compare_json expected expected_csv expected_xlsx expected_json
        expected_rounds_csv expected_rounds_xlsx differences differences_csv differences_xlsx segments_csv
        segments_xlsx differences_json frozen freeze frozen_evaluation frozen_csv frozen_xlsx
        frozen_queries_csv frozen_queries_xlsx frozen_json frozen_bundle compare_frozen compare_frozen_csv
        compare_frozen_xlsx sampled_csv notices watches watch watch_csv watch_xlsx watch_json night night_query
        """,
    ),
    (
        DECIDE,
        """
        adjudicate adjudicated adjudicate_pair pair_life collection deletion copy_job copy_progress
        edit_guidelines presentation pictures set_up sample scale people member
        leaving_out progress rater pool ask_again decisive judges judge judge_run judge_log
        anchors anchor default_options
        imports import_job job_progress export_archive sampling log_job sampled
        engines connect_engine engine change_engine fetch new_watch change_watch aged
        """,
    ),
    (
        DECISION,
        """
        save_adjudication withdraw_adjudication describe_collection put_away take_out delete_collection
        restore_collection cancel_copy fetch_pictures save_scale
        revoke_token_of_member set_role end_sessions remove_member save_terms deactivate_rater
        reactivate_rater leave_out count_again erase_rater release make_pool want_more want_fewer
        ask_raters_again take_back_asking save_default_options act_on_many withdraw_many
        save_judging retire bring_back choose_decisive want_holes make_judge make_judge_version draw_judge_sample
        take_judge_sample drop_judge_sample use_judge change_judge_run find_pair save_anchor remove_anchor
        delete_system make_baseline check_import start_import cancel_job undo_job check_log
        decide_sampled draw_more place_engine replace_texts remove_engine stop_fetch make_watch save_watch
        pause_watch ask_aged_again run_watch remove_watch answer_alarm ask_raters_of_night save_reminders
        remove_webhook test_webhook
        """,
    ),
    (SHOWN, "check_scale invite invite_again new_password_link make_webhook"),
    (INVALID, "send_pictures start_judge_run start_probes send_files send_log draw_log " + ASKED),
]
TABLE = {name: expected for expected, names in ALIKE for name in names.split()} | {
    "make_token": ("post", [SIGN_IN, 400, 200, 200, 400]),
    "share": ("post", [SIGN_IN, 404, 302, 302, 404]),
    "mail_me": ("post", [SIGN_IN, 404, 302, 302, 404]),
    "stop_sharing": ("post", [SIGN_IN, 404, 302, 302, 404]),
    "revoke_token": ("post", [SIGN_IN, 404, SIGN_IN, 404, 404]),
    "api_description": ("get", [401, 200, 200, 200, 200]),
}

RATER = ["save_terms", "deactivate_rater", "reactivate_rater", "erase_rater", "rater"]
RATER += ["leaving_out", "leave_out", "count_again"]
JOB = ["import_job", "job_progress", "check_import", "start_import", "cancel_job", "undo_job"]
ACCOUNT = ["account", "save_account", "make_password_link", "remove_second_factor", "delete_account"]
ENGINE = ["engine", "change_engine", "save_engine", "allow_engine", "ask_engine", "place_engine"]
ENGINE += ["replace_texts", "remove_engine", "fetch_engine"]
WATCH = ["watch", "watch_csv", "watch_xlsx", "watch_json", "change_watch", "save_watch", "pause_watch"]
WATCH += ["run_watch", "remove_watch"]
NIGHT = ["night", "night_query", "answer_alarm", "ask_raters_of_night"]
COPY = ["copy_job", "copy_progress", "cancel_copy"]
JUDGE = ["judge", "make_judge_version", "draw_judge_sample", "take_judge_sample", "drop_judge_sample"]
JUDGE += ["start_judge_run", "use_judge", "start_probes", "machine", "machine_csv", "machine_xlsx", "machine_json"]
JUDGE_RUN = ["judge_run", "change_judge_run", "judge_log"]
ARCHIVE = ["archive_job", "archive_progress", "cancel_archive"]


WATCHED = {"name": "Nightly", "zone": "UTC", "days": ["0"], "depth": "10", "measure": "nDCG@10", "margin": "0.02"}
WATCHED |= {"budget": "0.05", "keep_days": "400"}


class World:
    """One collection with a rating, and one visitor of each kind; the stranger is admin of another collection."""

    def __init__(self) -> None:
        self.pair, self.rater = make_rated_pair()
        self.collection = self.rater.collection
        self.users = {
            "rater": self.rater.user,
            "analyst": make_member(self.collection, "analyst", Role.ANALYST),
            "admin": make_member(self.collection, "admin", Role.ADMIN),
            "stranger": make_member(make_collection("sea"), "stranger", Role.ADMIN),
        }
        self.loner = make_user("loner")  # no collection needs this account
        self.adjudication = adjudicate(
            self.pair, grade(self.collection, "3"), reason="clear", actor=self.users["admin"]
        )
        Guidelines.objects.create(collection=self.collection, version=1, text="## 3 Perfect")
        invited = members.invite(self.collection, ["anna"], role=Role.RATER, days=7, by=self.users["admin"])
        self.invitation, self.key = invited[0]
        facts = {"name": "build", "scopes": ["read"], "days": 7}
        self.api_token, _ = tokens.make(self.users["analyst"], self.collection, **facts)
        known = make_pair(self.collection, "q2", "a")
        anchors.set_anchor(known, use="gold", grade=grade(self.collection, "1"))
        at = {"rater": self.rater, "pair": known}
        LostLease.objects.create(**at)
        Check.objects.create(**at, kind="repeat", created_at=timezone.now())
        make_round(self.collection, [self.pair, known], greedy=1)
        self.sample = make_sample(self.collection, [("q1", 9, 1), ("", 2, 0.5)])
        asked = scores.Asked.of(self.collection)
        self.frozen, _ = frozen.freeze(self.collection, "first", asked, ["AP"])
        self.shared, _ = frozen.freeze(self.collection, "second", asked)
        self.link = FrozenLink.objects.create(frozen=self.shared, created_at=timezone.now())
        self.job = Job.objects.create(collection=self.collection, kind="queries", files=[{"name": "queries.tsv"}])
        self.log = Job.objects.create(collection=self.collection, kind="log", files=[{"name": "searches.csv"}])
        self.engine = Engine.objects.create(
            collection=self.collection, name="shop", dialect="json", address="http://127.0.0.1:9/?q={query}"
        )
        options = {"engine": self.engine.pk, "system": "live", "of": "shop"}
        self.fetch = Job.objects.create(collection=self.collection, kind="engine", options=options)
        digest = store.keep(b"a picture")
        facts = {"state": "ready", "small": digest, "large": digest}
        self.picture = Picture.objects.create(collection=self.collection, digest="0" * 64, **facts)
        self.archive = Job.objects.create(kind="archive", files=[{"name": "shop.zip"}])
        options = {"source": self.collection.pk, "of": "Hills", "slug": "copy", "name": "Copy"}
        self.copy = Job.objects.create(kind="copy", options=options, by=self.users["admin"])
        self.judge = versions.make_judge(self.collection, "llama", self.users["admin"])
        self.version, _ = versions.make_version(
            self.judge, versions.VersionSettings("llama3", "http://127.0.0.1:9/v1")
        )
        facts = {"version": self.version, "choice": "rated", "most_calls": 9}
        self.judge_run = JudgeRun.objects.create(**facts, state="queued", pairs=1)
        asked = {"run": self.judge_run, "version": self.version}
        MachineGrade.objects.create(**asked, query=self.pair.query, document=self.pair.document, repeat=2)
        sample.take_rated(self.judge)
        other = self.collection.documents.get(key="b")
        asked |= {"query": self.pair.query, "document": other, "state": "graded", "value": 1}
        MachineGrade.objects.create(**asked)
        gone = make_collection("gone")
        make_member(gone, "admin", Role.ADMIN)
        self.deletion = deleting.delete(gone, self.users["admin"])
        self.query = self.collection.queries.get(key="q1")
        self.system = self.collection.systems.get(name="bm25")
        facts = {"kind": "fixed", "system": self.system, "name": "bm25", "reason": "first"}
        Baseline.objects.create(collection=self.collection, **facts)
        self.watch = make_watch(self.collection)
        self.night = make_night(self.watch)
        self.engine_host = AllowedHost.objects.create(host="es.example.net", purpose="engines")
        facts = {"address": "https://hooks.example.org/x", "created_at": timezone.now()}
        self.webhook = Receiver.objects.create(collection=self.collection, **facts)
        self.webhook_host = AllowedHost.objects.create(host="hooks.example.net", purpose="webhooks")
        self.allowed_host = AllowedHost.objects.create(host="images.example.org", purpose="pictures")
        self.analyst = self.collection.memberships.get(user=self.users["analyst"])
        self.sessions = {actor: self.sign_in(actor) for actor in self.users}
        self.elsewhere = self.sign_in("analyst")

    def sign_in(self, actor: str) -> str:
        """The key of a new session."""
        client = Client()
        client.force_login(self.users[actor])
        return client.session.session_key

    def client(self, actor: str, **options) -> Client:
        client = Client(**options)
        if actor in self.sessions:
            client.cookies[settings.SESSION_COOKIE_NAME] = self.sessions[actor]
        return client

    def owners(self) -> list[tuple[Model, list[str]]]:
        """The row that an address means by its number."""
        return [
            (self.api_token, ["revoke_token", "revoke_token_of_member"]),
            (self.query, ["query", "query_documents", "query_csv", "query_xlsx", "query_json"]),
            (self.system, ["delete_system", "make_baseline"]),
            (self.system, ["system", "system_csv", "system_xlsx", "system_json"]),
            (self.pair.document, ["document"]),
            (self.analyst, ["member", "set_role", "end_sessions", "remove_member", "new_password_link"]),
            (self.rater, RATER),
            (self.job, JOB),
            (self.log, ["log_job", "check_log", "draw_log", "draw_more"]),
            (self.sample, ["sampled", "sampled_csv", "decide_sampled"]),
            (self.engine, ENGINE),
            (self.fetch, ["fetch", "stop_fetch"]),
            (self.watch, WATCH),
            (self.night, NIGHT),
            (self.allowed_host, ["end_picture_host"]),
            (self.webhook, ["remove_webhook", "test_webhook", "allow_webhook"]),
            (self.webhook_host, ["end_webhook_host"]),
            (self.engine_host, ["end_engine_host"]),
            (self.judge, JUDGE),
            (self.judge_run, JUDGE_RUN),
            (self.archive, ARCHIVE),
            (self.copy, COPY),
            (self.loner, ACCOUNT),
            (self.deletion, ["restore_collection", "remove_collection"]),
        ]

    def arguments(self, name: str) -> dict:
        known = {
            "slug": self.collection.slug,
            "role": "analyst",
            "token": self.picture.token if name == "picture" else self.pair.token,
            "size": "small",
            "key": self.link.key if name == "shared" else self.key,
            "sha": (self.shared if name == "stop_sharing" else self.frozen).short,
            "uidb64": "MQ",
            "version": 1,
            "watch": self.watch.pk,
            "query": self.query.pk,
            "format": "csv",
            "code": "de",
            "signed": "none",
            "rest": "v2/collections",
            "name": "queries.csv" if name == "sample" else "glossary",
            "pk": next((row.pk for row, names in self.owners() if name in names), 1),
        }
        return {key: known[key] for key in converters()[name]}

    def data(self, name: str) -> dict:
        return {
            "export_run": {"system": self.system.pk},
            "allow_picture_host": {"host": "cdn.example.org"},
            "save_rating": {"grade": "1", "base_revision": "1"},
            "save_adjudication": {"grade": "3", "reason": "clear", "seen": "1"},
            "read_guidelines": {"version": "1"},
            "check_import": {"kind": "queries"},
            "draw_more": {"size": "9"},
            "decide_sampled": {"place": "1", "reason": "no_search"},
            "end_session": {"session": sessions.name_of(self.elsewhere)},
            "make_judge": {"name": "other"},
            "make_webhook": {"address": "https://hooks.example.com/a", "kinds": ["watch.worse"]},
            "ask_aged_again": {"pair": [self.pair.token], "days": "5"},
            "mail_me": {"kinds": ["watch.worse"]},
            "make_watch": WATCHED | {"name": "Weekly"},
            "save_watch": WATCHED,
            "answer_alarm": {"baseline": "fixed", "answer": "fault", "reason": "a wrong synonym"},
            "ask_raters_of_night": {"wanted": "1"},
            "draw_judge_sample": {"size": 2, "seed": 1},
            "make_judge_version": {
                "model": "llama4",
                "endpoint": "http://127.0.0.1:9/v1",
                "template": "scale",
                "sees": ["title", "body"],
                "sampling": "{}",
                "seed": "1",
                "price_in": "0",
                "price_out": "0",
            },
            "start_judge_run": {
                "version": self.version.pk,
                "choice": "rated",
                "size": "1",
                "seed": "1",
                "depth": "1",
                "concurrency": "1",
                "per_minute": "0",
                "most_calls": "1",
            },
            "start_probes": {"version": self.version.pk, "queries": 1, "seed": 1, "most_calls": 4},
            "use_judge": {"use": "expected", "version": self.version.pk},
            "change_judge_run": {"act": "pause"},
            "make_token": {"name": "build", "collection": "hills", "scopes": "read", "days": "7"},
            "invite": {"names": "boris", "role": "rater", "days": "7"},
            "set_role": {"role": "admin"},
            "save_terms": {"weight": "2"},
            "erase_rater": {"name": "rater"},
            "act_on_many": {"act": "deactivate", "rater": [self.rater.pk], "sure": "1"},
            "withdraw_many": {"invitation": [self.invitation.pk], "sure": "1"},
            "invite_again": {"invitation": [self.invitation.pk]},
            "make_pool": {"depth": "1", "wanted": "1", "systems": self.system.pk},
            "want_more": {"more": "1"},
            "want_fewer": {"fewer": "1"},
            "ask_again": {"pair": self.pair.token},
            "ask_raters_again": {"pair": self.pair.token},
            "take_back_asking": {"pair": self.pair.token},
            "save_judging": {"order": "query", "gold_share": "0", "repeat_share": "0", "break_after": "0"},
            "retire": {"lines": "q1"},
            "bring_back": {"lines": "q1"},
            "want_holes": {"system": self.system.pk, "depth": "2", "wanted": "1"},
            "find_pair": {"query": "q1", "document": "d"},
            "save_anchor": {"use": "gold", "grade": "3"},
            "check_scale": {"base": "1", "relevant_from": "1"},
            "save_scale": {"base": "1", "relevant_from": "2"},
            "describe_collection": {"name": "Hills"},
            "save_account": {"is_active": "on", "may_make": "on"},
            "delete_collection": {"name": "Hills"},
            "make_baseline": {"kind": "release", "reason": "it runs"},
            "withdraw_adjudication": {"reason": "not so clear", "seen": self.adjudication.pk},
        }.get(name, {})


@pytest.fixture(scope="module")
def built(standing) -> World:
    return World()


def patterns() -> list[URLPattern]:
    """Every address of the project outside Django's admin and the API, which have tests of their own."""
    found = []

    def walk(entries) -> None:
        for entry in entries:
            if isinstance(entry, URLPattern):
                found.append(entry)
            elif getattr(entry, "app_name", None) not in {"admin", "ninja"}:
                walk(entry.url_patterns)

    walk(get_resolver().url_patterns)
    return found


def converters() -> dict[str, list[str]]:
    return {p.name: list(p.pattern.converters) for p in patterns()}


def test_every_address_is_in_the_table():
    assert sorted(converters()) == sorted(TABLE)


def test_every_view_of_a_collection_says_who_may_see_it():
    views = {p.name: p.callback for p in patterns() if "slug" in p.pattern.converters}
    assert len(views) > 90
    assert [name for name, view in views.items() if not hasattr(view, "access")] == []


@pytest.mark.parametrize("name", TABLE)
def test_who_gets_what(world, name):
    """What one of them does is taken back before the next one tries."""
    method, expected = TABLE[name]
    address, data = reverse(name, kwargs=world.arguments(name)), world.data(name)
    answers = {}
    for actor in ACTORS:
        with transaction.atomic():
            answers[actor] = getattr(world.client(actor), method)(address, data)
            transaction.set_rollback(True)
        cache.clear()
    if answers["anonymous"].status_code == 403:  # with what was written, to be copied
        assert (method, expected[0]) == ("post", SIGN_IN)
        assert f'href="{reverse("sign_in")}?next=/' in answers["anonymous"].content.decode()
        expected = [403, *expected[1:]]
    assert [answers[actor].status_code for actor in ACTORS] == expected
    if expected[0] == SIGN_IN and name not in {"sign_in", "sign_out"}:
        assert answers["anonymous"].url.startswith(reverse("sign_in"))
    is_file = any("Content-Disposition" in answer for answer in answers.values())
    assert hasattr(resolve(address).func, "made_in_turn") or not is_file or name in {"picture", "sample"}


def test_the_address_of_an_act_begins_with_that_of_its_page(world):
    """Who was signed out, or opened it by a link, is led there."""
    above = {
        name: resolve(page_above(reverse(name, kwargs=world.arguments(name)))).url_name
        for name, (method, _) in TABLE.items()
        if method == "post" and name not in SIGNED
    }
    assert {name: page for name, page in above.items() if page not in BOTH and TABLE[page][0] != "get"} == {}


BOTH = {
    "sign_in",
    "password_change",
    "join",
    "edit_guidelines",
    "presentation",
    "freeze",
    "desk_settings",
    "api_nothing",
    "sign_in_link",
    "forgotten_password",
    "new_password",
    "account_login",
    "account_reauthenticate",
    "mfa_authenticate",
    "mfa_reauthenticate",
    "mfa_reauthenticate_webauthn",
    "mfa_activate_totp",
    "mfa_add_webauthn",
    "notices_off",
    "no_mail",
}


@pytest.mark.slow
def test_the_other_method_is_refused(world):
    """What acts is never a GET; what reads takes no POST, but for a form on its own address."""
    statuses = {}
    for name in TABLE.keys() - BOTH:
        method, expected = TABLE[name]
        actor = next((a for a, status in zip(ACTORS[1:], expected[1:], strict=True) if status == 200), "rater")
        other = world.client(actor).post if method == "get" else world.client(actor).get
        address = reverse(name, kwargs=world.arguments(name))
        answer = other(address)
        statuses[name] = answer.status_code
        if method == "post":  # opened as a page, as by the address bar
            assert "POST" in answer["Allow"], name
            assert f'href="{page_above(address)}">To the page' in answer.content.decode(), name
            assert not other(address, headers={"accept": "application/json"}).content, name
    assert len(statuses) > 110
    assert {name: status for name, status in statuses.items() if status != 405} == {}


@pytest.mark.slow
def test_what_is_put_away_offers_no_form_that_it_would_refuse(world):
    """Neither the act nor the preview that leads to it. Each page says how to bring the collection back."""
    hills = world.collection
    file = {"name": "q.csv", "stored": "x", "size": 1}
    Job.objects.filter(pk=world.job.pk).update(state="checked", files=[file])
    facts = {"collection": hills, "files": [file], "ended_at": timezone.now()}
    done = Job.objects.create(kind="queries", state="published", report={"counts": {"new": 1}}, **facts)
    asked = Job.objects.create(state="checked", **facts)
    queue.retire([make_pair(hills, "q2", "c").pk])
    make_pair(hills, "q2", "d", wanted=3)  # nobody else may rate it
    putting_away.put_away(hills)
    JudgeRun.objects.update(state="paused")
    client, offered, silent = world.client("admin"), set(), set()
    pages = [
        reverse(name, kwargs=world.arguments(name))
        for name, (method, expected) in TABLE.items()
        if method == "get" and expected[3] == 200 and "slug" in converters()[name]
    ]
    pages += [reverse("import_job", args=["hills", job.pk]) for job in (done, asked)]
    pages += [reverse("pool", args=["hills"]) + f"?{what}" for what in ("fewer=1", "more=4")]
    pages += [reverse("pool", args=["hills"]) + f"?depth=3&wanted=4&systems={world.system.pk}"]
    pages += [reverse("judge", args=["hills", world.judge.pk]) + f"?choice=rated&version={world.version.pk}"]
    for address in pages:
        response = client.get(address, follow=True)
        if not response["Content-Type"].startswith("text/html"):
            continue
        page = response.content.decode()
        for action in re.findall(r'(?:form)?action="([^"#?]*)', page):
            if action.startswith("/") and getattr(resolve(action).func, "of_record", False):
                offered.add((address, resolve(action).url_name))
        if "Show what it would" in page or 'value="resume"' in page:
            offered.add((address, "a preview"))
        if 'class="away"' not in page:
            silent.add(address)
    assert (sorted(offered), sorted(silent)) == ([], [])


SIGNED = {"provider_sign_out"}  # what the provider itself sends, with a signature in place of a token of a form


def test_an_act_without_a_csrf_token_is_refused(world):
    client = world.client("rater", enforce_csrf_checks=True)
    acts = [name for name, (method, _) in TABLE.items() if method == "post" and name not in SIGNED]
    assert len(acts) > 40
    statuses = {n: client.post(reverse(n, kwargs=world.arguments(n))).status_code for n in acts}
    assert {name: status for name, status in statuses.items() if status != 403} == {}


@pytest.mark.slow
def test_no_answer_is_stored(world):
    """Pages, CSV, JSON, files and refusals, for whoever asks; a sign-out leaves none of it in the browser."""
    for name, (method, expected) in TABLE.items():
        if method == "get":
            actor = dict(zip(expected, ACTORS, strict=True)).get(200, "admin")
            response = world.client(actor).get(reverse(name, kwargs=world.arguments(name)), world.data(name))
            assert "no-store" in response["Cache-Control"], name
    for address in ("/", "/accounts/sign-in/", "/api/v1/token", "/nowhere/", "/admin/"):
        assert "no-store" in Client().get(address)["Cache-Control"], address


ELSEWHERE = ["signup", "login", "email", "password/reset", "password/set", "3rdparty", "social/connections", "2fa"]
ELSEWHERE += ["inactive", "confirm-email", "login/code/confirm", "reauthenticate", "oidc/oidc/login", "logout"]


def test_no_page_of_allauth_itself_can_be_reached(world):
    found = {
        f"/accounts/{path}/": world.client(actor).get(f"/accounts/{path}/").status_code
        for path in ELSEWHERE
        for actor in ("anonymous", "admin")
    }
    assert {address for address, status in found.items() if status != 404} == set()
    assert not [model for model in site._registry if model.__module__.startswith("allauth")]


def test_a_rater_cannot_open_a_pair_that_was_never_given_to_them(world):
    other = make_pair(world.collection, "q2", "b")
    address = reverse("rate_pair", args=[world.collection.slug, other.token])
    assert world.client("rater").get(address).status_code == 404


def test_a_deactivated_account_is_nobody(world):
    client = world.client("analyst")
    world.users["analyst"].is_active = False
    world.users["analyst"].save()
    assert client.get(reverse("overview", args=["hills"])).status_code == SIGN_IN


WAYS = examples(2)  # options of one page, or objects, that a crawl takes


@pytest.mark.parametrize("actor", ACTORS)
@pytest.mark.slow
@pytest.mark.both_databases
def test_a_crawl_with_get_changes_no_row(world, actor):
    client = world.client(actor)
    before, seen, ways = rows(), set(), Counter()
    todo = [reverse("home")]
    while todo:
        address = todo.pop()
        page = page_of(address)
        if address in seen or ways[page] == WAYS:
            continue
        seen.add(address)
        ways[page] += 1
        response = client.get(address)
        assert response.status_code < 500, address
        if response.status_code in {301, 302}:
            todo.append(response.url)
        elif "html" in response.get("Content-Type", ""):
            links = re.findall(r'(?:href|action)="([^"#]+)', response.content.decode())
            todo += [unescape(link) for link in links if link.startswith("/") and "/static/" not in link]
    assert len(ways) > 1
    assert rows() == before


def page_of(address: str) -> str:
    try:
        return resolve(urlsplit(address).path).view_name
    except Resolver404:
        return address


def rows() -> dict:
    """Every row of every table, but for the visitor's own session, and that something was exported."""
    return {
        model._meta.label: repr(list(model.objects.order_by("pk").values()))
        for model in apps.get_models()
        if model not in (Session, AuditEvent)
    }


def test_the_headers_of_every_page_are_strict(world):
    for actor, name in [("anonymous", "home"), ("rater", "rate"), ("analyst", "overview"), ("analyst", "query")]:
        response = world.client(actor).get(reverse(name, kwargs=world.arguments(name)))
        policy = dict(
            part.strip().split(" ", 1) for part in response["Content-Security-Policy"].split(";") if part.strip()
        )
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == "'self'"
        assert "unsafe" not in response["Content-Security-Policy"]
        assert response["X-Frame-Options"] == "DENY"
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Referrer-Policy"] == "same-origin"
        assert response["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "camera=()" in response["Permissions-Policy"]
        html = response.content.decode()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*(src=|application/json))", html)
