"""The pages about people: who is listed and how, invitations made and withdrawn, roles, terms, erasure."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ratings import queue
from ratings.models import Invitation, Rater, Role
from ratings.people import members, tokens
from ratings.views import people as views

from .cast import grade, make_collection, make_member, make_pair, make_rater, make_user

pytestmark = pytest.mark.django_db

SCRIPT = '<script>alert("x")</script>'


class World:
    """A collection with an admin, a rater who rated one pair, an analyst and an imported rater."""

    def __init__(self) -> None:
        self.collection = make_collection()
        self.admin = make_member(self.collection, "dora", Role.ADMIN)
        make_member(self.collection, "carla", Role.ANALYST)
        self.rater = make_rater(self.collection, "anna")
        make_pair(self.collection)
        queue.save(self.rater, queue.claim(self.rater)[0], queue.Submission(grade=grade(self.collection, "2")))
        self.imported = Rater.objects.create(collection=self.collection, name="import", kind="imported")
        self.client = Client()
        self.client.force_login(self.admin)

    def membership(self, username: str):
        return self.collection.memberships.get(user__username=username)

    def get(self, page: str = "people", *arguments, **sent):
        return self.client.get(address(page, *arguments), sent)

    def post(self, act: str, *arguments, follow: bool = True, **sent):
        return self.client.post(address(act, *arguments), sent, follow=follow)

    def invite(self, **sent):
        return self.post("invite", **{"names": "emil", "role": "rater", "days": "14"} | sent)


@pytest.fixture
def world() -> World:
    return World()


def address(name: str, *arguments) -> str:
    return reverse(name, args=["hills", *arguments])


def text(response) -> str:
    """What a reader sees, blanks made one."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def rows(response) -> list[tuple]:
    return [(p.name, p.role, p.state, p.ratings, p.last_act is not None) for p in response.context["people"]]


# The list


def test_a_superuser_who_was_a_rater_is_listed_as_one_who_cannot(world):
    get_user_model().objects.filter(pk=world.rater.user_id).update(is_superuser=True)
    assert ("anna", "rater", "superuser: cannot rate", 1, True) in rows(world.get())
    carla = world.membership("carla")
    get_user_model().objects.filter(username="carla").update(is_superuser=True)
    assert "carla is a superuser" in text(world.post("set_role", carla.pk, role="rater"))
    assert world.membership("carla").role == Role.ANALYST


def test_members_come_by_role_and_then_who_rated_without_being_one(world):
    make_member(world.collection, "Boris", Role.RATER)
    assert rows(world.get()) == [
        ("dora", "admin", "active", 0, False),
        ("carla", "analyst", "active", 0, False),
        ("anna", "rater", "active", 1, True),
        ("Boris", "rater", "active", 0, False),
        ("import", "imported", "", 0, False),
    ]
    assert "4 members: 2 raters, 1 analyst, 1 admin." in text(world.get())


def test_who_is_not_active_or_left_or_cannot_sign_in_is_told_as_such(world):
    members.deactivate(world.rater)
    assert ("anna", "rater", "not active", 1, True) in rows(world.get())
    members.remove(world.membership("anna"))
    assert ("anna", "", "no member", 1, True) in rows(world.get())
    get_user_model().objects.filter(username="carla").update(is_active=False)
    assert ("carla", "analyst", "account closed", 0, False) in rows(world.get())


def test_the_number_of_queries_does_not_grow_with_the_people(world):
    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            world.get()
        return len(captured)

    members.invite(world.collection, ["guest"], role=Role.RATER, days=7, by=world.admin)
    before = count()
    for i in range(5):
        rater = make_rater(world.collection, f"rater{i}")
        tokens.make(rater.user, world.collection, name="phone", scopes=["rate"], days=7)
        members.invite(world.collection, [f"guest{i}"], role=Role.RATER, days=7, by=world.admin)
    assert count() == before == 14


def test_an_admin_sees_the_tokens_of_members_and_ends_one(world):
    for name, scope in (("carla", "read"), ("anna", "rate")):
        user = world.membership(name).user
        token, key = tokens.make(user, world.collection, name=f"{scope} it", scopes=[scope], days=7)
    members.set_role(world.membership("carla"), Role.RATER)
    page = world.get()
    found = [(str(token), token.user.username, state) for token, state in page.context["tokens"]]
    assert found == [("rate it", "anna", "works"), ("read it", "carla", "idle")]
    assert "does not work: its owner may not" in text(page) and key not in page.content.decode()
    assert "rate it: the token no longer works." in text(world.post("revoke_token_of_member", token.pk))
    assert tokens.valid_token(key) is None
    assert [str(token) for token, _ in world.get().context["tokens"]] == ["read it"]


