"""Every call of the API for every kind of caller. A new call that is not in the table fails here."""

from functools import cached_property

import pytest
from django.apps import apps
from django.db import OperationalError
from django.test import Client

from config.api import openapi_schema
from config.tests.scans import analyzed, only_sqlite, scans_noted
from evaluation.watching.tests.cast import make_night, make_watch
from ratings.desk import queue
from ratings.importing.pictures import store
from ratings.models import ApiToken, Job, Picture, Role
from ratings.people import members, tokens
from ratings.tests.calls import ROOT, Caller, make_caller
from ratings.tests.cast import grade, make_collection, make_member, make_rated_pair, make_rater, make_user

pytestmark = pytest.mark.django_db

NOBODY = ["anonymous", "cookie", "expired", "revoked", "closed"]  # 401 everywhere
ACTORS = ["removed", "stranger", "unscoped", "fallen", "rater", "analyst", "admin", "site"]

# (method, path): the status for each of ACTORS
READ = [404, 404, 403, 403, 403, 200, 200, 200]
BRING = [404, 404, 403, 403, 403, 403, 200, 200]
RATE = [404, 404, 403, 403, 200, 403, 403, 403]
ANYBODY = [200, 200, 200, 200, 200, 200, 200, 200]
TABLE = {
    ("get", "/token"): ANYBODY,
    ("get", "/collections"): ANYBODY,
    ("post", "/collections"): [403, 403, 403, 403, 403, 403, 403, 201],
    ("get", "/collections/{slug}"): [404, 404, 200, 200, 200, 200, 200, 200],
    ("get", "/collections/{slug}/queries"): READ,
    ("post", "/collections/{slug}/queries"): BRING,
    ("get", "/collections/{slug}/documents"): READ,
    ("post", "/collections/{slug}/documents"): BRING,
    ("get", "/collections/{slug}/systems"): READ,
    ("post", "/collections/{slug}/rankings"): BRING,
    ("get", "/collections/{slug}/ratings"): READ,
    ("post", "/collections/{slug}/ratings"): BRING,
    ("get", "/collections/{slug}/drawn"): READ,
    ("get", "/collections/{slug}/samples"): READ,
    ("get", "/collections/{slug}/sampled"): READ,
    ("get", "/collections/{slug}/unjudged"): READ,
    ("get", "/collections/{slug}/engines"): BRING,
    ("post", "/collections/{slug}/fetches"): BRING,
    ("get", "/collections/{slug}/fetches/{fetch}"): BRING,
    ("get", "/collections/{slug}/evaluation"): READ,
    ("get", "/collections/{slug}/comparison"): READ,
    ("get", "/collections/{slug}/machine-only"): READ,
    ("get", "/collections/{slug}/gate"): READ,
    ("post", "/collections/{slug}/gate"): READ,
    ("get", "/collections/{slug}/judgments"): READ,
    ("get", "/collections/{slug}/watches"): READ,
    ("post", "/collections/{slug}/watches"): [404, 404, 403, 403, 403, 403, 201, 422],  # the second has its name
    ("get", "/collections/{slug}/watches/{watch}"): READ,
    ("patch", "/collections/{slug}/watches/{watch}"): BRING,
    ("post", "/collections/{slug}/watches/{watch}/nights"): BRING,
    ("post", "/collections/{slug}/tasks"): RATE,
    ("post", "/collections/{slug}/my-ratings"): RATE,
    ("get", "/collections/{slug}/my-ratings"): RATE,
    ("get", "/collections/{slug}/pictures/{token}/{size}"): RATE,
    # Last, since none of the others finds a watch after it.
    ("delete", "/collections/{slug}/watches/{watch}"): [404, 404, 403, 403, 403, 403, 204, 404],
}
PARAMS = {
    "unjudged": {"system": "bm25"},
    "comparison": {"baseline": "bm25"},
    "gate": {"release": "bm25", "against": "bm25"},
}


