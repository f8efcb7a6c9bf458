"""Every address for every kind of visitor. A new address that is not in the table fails here."""

import re
from collections import Counter
from copy import deepcopy
from html import unescape
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import Resolver404, URLPattern, get_resolver, resolve, reverse
from django.utils import timezone

from evaluation import frozen, scores
from ratings import queue
from ratings.admin import site
from ratings.judges import sample, versions
from ratings.models import (
    AuditEvent,
    Check,
    Guidelines,
    Job,
    JudgeRun,
    LostLease,
    MachineGrade,
    Picture,
    Role,
    Session,
)
from ratings.people import members, sessions, tokens
from ratings.people.ways_back import page_above
from ratings.pictures import store
from ratings.pool import anchors
from ratings.pool.adjudication import adjudicate
from ratings.set_up import deleting, putting_away
from ratings.tests.cast import (
    grade,
    make_collection,
    make_member,
    make_pair,
    make_rated_pair,
    make_round,
    make_user,
)
from ratings.tests.thorough import examples

pytestmark = pytest.mark.django_db

SIGN_IN = 302  # to the sign-in page
ACTORS = ["anonymous", "rater", "analyst", "admin", "stranger"]

# name: (method, expected status for each of ACTORS)
READ = ("get", [SIGN_IN, 404, 200, 200, 404])
MEMBERS = ("get", [SIGN_IN, 200, 200, 200, 404])
RATE = ("get", [SIGN_IN, 200, 404, 404, 404])
ACT = ("post", [SIGN_IN, 302, 404, 404, 404])
DECIDE = ("get", [SIGN_IN, 404, 404, 200, 404])
DECISION = ("post", [SIGN_IN, 404, 404, 302, 404])
TABLE = {
    "home": ("get", [200, 200, 200, 200, 200]),
    "help": ("get", [200, 200, 200, 200, 200]),
    "help_page": ("get", [200, 200, 200, 200, 200]),
    "sign_in": ("get", [200, 302, 302, 302, 302]),
    # With a key that fits it opens to everybody: see ratings/tests/test_second_factor.py.
    "sign_in_link": ("get", [404, 404, 404, 404, 404]),
    # Where mail is set they open: see ratings/tests/test_mail.py.
    "forgotten_password": ("get", [404, 404, 404, 404, 404]),
    "new_password": ("get", [200, 200, 200, 200, 200]),  # the page that says the link is void
    # For tests with a provider see ratings/tests/test_provider.py.
    "provider": ("post", [404, 404, 404, 404, 404]),
    "provider_callback": ("get", [404, 404, 404, 404, 404]),
    "provider_sign_out": ("post", [404, 404, 404, 404, 404]),
    "account_login": ("get", [200, 302, 302, 302, 302]),
    "mfa_index": ("get", [SIGN_IN, 200, 200, 200, 200]),
    "mfa_authenticate": ("get", [SIGN_IN, 302, 302, 302, 302]),
    "account_reauthenticate": ("get", [SIGN_IN, 200, 200, 200, 200]),
    # Nobody has a second factor, and nobody has just shown who they are.
    "mfa_reauthenticate": ("get", [SIGN_IN, 302, 302, 302, 302]),
    "mfa_reauthenticate_webauthn": ("get", [SIGN_IN, 302, 302, 302, 302]),
    "mfa_activate_totp": ("get", [SIGN_IN, 302, 302, 302, 302]),
    "mfa_deactivate_totp": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "mfa_add_webauthn": ("get", [SIGN_IN, 302, 302, 302, 302]),
    "mfa_remove_webauthn": ("post", [SIGN_IN, 302, 302, 302, 302]),
    "mfa_generate_recovery_codes": ("post", [SIGN_IN, 302, 302, 302, 302]),
    "session": ("get", [200, 200, 200, 200, 200]),
    "sign_out": ("post", [302, 302, 302, 302, 302]),
    "password_change": ("get", [SIGN_IN, 200, 200, 200, 200]),
    "sessions": ("get", [SIGN_IN, 200, 200, 200, 200]),
    "end_session": ("post", [SIGN_IN, 302, 302, 302, 302]),  # to the question who it is
    "end_other_sessions": ("post", [SIGN_IN, 302, 302, 302, 302]),
    "rate": RATE,
    "rate_pair": RATE,
    "my_ratings": RATE,
    "desk_settings": RATE,
    "claim": ACT,
    "save_rating": ACT,
    "skip_pair": ACT,
    "undo_rating": ACT,
    "stop_rating": ACT,
    "adjudicate": DECIDE,
    "adjudicated": DECIDE,
    "adjudicate_pair": DECIDE,
    "pair_life": DECIDE,
    "save_adjudication": DECISION,
    "withdraw_adjudication": DECISION,
    "my_data": ("get", [SIGN_IN, 200, 200, 200, 200]),
    "tokens": ("get", [SIGN_IN, 200, 200, 200, 200]),
    "make_token": ("post", [SIGN_IN, 400, 200, 200, 400]),
    "revoke_token": ("post", [SIGN_IN, 404, 302, 404, 404]),
    "api_docs": ("get", [SIGN_IN, 200, 200, 200, 200]),
    "api_description": ("get", [401, 200, 200, 200, 200]),
    "api_nothing": ("get", [404, 404, 404, 404, 404]),
    # For superusers, who are none of these: see ratings/tests/test_archives_page.py.
    "archives": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "archive_job": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "archive_progress": ("get", [SIGN_IN, 404, 404, 404, 404]),
    # For superusers, too: see ratings/tests/test_accounts_page.py.
    "accounts": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "account": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "save_account": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "make_password_link": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "remove_second_factor": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "delete_account": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "audit": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "audit_csv": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "send_archive": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "start_archive": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "cancel_archive": ("post", [SIGN_IN, 404, 404, 404, 404]),
    # For superusers and whom they let, who are none of these: see ratings/tests/test_new_collection_page.py.
    "new_collection": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "make_collection": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "collection": DECIDE,
    "describe_collection": DECISION,
    "put_away": DECISION,
    "take_out": DECISION,
    "deletion": DECIDE,
    "delete_collection": DECISION,
    "restore_collection": DECISION,
    # For superusers, and for admins who may make collections: see ratings/tests/test_collection_page.py.
    "remove_collection": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "copy_collection": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "copy_job": DECIDE,
    "copy_progress": DECIDE,
    "cancel_copy": DECISION,
    "join": ("get", [200, 200, 200, 200, 200]),
    "guidelines": MEMBERS,
    "guidelines_versions": MEMBERS,
    "guidelines_version": MEMBERS,
    "edit_guidelines": DECIDE,
    "read_guidelines": ACT,
    "presentation": DECIDE,
    "picture": ("get", [SIGN_IN, 200, 200, 200, 404]),
    "pictures": DECIDE,
    "pictures_progress": DECIDE,
    "fetch_pictures": DECISION,
    "cancel_pictures": DECISION,
    "send_pictures": ("post", [SIGN_IN, 404, 404, 400, 404]),
    "set_up": DECIDE,
    "sample": DECIDE,
    "scale": DECIDE,
    "check_scale": ("post", [SIGN_IN, 404, 404, 200, 404]),
    "save_scale": DECISION,
    "people": DECIDE,
    "invite": ("post", [SIGN_IN, 404, 404, 200, 404]),
    "withdraw_invitation": DECISION,
    "revoke_token_of_member": DECISION,
    "member": DECIDE,
    "set_role": DECISION,
    "end_sessions": DECISION,
    "remove_member": DECISION,
    "rater_settings": DECIDE,
    "save_terms": DECISION,
    "deactivate_rater": DECISION,
    "reactivate_rater": DECISION,
    "erase_rater": DECISION,
    "progress": DECIDE,
    "release": DECISION,
    "give": DECISION,
    "rater": DECIDE,
    "pool": DECIDE,
    "make_pool": DECISION,
    "want_more": DECISION,
    "want_fewer": DECISION,
    "save_judging": DECISION,
    "retire": DECISION,
    "bring_back": DECISION,
    "decisive": DECIDE,
    "choose_decisive": DECISION,
    "holes": DECIDE,
    "want_holes": DECISION,
    "judges": DECIDE,
    "make_judge": DECISION,
    "judge": DECIDE,
    "make_judge_version": DECISION,
    "draw_judge_sample": DECISION,
    "take_judge_sample": DECISION,
    "drop_judge_sample": DECISION,
    "use_judge": DECISION,
    # No host is listed that it could ask: see ratings/tests/test_judges_page.py.
    "start_judge_run": ("post", [SIGN_IN, 404, 404, 400, 404]),
    "start_probes": ("post", [SIGN_IN, 404, 404, 400, 404]),
    "judge_run": DECIDE,
    "change_judge_run": DECISION,
    "judge_log": DECIDE,
    "anchors": DECIDE,
    "find_pair": DECISION,
    "anchor": DECIDE,
    "save_anchor": DECISION,
    "remove_anchor": DECISION,
    "delete_system": DECISION,
    "imports": DECIDE,
    "send_files": ("post", [SIGN_IN, 404, 404, 400, 404]),
    "import_job": DECIDE,
    "import_progress": DECIDE,
    "refused": ("get", [SIGN_IN, 404, 404, 404, 404]),  # no line of it was refused
    "check_import": DECISION,
    "start_import": DECISION,
    "cancel_import": DECISION,
    "undo_import": DECISION,
    "document": READ,
    "exports": READ,
    "export_judgments": READ,
    "export_run": READ,
    "export_ratings": READ,
    "export_rounds": READ,
    "export_archive": DECIDE,
    "overview": READ,
    "overview_csv": READ,
    "overview_xlsx": READ,
    "overview_json": READ,
    "queries": READ,
    "queries_csv": READ,
    "queries_xlsx": READ,
    "queries_json": READ,
    "query": READ,
    "query_documents": READ,
    "query_csv": READ,
    "query_xlsx": READ,
    "query_json": READ,
    "system": READ,
    "system_csv": READ,
    "system_xlsx": READ,
    "system_json": READ,
    "agreement": READ,
    "agreement_csv": READ,
    "agreement_xlsx": READ,
    "agreement_json": READ,
    "drift": READ,
    "alone_csv": READ,
    "alone_xlsx": READ,
    "alone_json": READ,
    "machine": READ,
    "machine_csv": READ,
    "machine_xlsx": READ,
    "machine_means_csv": READ,
    "machine_means_xlsx": READ,
    "machine_json": READ,
    "machine_means_json": READ,
    "drift_csv": READ,
    "drift_xlsx": READ,
    "drift_json": READ,
    "compare": READ,
    "compare_csv": READ,
    "compare_xlsx": READ,
    "compare_json": READ,
    "expected": READ,
    "expected_csv": READ,
    "expected_xlsx": READ,
    "expected_json": READ,
    "expected_rounds_csv": READ,
    "expected_rounds_xlsx": READ,
    "differences": READ,
    "differences_csv": READ,
    "differences_xlsx": READ,
    "segments_csv": READ,
    "segments_xlsx": READ,
    "differences_json": READ,
    "frozen": READ,
    "freeze": READ,
    "frozen_evaluation": READ,
    "frozen_csv": READ,
    "frozen_xlsx": READ,
    "frozen_queries_csv": READ,
    "frozen_queries_xlsx": READ,
    "frozen_json": READ,
    "frozen_bundle": READ,
    "compare_frozen": READ,
    "compare_frozen_csv": READ,
    "compare_frozen_xlsx": READ,
}

