"""Every address for every kind of visitor. A new address that is not in the table fails here."""

import re
from collections import Counter
from html import unescape
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import Resolver404, URLPattern, get_resolver, resolve, reverse
from django.utils import timezone

from evaluation import frozen, scores
from ratings import anchors, people, tokens
from ratings.adjudication import adjudicate
from ratings.models import Check, Guidelines, Job, LostLease, Role
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_rated_pair

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
    "sign_in": ("get", [200, 302, 302, 302, 302]),
    "session": ("get", [200, 200, 200, 200, 200]),
    "sign_out": ("post", [302, 302, 302, 302, 302]),
    "password_change": ("get", [SIGN_IN, 200, 200, 200, 200]),
    "look_around": ("post", [404, 404, 404, 404, 404]),  # the demo is off in tests
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
    "admin_sign_in": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "my_data": ("get", [SIGN_IN, 200, 200, 200, 200]),
    "tokens": ("get", [SIGN_IN, 200, 200, 200, 200]),
    "make_token": ("post", [SIGN_IN, 400, 200, 200, 400]),
    "revoke_token": ("post", [SIGN_IN, 404, 302, 404, 404]),
    "api_nothing": ("get", [404, 404, 404, 404, 404]),
    # For superusers, who are none of these: see ratings/tests/test_archives_page.py.
    "archives": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "archive_job": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "archive_progress": ("get", [SIGN_IN, 404, 404, 404, 404]),
    "send_archive": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "start_archive": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "cancel_archive": ("post", [SIGN_IN, 404, 404, 404, 404]),
    "join": ("get", [200, 200, 200, 200, 200]),
    "guidelines": MEMBERS,
    "guidelines_versions": MEMBERS,
    "guidelines_version": MEMBERS,
    "edit_guidelines": DECIDE,
    "read_guidelines": ACT,
    "people": DECIDE,
    "invite": ("post", [SIGN_IN, 404, 404, 200, 404]),
    "withdraw_invitation": DECISION,
    "revoke_token_of_member": DECISION,
    "member": DECIDE,
    "set_role": DECISION,
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
    "save_judging": DECISION,
    "retire": DECISION,
    "bring_back": DECISION,
    "holes": DECIDE,
    "want_holes": DECISION,
    "anchors": DECIDE,
    "find_pair": DECISION,
    "anchor": DECIDE,
    "save_anchor": DECISION,
    "remove_anchor": DECISION,
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
    "export_archive": DECIDE,
    "overview": READ,
    "overview_csv": READ,
    "overview_json": READ,
    "queries": READ,
    "queries_csv": READ,
    "queries_json": READ,
    "query": READ,
    "query_csv": READ,
    "query_json": READ,
    "system": READ,
    "system_csv": READ,
    "system_json": READ,
    "agreement": READ,
    "agreement_csv": READ,
    "agreement_json": READ,
    "drift": READ,
    "drift_csv": READ,
    "drift_json": READ,
    "compare": READ,
    "compare_csv": READ,
    "compare_json": READ,
    "differences": READ,
    "differences_csv": READ,
    "segments_csv": READ,
    "differences_json": READ,
    "frozen": READ,
    "freeze": READ,
    "frozen_evaluation": READ,
    "frozen_csv": READ,
    "frozen_queries_csv": READ,
    "frozen_json": READ,
    "frozen_bundle": READ,
    "compare_frozen": READ,
    "compare_frozen_csv": READ,
}