def test_a_token_for_another_collection_is_not_there(world):
    elsewhere = make_collection("sea")
    user = make_member(elsewhere, "dora", Role.ADMIN)
    token, key = tokens.make(user, elsewhere, name="build", scopes=["read"], days=7)
    assert "build" not in text(world.get())
    assert world.post("revoke_token_of_member", token.pk).status_code == 404
    assert tokens.valid_token(key) == token


def test_a_long_list_comes_in_pages(world, monkeypatch):
    monkeypatch.setattr(views, "AT_ONCE", 2)
    assert [row[0] for row in rows(world.client.get(address("people"), {"page": 2}))] == ["anna", "import"]
    assert [row[0] for row in rows(world.client.get(address("people"), {"page": 99}))] == ["anna", "import"]


def test_a_name_cannot_carry_a_script(world):
    Rater.objects.filter(pk=world.imported.pk).update(name=SCRIPT)
    get_user_model().objects.filter(username="carla").update(username=SCRIPT)
    pages = [world.invite(names=SCRIPT), world.get(), world.get("rater_settings", world.imported.pk)]
    pages.append(world.get("member", world.collection.memberships.get(role=Role.ANALYST).pk))
    pages.append(world.post("set_role", world.collection.memberships.get(role=Role.ANALYST).pk, role="admin"))
    for page in pages:
        assert "<script>alert" not in page.content.decode()
        assert "&lt;script&gt;" in page.content.decode()


# Invitations


def test_one_link_a_line_shown_once(world):
    page = world.invite(names=" emil \n\nFrida <f@example.org>\r\nemil\n", role="analyst", days="3")
    links = page.context["links"]
    assert [name for name, _ in links] == ["emil", "Frida <f@example.org>"]
    for name, link in links:
        invitation = members.invitation_of(link.rstrip("/").rsplit("/", 1)[1])
        assert (invitation.name, invitation.role, invitation.created_by) == (name, "analyst", world.admin)
        assert link in page.content.decode()
        assert link.startswith("http://testserver/join/")
        assert link.rsplit("/", 2)[1] not in world.get().content.decode()
    assert "no-store" in page["Cache-Control"]


def test_the_links_come_as_a_file_too(world):
    page = world.invite(names="emil\nfrida").content.decode()
    assert 'download="links-hills.txt"' in page
    line = r"emil%09http%3A%2F%2Ftestserver%2Fjoin%2F[\w-]+%2F%0D%0A"
    assert re.search(f'href="data:text/plain;charset=utf-8,{line}frida%09', page)