JOB = ["import_job", "import_progress", "refused", "check_import", "start_import", "cancel_import", "undo_import"]
ACCOUNT = ["account", "save_account", "make_password_link", "remove_second_factor", "delete_account"]
COPY = ["copy_job", "copy_progress", "cancel_copy"]
JUDGE = ["judge", "make_judge_version", "draw_judge_sample", "take_judge_sample", "drop_judge_sample"]
JUDGE += ["start_judge_run"]
JUDGE += ["use_judge", "start_probes", "machine", "machine_csv", "machine_xlsx"]
JUDGE += ["machine_json", "machine_means_xlsx"]
JUDGE += ["machine_means_csv", "machine_means_json"]
JUDGE_RUN = ["judge_run", "change_judge_run", "judge_log"]
ARCHIVE = ["archive_job", "archive_progress", "start_archive", "cancel_archive"]


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
        setup = scores.Setup(scores.options_for(self.collection))
        self.frozen, _ = frozen.freeze(self.collection, "first", ["nDCG@10", "AP"], setup)
        frozen.freeze(self.collection, "second", ["nDCG@10"], setup)
        self.job = Job.objects.create(collection=self.collection, kind="queries", files=[{"name": "queries.tsv"}])
        self.fetching = Job.objects.create(collection=self.collection, kind="pictures")
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

    def arguments(self, name: str) -> dict:
        query, system, analyst = self.query, self.system, self.analyst
        known = {
            "slug": self.collection.slug,
            "role": "analyst",
            "token": self.picture.token if name == "picture" else self.pair.token,
            "size": "small",
            "key": self.key,
            "sha": self.frozen.short,
            "uidb64": "MQ",
            "version": 1,
            "format": "csv",
            "rest": "v2/collections",
            "name": "queries.csv" if name == "sample" else "glossary",
            "pk": {
                "mfa_remove_webauthn": 1,
                "revoke_token": self.api_token.pk,
                "revoke_token_of_member": self.api_token.pk,
                "query": query.pk,
                "query_documents": query.pk,
                "query_csv": query.pk,
                "query_xlsx": query.pk,
                "query_json": query.pk,
                "delete_system": system.pk,
                "system": system.pk,
                "system_csv": system.pk,
                "system_xlsx": system.pk,
                "system_json": system.pk,
                "document": self.pair.document_id,
                "withdraw_invitation": self.invitation.pk,
                "member": analyst.pk,
                "set_role": analyst.pk,
                "end_sessions": analyst.pk,
                "remove_member": analyst.pk,
                "rater_settings": self.rater.pk,
                "save_terms": self.rater.pk,
                "deactivate_rater": self.rater.pk,
                "reactivate_rater": self.rater.pk,
                "erase_rater": self.rater.pk,
                "rater": self.rater.pk,
                **dict.fromkeys(JOB, self.job.pk),
                **dict.fromkeys(["pictures_progress", "cancel_pictures"], self.fetching.pk),
                **dict.fromkeys(JUDGE, self.judge.pk),
                **dict.fromkeys(JUDGE_RUN, self.judge_run.pk),
                **dict.fromkeys(ARCHIVE, self.archive.pk),
                **dict.fromkeys(COPY, self.copy.pk),
                **dict.fromkeys(ACCOUNT, self.loner.pk),
                "restore_collection": self.deletion.pk,
                "remove_collection": self.deletion.pk,
            }.get(name),
        }
        return {key: known[key] for key in converters()[name]}

    def data(self, name: str) -> dict:
        return {
            "export_run": {"system": self.system.pk},
            "save_rating": {"grade": "1", "base_revision": "1"},
            "save_adjudication": {"grade": "3", "reason": "clear", "seen": "1"},
            "read_guidelines": {"version": "1"},
            "check_import": {"kind": "queries"},
            "end_session": {"session": sessions.name_of(self.elsewhere)},
            "make_judge": {"name": "other"},
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
            "make_pool": {"depth": "1", "wanted": "1", "systems": self.system.pk},
            "want_more": {"more": "1"},
            "want_fewer": {"fewer": "1"},
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
            "delete_collection": {"name": "Hills", "download": "kept"},
            "withdraw_adjudication": {"reason": "not so clear", "seen": self.adjudication.pk},
        }.get(name, {})


@pytest.fixture(scope="module")
def built(standing) -> World:
    return World()


@pytest.fixture
def world(built) -> World:
    return deepcopy(built)


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
        response = client.get(address)
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