JOB = ["import_job", "import_progress", "refused", "check_import", "start_import", "cancel_import", "undo_import"]
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
        self.adjudication = adjudicate(
            self.pair, grade(self.collection, "3"), reason="clear", actor=self.users["admin"]
        )
        Guidelines.objects.create(collection=self.collection, version=1, text="## 3 Perfect")
        invited = people.invite(self.collection, ["anna"], role=Role.RATER, days=7, by=self.users["admin"])
        self.invitation, self.key = invited[0]
        facts = {"name": "build", "scopes": ["read"], "days": 7}
        self.api_token, _ = tokens.make(self.users["analyst"], self.collection, **facts)
        known = make_pair(self.collection, "q2", "a")
        anchors.set_anchor(known, use="gold", grade=grade(self.collection, "1"))
        at = {"rater": self.rater, "pair": known}
        LostLease.objects.create(**at)
        Check.objects.create(**at, kind="repeat", created_at=timezone.now())
        options = scores.options_for(self.collection)
        self.frozen, _ = frozen.freeze(self.collection, "first", ["nDCG@10", "AP"], options)
        frozen.freeze(self.collection, "second", ["nDCG@10"], options)
        self.job = Job.objects.create(collection=self.collection, kind="queries", files=[{"name": "queries.tsv"}])
        self.archive = Job.objects.create(kind="archive", files=[{"name": "shop.zip"}])
        for name in ("admin", "stranger"):
            self.users[name].is_staff = True
            self.users[name].save()

    def client(self, actor: str) -> Client:
        client = Client()
        if actor != "anonymous":
            client.force_login(self.users[actor])
        return client

    def arguments(self, name: str) -> dict:
        query, system = self.collection.queries.get(key="q1"), self.collection.systems.get(name="bm25")
        analyst = self.collection.memberships.get(user=self.users["analyst"])
        known = {
            "slug": self.collection.slug,
            "role": "analyst",
            "token": self.pair.token,
            "key": self.key,
            "sha": self.frozen.short,
            "version": 1,
            "rest": "v2/collections",
            "pk": {
                "revoke_token": self.api_token.pk,
                "revoke_token_of_member": self.api_token.pk,
                "query": query.pk,
                "query_csv": query.pk,
                "query_json": query.pk,
                "system": system.pk,
                "system_csv": system.pk,
                "system_json": system.pk,
                "document": self.pair.document_id,
                "withdraw_invitation": self.invitation.pk,
                "member": analyst.pk,
                "set_role": analyst.pk,
                "remove_member": analyst.pk,
                "rater_settings": self.rater.pk,
                "save_terms": self.rater.pk,
                "deactivate_rater": self.rater.pk,
                "reactivate_rater": self.rater.pk,
                "erase_rater": self.rater.pk,
                "rater": self.rater.pk,
                **dict.fromkeys(JOB, self.job.pk),
                **dict.fromkeys(ARCHIVE, self.archive.pk),
            }.get(name),
        }
        return {key: known[key] for key in converters()[name]}

    def data(self, name: str) -> dict:
        return {
            "export_run": {"system": self.collection.systems.get(name="bm25").pk},
            "save_rating": {"grade": "1", "base_revision": "1"},
            "save_adjudication": {"grade": "3", "reason": "clear", "seen": "1"},
            "read_guidelines": {"version": "1"},
            "check_import": {"kind": "queries"},
            "make_token": {"name": "build", "collection": "hills", "scopes": "read", "days": "7"},
            "invite": {"names": "boris", "role": "rater", "days": "7"},
            "set_role": {"role": "admin"},
            "save_terms": {"weight": "2"},
            "erase_rater": {"name": "rater"},
            "make_pool": {"depth": "1", "wanted": "1", "systems": self.collection.systems.get(name="bm25").pk},
            "want_more": {"more": "1"},
            "save_judging": {"order": "query", "gold_share": "0", "repeat_share": "0", "break_after": "0"},
            "retire": {"lines": "q1"},
            "bring_back": {"lines": "q1"},
            "want_holes": {
                "system": self.collection.systems.get(name="bm25").pk,
                "depth": "2",
                "wanted": "1",
            },
            "find_pair": {"query": "q1", "document": "d"},
            "save_anchor": {"use": "gold", "grade": "3"},
            "withdraw_adjudication": {"reason": "not so clear", "seen": self.adjudication.pk},
        }.get(name, {})


@pytest.fixture
def world() -> World:
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
    assert [answers[actor].status_code for actor in ACTORS] == expected
    if expected[0] == SIGN_IN and name not in {"sign_in", "sign_out"}:
        assert answers["anonymous"].url.startswith(reverse("sign_in"))