class World:
    """A collection that is rated, and one caller of each kind."""

    def __init__(self) -> None:
        self.pair, self.rater = make_rated_pair()
        self.collection = self.rater.collection
        digest = store.keep(b"a picture")
        facts = {"state": "ready", "small": digest, "large": digest}
        self.collection.engines.create(name="shop", dialect="json", address="http://127.0.0.1:9/")
        options = {"engine": 0, "of": "shop", "system": "live"}
        self.fetch = Job.objects.create(collection=self.collection, kind="engine", options=options)
        self.watch = make_watch(self.collection)
        make_night(self.watch)
        self.picture = Picture.objects.create(collection=self.collection, digest="0" * 64, **facts)

    @cached_property
    def callers(self) -> dict[str, Caller]:
        hills, sea, boss = self.collection, make_collection("sea"), make_user("boss", is_superuser=True)
        admins = {
            n: make_member(hills, n, Role.ADMIN) for n in ("admin", "removed", "fallen", "closed", "unscoped")
        }
        callers = {name: make_caller(user, hills, "read", "import") for name, user in admins.items()}
        members.remove(hills.memberships.get(user=admins["removed"]))
        members.set_role(hills.memberships.get(user=admins["fallen"]), Role.RATER)
        type(boss).objects.filter(username="closed").update(is_active=False)
        ApiToken.objects.filter(user=admins["unscoped"]).update(scopes=[])
        cookie = Caller(None)
        cookie.client.force_login(admins["admin"])
        return callers | {
            "anonymous": Caller(None),
            "cookie": cookie,
            "expired": make_caller(admins["admin"], hills, "read", "import", days=-1),
            "revoked": self.revoked(admins["admin"]),
            "stranger": make_caller(make_member(sea, "stranger", Role.ADMIN), sea, "read", "import"),
            "rater": make_caller(self.rater.user, hills, "rate"),
            "analyst": make_caller(make_member(hills, "analyst", Role.ANALYST), hills, "read"),
            "site": make_caller(boss, None, "read", "import", "manage"),
        }

    def revoked(self, user) -> Caller:
        token, key = tokens.make(user, self.collection, name="old", scopes=["read"], days=7)
        tokens.revoke(token)
        return Caller(key)

    def body(self, path: str) -> dict | str:
        rating = {"token": str(self.pair.token), "key": "0" * 32, "grade": 3, "base_revision": 1}
        return {
            "collections": {"slug": "new"},
            "queries": {"queries": [{"key": "q1", "text": "text of q1"}]},
            "documents": {"documents": [{"key": "a", "title": "A", "body": "b"}]},
            "rankings": {"system": "new", "rankings": [{"query": "q1", "documents": ["a", "b"]}]},
            "ratings": {"ratings": [{"query": "q1", "document": "b", "rater": "tool", "grade": 1}]},
            "fetches": {"engine": "shop", "system": "fetched"},
            "tasks": {"count": 1},
            "nights": {"system": "bm25"},
            "gate": "q1 Q0 a 1 9 x\n",
            "watches": {"name": "Builds"},
            "{watch}": {"paused": True},
            "my-ratings": {"ratings": [rating]},
        }[path.rpartition("/")[2]]

    def call(self, actor: str, method: str, path: str):
        caller, last = self.callers[actor], path.rpartition("/")[2]
        address = path.format(
            slug=self.collection.slug,
            token=self.picture.token,
            size="small",
            fetch=self.fetch.pk,
            watch=self.watch.pk,
        )
        if method == "get":
            return caller.get(address, **PARAMS.get(last, {}))
        if method == "delete":
            return caller.delete(address)
        query_string = "?release=sent&against=bm25" if last == "gate" else ""
        return getattr(caller, method)(address + query_string, self.body(path))


@pytest.fixture(scope="module")
def built(standing) -> World:
    world = World()
    assert world.callers  # made once
    return world


def test_every_call_is_in_the_table():
    paths = openapi_schema(f"{ROOT}/")["paths"]
    calls = [(method, path.removeprefix(ROOT)) for path, methods in paths.items() for method in methods]
    assert sorted(calls) == sorted(TABLE)


READS = [(method, path) for method, path in TABLE if method == "get"]
ACTS = [(method, path) for method, path in TABLE if method != "get"]


@pytest.mark.parametrize("calls", [READS[::2], READS[1::2]], ids=["one half", "the other"])  # few calls of nobody
def test_who_reads_what(world, calls):
    assert {call: answers(world, *call) for call in calls} == {call: TABLE[call] for call in calls}


@pytest.mark.parametrize(("method", "path"), ACTS)
def test_who_does_what(world, method, path):
    assert answers(world, method, path) == TABLE[method, path]


@only_sqlite
@pytest.mark.parametrize("large", [False, True])
def test_no_call_scans_the_rows_of_all_collections(world, large):
    found = {}
    for (method, path), statuses in TABLE.items():
        scans, allowed = {}, dict(zip(reversed(statuses), reversed(ACTORS), strict=True))
        with analyzed(large), scans_noted(scans):
            done = min(allowed)  # 200, 201 or 204
            answer = world.call(allowed[done], method, path)
        assert answer.status_code == done
        found |= {(method, path): scans} if scans else {}
    assert found == {}