@pytest.mark.parametrize(
    "sent, told",
    [
        ({"names": " \n "}, "Write at least one name."),
        ({"names": "x" * 151}, f"Line 1: “{'x' * 40}…” is longer than 150 characters. Shorten it."),
        ({"names": "a,b\n" + "\n".join(f"{i};z" for i in range(24))}, "5 more lines have such a problem."),
        ({"names": "\n".join(f"{i};z" for i in range(21))}, "1 more line has such a problem."),
        ({"names": "\n".join(f"name{i}" for i in range(501))}, "501 names are too many at once"),
        ({"role": "king"}, "king is not one of the available choices"),
        ({"days": "0"}, "greater than or equal to 1"),
        ({"days": "91"}, "less than or equal to 90"),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_form_comes_back_as_it_was(world, sent, told):
    page = world.invite(**sent)
    assert page.status_code == 400
    assert told in text(page)
    assert not Invitation.objects.exists()
    for name, value in sent.items():
        assert page.context["form"][name].value() == value


def test_a_pasted_list_is_looked_at_line_by_line(world):
    get_user_model().objects.filter(username="carla").update(email="Carla@Example.org")
    members.invite(world.collection, ["Emil <e@example.org>"], role=Role.RATER, days=7, by=world.admin)
    old, _ = members.invite(world.collection, ["gone"], role=Role.RATER, days=7, by=world.admin)[0]
    members.withdraw(old)
    lines = [
        "\ufefffrida@example.org",
        "Anna",
        "",
        "gone;",
        "E@example.org",
        "C <carla@example.org>",
        "Frida@Example.org",
        "gone",
        "Greta, Hans",
        "i@example.org j@example.org",
        "k\tl",
        "x@@y",
        "m@example.org <M@example.org>",
    ]
    page = text(world.invite(names="\r\n".join(lines)))
    for said in (
        "Nobody was invited.",
        "Line 2: Anna is a member already, as rater. Remove the line",
        "Line 5: E@example.org is invited already, until",
        "withdraw that invitation first.",
        "Line 6: C &lt;carla@example.org&gt; is a member already, as analyst.",
        "Line 7: Frida@Example.org is on line 1 already, as frida@example.org. Keep one of them.",
        "Line 9: “Greta, Hans” has a comma. Write several people on a line each, and one person without it.",
        "Line 10: “i@example.org j@example.org” has 2 addresses. Write each on a line of its own.",
        "Line 11: “k l” has a tab.",
        "Line 12: “x@@y” has an @ too many. Correct it.",
    ):
        assert said in page, said
    assert not any(f"Line {number}:" in page for number in (1, 3, 4, 8, 13))
    assert Invitation.objects.count() == 2
    names = [name for name, _ in world.invite(names="\r\n".join([lines[0], "gone", "gone"])).context["links"]]
    assert names == ["frida@example.org", "gone"]


def test_a_hundred_are_invited_by_one_paste(world):
    page = world.invite(names="\n".join(f"person{i}@example.org" for i in range(100)))
    assert len(page.context["links"]) == Invitation.objects.count() == 100


def test_an_invitation_is_withdrawn_once_and_not_after_it_was_accepted(world):
    for name, said in [("emil", "its link no longer works"), ("frida", "accepted or withdrawn before")]:
        invitation, _ = members.invite(world.collection, [name], role=Role.RATER, days=7, by=None)[0]
        if name == "frida":
            members.accept(invitation, make_user("frida"))
        assert said in text(world.post("withdraw_invitation", invitation.pk))
    states = {i.name: members.state_of(i) for i in Invitation.objects.all()}
    assert states == {"emil": "withdrawn", "frida": "accepted"}


def test_every_invitation_can_be_seen_and_withdrawn(world, monkeypatch):
    monkeypatch.setattr(views, "AT_ONCE", 2)
    made = members.invite(world.collection, "abcde", role=Role.RATER, days=7, by=world.admin)
    seen, pages = [], []
    for number in (1, 2, 3):
        page = world.client.get(address("people"), {"invitations": number, "page": 2})
        seen += [invitation for invitation, _ in page.context["invitations"]]
        pages.append(page.content.decode())
    assert seen == [invitation for invitation, _ in reversed(made)]
    assert 'aria-label="Pages of invitations"' in pages[0] and "?invitations=2&amp;page=2" in pages[0]
    assert address("withdraw_invitation", made[0][0].pk) in pages[2]


# Roles


def test_a_change_of_role_is_told_and_the_last_admin_stays(world):
    page = world.post("set_role", world.membership("carla").pk, role="rater")
    assert "carla is rater of Hills now." in text(page)
    assert world.collection.raters.filter(user__username="carla").exists()
    page = world.post("set_role", world.membership("dora").pk, role="analyst")
    assert "dora is the only admin. Make somebody else an admin first." in text(page)
    assert world.membership("dora").role == "admin"
    assert "There is no such role" in text(world.post("set_role", world.membership("carla").pk, role="king"))


def test_who_gives_up_being_an_admin_is_led_home(world):
    world.post("set_role", world.membership("carla").pk, role="admin")
    assert world.post("set_role", world.membership("dora").pk, role="analyst", follow=False).url == reverse("home")
    assert world.get().status_code == 404


def test_who_is_removed_loses_access_and_keeps_what_they_rated(world):
    page = world.post("remove_member", world.membership("anna").pk)
    assert "anna is no longer a member of Hills." in text(page)
    client = Client()
    client.force_login(world.rater.user)
    assert client.get(address("rate")).status_code == 404
    assert world.rater.ratings.count() == 1
    assert "the only admin" in text(world.post("remove_member", world.membership("dora").pk))


def test_who_removes_somebody_stays_and_who_removes_themselves_is_led_home(world):
    other, own = (world.membership(name).pk for name in ("carla", "dora"))
    world.post("set_role", world.membership("anna").pk, role="admin")
    assert world.post("remove_member", other, follow=False).url == address("people")
    assert world.post("remove_member", own, follow=False).url == reverse("home")
    assert world.get().status_code == 404


# Raters


def test_a_member_who_rates_has_the_page_of_the_rater(world):
    assert world.get("member", world.membership("anna").pk).url == address("rater_settings", world.rater.pk)
    page = text(world.get("rater_settings", world.rater.pk))
    assert "Rater, active. 1 pair rated, last at work on" in page
    assert "Imported: not a person who signs in." in text(world.get("rater_settings", world.imported.pk))
    assert "Analyst, active." in text(world.get("member", world.membership("carla").pk))


def test_a_limit_queries_and_a_weight_are_kept_and_shown(world):
    page = world.post("save_terms", world.rater.pk, limit="20", weight="0.5", queries="q2\n q1 \nq2")
    assert "anna rates 2 queries. Saved." in text(page)
    rater = Rater.objects.get(pk=world.rater.pk)
    assert (rater.limit, str(rater.weight), rater.queries.count()) == (20, "0.500", 2)
    terms = page.context["terms"]
    assert [terms[name].value() for name in ("limit", "weight", "queries")] == [20, "0.5", "q1\nq2"]
    page = world.post("save_terms", world.rater.pk, limit="", weight="1", queries="")
    assert "anna rates all queries. Saved." in text(page)
    assert Rater.objects.get(pk=world.rater.pk).limit is None


def test_queries_can_be_given_by_a_tag(world):
    assert 'name="tag"' not in world.get("rater_settings", world.rater.pk).content.decode()
    world.collection.queries.filter(key="q2").update(tags=["snow"])
    page = world.post("save_terms", world.rater.pk, weight="1", queries="", tag="snow")
    assert "anna rates 1 query. Saved." in text(page)
    assert [query.key for query in world.rater.queries.all()] == ["q2"]


@pytest.mark.parametrize(
    "sent, told",
    [
        ({"queries": "q1 nonsense"}, "There is no query nonsense in this collection."),
        ({"queries": " ".join(f"x{i}" for i in range(9))}, "x0, x1, x2, x3, x4 and 4 more"),
        ({"weight": "-1"}, "greater than or equal to 0"),
        ({"limit": "-1"}, "greater than or equal to 0"),
        ({"limit": "9" * 30}, "less than or equal to"),
        ({"queries": "q1", "tag": "snow"}, "Give ids of queries or a tag, not both."),
    ],
)
def test_terms_that_make_no_sense_are_refused_and_nothing_is_changed(world, sent, told):
    world.collection.queries.filter(key="q2").update(tags=["snow"])
    page = world.post("save_terms", world.rater.pk, **{"weight": "2"} | sent)
    assert page.status_code == 400
    assert told in text(page)
    assert Rater.objects.get(pk=world.rater.pk).weight == 1


def test_queries_of_another_collection_are_not_found(world):
    make_collection("sea", queries=["s1"])
    assert world.post("save_terms", world.rater.pk, weight="1", queries="s1").status_code == 400


def test_who_is_deactivated_can_rate_again_when_they_are_let(world):
    assert "anna gets nothing more to rate." in text(world.post("deactivate_rater", world.rater.pk))
    assert not Rater.objects.get(pk=world.rater.pk).active
    assert "anna can rate again." in text(world.post("reactivate_rater", world.rater.pk))
    assert Rater.objects.get(pk=world.rater.pk).active


# Erasure


def test_a_person_is_erased_only_when_their_name_is_typed(world):
    for typed in ("", "Anna", "anna b"):
        page = world.post("erase_rater", world.rater.pk, name=typed)
        assert page.status_code == 400
        assert Rater.objects.get(pk=world.rater.pk).name == "anna"
    assert "Type “anna” to erase this person." in text(page)
    page = world.post("erase_rater", world.rater.pk, name="anna")
    pseudonym = Rater.objects.get(pk=world.rater.pk).name
    assert f"The person is erased. Their ratings stay under “{pseudonym}”." in text(page)
    assert "anna" not in world.get().content.decode()


def test_the_last_admin_who_has_rated_is_not_erased(world):
    world.post("set_role", world.membership("anna").pk, role="admin")
    world.post("remove_member", world.membership("dora").pk)
    client = Client()
    client.force_login(world.rater.user)
    response = client.post(address("erase_rater", world.rater.pk), {"name": "anna"}, follow=True)
    assert "anna is the only admin." in text(response)


# Whose they are


@pytest.mark.parametrize(
    "name", ["rater_settings", "save_terms", "deactivate_rater", "reactivate_rater", "erase_rater"]
)
def test_a_rater_of_another_collection_is_not_there(world, name):
    other = make_rater(make_collection("sea"), "boris")
    act = world.get if name == "rater_settings" else world.post
    assert act(name, other.pk).status_code == 404
    other.refresh_from_db()
    assert (other.name, other.active) == ("boris", True)


@pytest.mark.parametrize("name", ["member", "set_role", "remove_member"])
def test_a_member_of_another_collection_is_not_there(world, name):
    sea = make_collection("sea")
    make_member(sea, "boris", Role.ADMIN)
    act = world.get if name == "member" else world.post
    assert act(name, sea.memberships.get().pk).status_code == 404
    assert sea.memberships.get().role == "admin"


def test_an_invitation_of_another_collection_is_not_there(world):
    invitation, _ = members.invite(make_collection("sea"), ["boris"], role=Role.RATER, days=7, by=None)[0]
    assert world.post("withdraw_invitation", invitation.pk).status_code == 404
    assert members.is_open(Invitation.objects.get())


def test_where_the_database_is_busy_the_form_is_given_back_to_send_again(world, monkeypatch):
    def busy(*args, **kwargs):
        raise OperationalError("database is locked")

    monkeypatch.setattr(members, "invite", busy)
    world.client.raise_request_exception = False  # as a server, which answers with config.urls.handler500
    page = world.invite(names="emil\nfrida")
    assert page.status_code == 503
    assert "emil\nfrida" in page.content.decode()