@pytest.mark.parametrize("name", TABLE)
def test_the_other_method_is_refused(world, name):
    """What acts is never a GET; what reads takes no POST."""
    method, expected = TABLE[name]
    if name in {"sign_in", "password_change", "join", "edit_guidelines", "freeze", "desk_settings", "api_nothing"}:
        return  # a form on its own address: both methods
    other = "post" if method == "get" else "get"
    actor = ACTORS[expected.index(200)] if 200 in expected else "rater"
    if actor == "anonymous":
        actor = "analyst"
    response = getattr(world.client(actor), other)(reverse(name, kwargs=world.arguments(name)))
    assert response.status_code == 405


@pytest.mark.parametrize("name", [name for name, (method, _) in TABLE.items() if method == "post"])
def test_an_act_without_a_csrf_token_is_refused(world, name):
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.users["rater"])
    assert client.post(reverse(name, kwargs=world.arguments(name))).status_code == 403


def test_a_rater_cannot_open_a_pair_that_was_never_given_to_them(world):
    other = make_pair(world.collection, "q2", "b")
    address = reverse("rate_pair", args=[world.collection.slug, other.token])
    assert world.client("rater").get(address).status_code == 404


def test_a_deactivated_account_is_nobody(world):
    client = world.client("analyst")
    world.users["analyst"].is_active = False
    world.users["analyst"].save()
    assert client.get(reverse("overview", args=["hills"])).status_code == SIGN_IN


ADMIN_MODELS = [m._meta.model_name for m in apps.get_app_config("ratings").get_models()]
NOT_IN_ADMIN = {"apitoken", "grade", "guidelines", "invitation", "job", "membership", "othertext", "receipt"}
NOT_IN_ADMIN |= {"stagedrating"}
REGISTERED = [name for name in ADMIN_MODELS if name not in NOT_IN_ADMIN]


@pytest.mark.parametrize("model", REGISTERED)
def test_django_admin_shows_only_ones_own_collections(world, model):
    listing = reverse(f"admin:ratings_{model}_changelist")
    for actor in ("anonymous", "rater", "analyst"):
        assert world.client(actor).get(listing).status_code == 302
    own = world.client("admin").get(listing)
    assert own.status_code == 200
    foreign = world.client("stranger").get(listing)
    assert foreign.status_code == 200
    row = apps.get_model("ratings", model).objects.filter(**own_filter(model, world)).first()
    page = reverse(f"admin:ratings_{model}_change", args=[row.pk])
    assert world.client("admin").get(page).status_code == 200
    assert world.client("stranger").get(page).status_code == 302  # "does not exist"
    assert world.client("stranger").post(page, {}).status_code in {302, 403}
    assert f"/{model}/{row.pk}/change/" in own.content.decode()
    assert f"/{model}/{row.pk}/change/" not in foreign.content.decode()


def test_who_is_no_superuser_cannot_tie_raters_to_accounts(world):
    form = {"collection": world.collection.pk, "name": "x", "kind": "person", "weight": "1"}
    form["user"] = world.users["stranger"].pk
    world.client("admin").post(reverse("admin:ratings_rater_add"), form)
    assert world.collection.raters.get(name="x").user is None


def own_filter(model: str, world: World) -> dict:
    paths = {
        "collection": "pk",
        "ranking": "system__collection",
        "pair": "query__collection",
        "assignment": "pair__query__collection",
        "rating": "pair__query__collection",
        "adjudication": "pair__query__collection",
        "ratingevent": "pair__query__collection",
        "anchor": "pair__query__collection",
        "check": "rater__collection",
        "lostlease": "rater__collection",
    }
    return {paths.get(model, "collection"): world.collection.pk}


WAYS = 4  # options of one page, or objects, that a crawl takes


@pytest.mark.parametrize("actor", ACTORS)
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
    """Every row of every table, but for the visitor's own session."""
    return {
        model._meta.label: repr(list(model.objects.order_by("pk").values()))
        for model in apps.get_models()
        if model is not Session
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