def answers(world: World, method: str, path: str) -> list[int]:
    """The status for each of ACTORS, where for NOBODY it is 401 and errors are problem documents."""
    for actor in NOBODY:
        answer = world.call(actor, method, path)
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer"), actor
    found = [world.call(actor, method, path) for actor in ACTORS]
    for answer in found:
        usual = "image/webp" if "pictures" in path else "application/json"
        kind = usual if answer.status_code < 400 else "application/problem+json"
        assert answer["Content-Type"].partition(";")[0] == kind
    return [answer.status_code for answer in found]


def test_what_is_not_yours_is_as_if_it_were_not_there(world):
    absent = world.callers["stranger"].get("/collections/nowhere/systems")
    assert world.callers["stranger"].get("/collections/hills/systems").content == absent.content


def test_reading_changes_no_row_but_when_the_token_was_used_last(world):
    assert world.callers  # makes them
    before = rows()
    for method, path in READS:
        for actor in ("anonymous", "rater", "analyst", "admin", "site"):
            world.call(actor, method, path)
    assert rows() == before


def rows() -> dict:
    found = {}
    for model in apps.get_models():
        names = [field.attname for field in model._meta.concrete_fields if field.attname != "last_used_at"]
        found[model._meta.label] = repr(list(model.objects.order_by("pk").values_list(*names)))
    return found


def test_a_rater_is_told_of_nothing_but_what_the_desk_shows(world):
    """Neither key of query and document, nor rank, system, or what others said."""
    hills = world.collection
    hills.queries.filter(key="q1").update(key="canary-query", tags=["canary-tag"])
    hills.documents.filter(key="a").update(key="canary-document", fields={"by": "canary-field"})
    hills.systems.filter(name="bm25").update(name="canary-system", description="canary-description")
    type(hills).objects.update(description="canary-description")
    other = make_rater(hills, "canary-rater")
    queue.save(other, world.pair, queue.Submission(grade=grade(hills, "-1"), comment="canary-comment"))
    caller, sent = world.callers["rater"], []
    for path in ("/token", "/collections", "/collections/hills", "/collections/hills/my-ratings"):
        sent.append(caller.get(path))
    for path in ("tasks", "my-ratings", "my-ratings"):
        sent.append(caller.post(f"/collections/hills/{path}", world.body(path)))
    stale = world.body("my-ratings")
    stale["ratings"][0] |= {"key": "1" * 32, "grade": 1}
    sent.append(caller.post("/collections/hills/my-ratings", stale))
    assert sent[-1].json()["results"][0]["saved"] is False
    refused = [world.call("rater", method, path) for method, path in TABLE if "pictures" not in path]
    everything = b"".join(answer.content for answer in [*sent, *refused])
    assert b"text of q1" in everything or b"Title a" in everything
    assert b"canary" not in everything


@pytest.mark.both_databases
def test_removing_a_member_kills_their_token_at_once(world):
    caller, member = world.callers["analyst"], world.collection.memberships.get(user__username="analyst")
    assert caller.get("/collections/hills/systems").status_code == 200
    members.remove(member)
    assert caller.get("/collections/hills/systems").status_code == 404


def test_errors_that_django_would_answer_in_html_are_problem_documents(client, settings):
    settings.ALLOWED_HOSTS = ["testserver"]
    nowhere, no_host = client.get("/api/v1/nowhere"), client.get("/api/v1/token", headers={"host": "evil.example"})
    assert [nowhere.status_code, no_host.status_code, client.get("/api").status_code] == [404, 400, 404]
    for answer in (nowhere, no_host):
        assert answer["Content-Type"] == "application/problem+json"
        assert answer.json()["status"] == answer.status_code
    assert "html" in client.get("/nowhere")["Content-Type"]


def test_a_call_with_another_method_is_told_which_there_are():
    """Also where nobody is signed in, whose form would lack a token against forgery."""
    program = Client(enforce_csrf_checks=True)
    sent = {"data": b"{}", "content_type": "application/json"}
    for path in ("openapi.json", "token"):
        answer = program.post(f"/api/v1/{path}", **sent)
        assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")
        assert answer["Content-Type"] == "application/problem+json"
    assert program.put("/api/v1/collections", **sent)["Allow"] == "GET, HEAD, POST"
    assert program.post("/api/v1/nowhere", **sent).status_code == 404


@pytest.mark.parametrize(("fault", "status"), [(RuntimeError, 500), (OperationalError, 503)])
def test_a_fault_of_the_server_is_a_problem_document_too(world, monkeypatch, fault, status):
    caller = world.callers["analyst"]
    caller.client.raise_request_exception = False

    def broken(*args):
        raise fault("secret of the house")

    monkeypatch.setattr("ratings.api.reading.page", broken)
    answer = caller.get("/collections/hills/queries")
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert "secret" not in answer.content.decode()
    assert answer.headers.get("Retry-After") == ("5" if status == 503 else None)
