"""The pages about people: who is listed and how, invitations made and withdrawn, roles, terms, erasure."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from ratings.desk import queue
from ratings.models import Invitation, Rater, Role
from ratings.people import members, tokens
from ratings.people.views import people as views
from ratings.tests.cast import (
    grade,
    make_collection,
    make_member,
    make_pair,
    make_rater,
    signed_in,
    text,
)

pytestmark = pytest.mark.django_db


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
        self.client = signed_in(self.admin)

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


def rows(response) -> list[tuple]:
    return [(p.name, p.role, p.state, p.ratings, p.last_act is not None) for p in response.context["people"]]


# The list


def test_a_superuser_who_was_a_rater_is_listed_as_one_who_cannot(world):
    get_user_model().objects.filter(username__in=["anna", "carla"]).update(is_superuser=True)
    assert ("anna", "rater", "superuser: cannot rate", 1, True) in rows(world.get())
    world.post("set_role", world.membership("carla").pk, role="rater")
    assert world.membership("carla").role == Role.ANALYST


def test_members_come_by_role_and_then_who_rated_without_being_one(world, monkeypatch):
    make_member(world.collection, "Boris", Role.RATER)
    assert rows(world.get()) == [
        ("dora", "admin", "active", 0, False),
        ("carla", "analyst", "active", 0, False),
        ("anna", "rater", "active", 1, True),
        ("Boris", "rater", "active", 0, False),
        ("import", "imported", "", 0, False),
    ]
    monkeypatch.setattr(views, "PEOPLE_PER_PAGE", 3)
    for number in (2, 99):
        page = world.client.get(address("people"), {"page": number})
        assert [name for name, *_ in rows(page)] == ["Boris", "import"]


def test_the_number_of_queries_does_not_grow_with_the_people(world, django_assert_num_queries):
    members.invite(world.collection, ["guest"], role=Role.RATER, days=7, by=world.admin)
    with django_assert_num_queries(13):
        world.get()
    for i in range(5):
        rater = make_rater(world.collection, f"rater{i}")
        tokens.make(rater.user, world.collection, name="phone", scopes=["rate"], days=7)
        members.invite(world.collection, [f"guest{i}"], role=Role.RATER, days=7, by=world.admin)
    with django_assert_num_queries(13):
        world.get()


def test_an_admin_sees_the_tokens_of_members_and_ends_one(world):
    for name, scope in (("carla", "read"), ("anna", "rate")):
        user = world.membership(name).user
        token, key = tokens.make(user, world.collection, name=f"{scope} it", scopes=[scope], days=7)
    members.set_role(world.membership("carla"), Role.RATER)
    page = world.get()
    found = [(str(token), token.user.username, state) for token, state in page.context["tokens"]]
    assert found == [("rate it", "anna", "works"), ("read it", "carla", "idle")]
    assert key not in page.content.decode()
    world.post("revoke_token_of_member", token.pk)
    assert tokens.valid_token(key) is None
    assert [str(token) for token, _ in world.get().context["tokens"]] == ["read it"]


def test_a_token_for_another_collection_is_not_there(world):
    elsewhere = make_collection("sea")
    user = make_member(elsewhere, "dora", Role.ADMIN)
    token, key = tokens.make(user, elsewhere, name="build", scopes=["read"], days=7)
    assert "build" not in text(world.get())
    assert world.post("revoke_token_of_member", token.pk).status_code == 404
    assert tokens.valid_token(key) == token


# Invitations


def test_one_link_a_line_shown_once(world):
    page = world.invite(names=" emil \n\nFrida <f@example.org>\r\nemil\n", role="analyst", days="3")
    links = page.context["links"]
    assert [link["name"] for link in links] == ["emil", "Frida <f@example.org>"]
    for name, link in ((row["name"], row["address"]) for row in links):
        invitation = members.invitation_of(link.rstrip("/").rsplit("/", 1)[1])
        assert (invitation.name, invitation.role, invitation.created_by) == (name, "analyst", world.admin)
        assert link in page.content.decode() and link.startswith("http://testserver/join/")
        assert link.rsplit("/", 2)[1] not in world.get().content.decode()
    assert "no-store" in page["Cache-Control"]
    # They come as a file, too.
    line = r"emil%09http%3A%2F%2Ftestserver%2Fjoin%2F[\w-]+%2F%0D%0A"
    assert re.search(f'href="data:text/plain;charset=utf-8,{line}Frida%20', page.content.decode())


def test_what_makes_no_sense_is_refused_and_the_form_comes_back_as_it_was(world):
    names = " \n ", "x" * 151, "a,b\nc;z", "\n".join(f"name{i}" for i in range(501))
    for sent in (*({"names": each} for each in names), {"role": "king"}, {"days": "0"}, {"days": "91"}):
        page = world.invite(**sent)
        assert page.status_code == 400 and not Invitation.objects.exists()
        assert all(page.context["form"][name].value() == value for name, value in sent.items())


def test_a_pasted_list_is_looked_at_line_by_line(world):
    get_user_model().objects.filter(username="carla").update(email="Carla@Example.org")
    members.invite(world.collection, ["Emil <e@example.org>"], role=Role.RATER, days=7, by=world.admin)
    old, _ = members.invite(world.collection, ["gone"], role=Role.RATER, days=7, by=world.admin)[0]
    members.withdraw(old)
    right = ["\ufefffrida@example.org", "", "gone;", "gone", "m@example.org <M@example.org>"]
    wrong = ["Anna", "E@example.org", "C <carla@example.org>", "Frida@Example.org", "Greta, Hans"]
    wrong += ["i@example.org j@example.org", "k\tl"]
    page = text(world.invite(names="\r\n".join([*right, *wrong])))
    assert [int(number) for number in re.findall(r"Line (\d+):", page)] == list(range(6, 13))
    assert Invitation.objects.count() == 2
    links = world.invite(names="\r\n".join([right[0], "gone", "gone"])).context["links"]
    assert [link["name"] for link in links] == ["frida@example.org", "gone"]


def test_every_invitation_can_be_seen_and_withdrawn(world, monkeypatch):
    monkeypatch.setattr(views, "PEOPLE_PER_PAGE", 2)
    made = members.invite(world.collection, "abcde", role=Role.RATER, days=7, by=world.admin)
    pages = [world.client.get(f"{address('people')}?invitations={number}&page=2") for number in (1, 2, 3)]
    seen = [invitation for page in pages for invitation, _ in page.context["invitations"]]
    assert seen == [invitation for invitation, _ in reversed(made)]
    assert "?invitations=2&amp;page=2" in pages[0].content.decode()
    assert f'name="invitation" value="{made[0][0].pk}"' in pages[2].content.decode()


# Roles


def test_a_role_is_changed_and_the_last_admin_stays(world):
    world.post("set_role", world.membership("carla").pk, role="rater")
    assert world.membership("carla").role == "rater"
    assert world.collection.raters.filter(user__username="carla").exists()
    world.post("set_role", world.membership("dora").pk, role="analyst")
    world.post("remove_member", world.membership("dora").pk)
    assert world.membership("dora").role == "admin"
    world.post("set_role", world.membership("carla").pk, role="king")
    assert world.membership("carla").role == "rater"


# Raters


def test_a_limit_queries_and_a_weight_are_kept_and_shown(world):
    page = world.post("save_terms", world.rater.pk, limit="20", weight="0.5", queries="q2\n q1 \nq2")
    rater = Rater.objects.get(pk=world.rater.pk)
    assert (rater.limit, str(rater.weight), rater.queries.count()) == (20, "0.500", 2)
    terms = page.context["terms"]
    assert [terms[name].value() for name in ("limit", "weight", "queries")] == [20, "0.5", "q1\nq2"]
    world.post("save_terms", world.rater.pk, limit="", weight="1", queries="")
    rater.refresh_from_db()
    assert rater.limit is None and not rater.queries.exists()


def test_of_a_rater_without_an_account_only_the_weight_is_asked(world):
    Rater.objects.filter(pk=world.imported.pk).update(limit=5)
    page = world.post("save_terms", world.imported.pk, weight="0.5")
    assert [field.name for field in page.context["terms"].visible_fields()] == ["weight"]
    world.imported.refresh_from_db()
    assert (str(world.imported.weight), world.imported.limit) == ("0.500", 5)


def test_terms_that_make_no_sense_are_refused_and_nothing_is_changed(world):
    make_collection("sea", queries=["s1"])
    queries = [{"queries": keys} for keys in ("q1 nonsense", "s1")]
    numbers = {"weight": "-1"}, {"limit": "-1"}, {"limit": "9" * 30}
    for sent in (*queries, *numbers):
        assert world.post("save_terms", world.rater.pk, **{"weight": "2"} | sent).status_code == 400
    assert Rater.objects.get(pk=world.rater.pk).weight == 1


# Erasure


def test_a_person_is_erased_only_when_their_name_is_typed(world):
    for typed in ("", "Anna", "anna b"):
        assert world.post("erase_rater", world.rater.pk, name=typed).status_code == 400
        assert Rater.objects.get(pk=world.rater.pk).name == "anna"
    page = world.post("erase_rater", world.rater.pk, name="anna")
    assert f"“{Rater.objects.get(pk=world.rater.pk).name}”" in text(page)
    assert "anna" not in world.get().content.decode()


# Whose they are


def test_who_is_of_another_collection_is_not_there(world):
    sea = make_collection("sea")
    rater, _ = make_rater(sea, "boris"), make_member(sea, "bea", Role.ADMIN)
    for name in ("save_terms", "deactivate_rater", "reactivate_rater", "erase_rater"):
        assert world.post(name, rater.pk).status_code == 404
    member = sea.memberships.get(user__username="bea")
    for name in ("set_role", "remove_member"):
        assert world.post(name, member.pk).status_code == 404
    assert world.get("rater", rater.pk).status_code == 404
    assert world.get("member", member.pk).status_code == 404
    rater.refresh_from_db()
    assert (rater.name, rater.active, sea.memberships.get(pk=member.pk).role) == ("boris", True, "admin")
    invitation, _ = members.invite(sea, ["emil"], role=Role.RATER, days=7, by=None)[0]
    world.client.post(address("withdraw_many"), {"invitation": [invitation.pk], "sure": "1"})
    assert members.is_open(Invitation.objects.get())


@pytest.mark.parametrize(
    ("elsewhere", "status"), [(None, 200), (Role.RATER, 404), (Role.ANALYST, 404), (Role.ADMIN, 404)]
)
def test_an_admin_makes_a_password_link_unless_the_account_is_a_member_elsewhere(elsewhere, status):
    collection, other = make_collection(), make_collection("sea")
    eva, anna = make_member(collection, "eva", Role.ADMIN), make_member(collection, "anna", Role.RATER)
    if elsewhere:
        make_member(other, "anna", elsewhere)
    membership = collection.memberships.get(user=anna)
    client, page = signed_in(eva), f"/collections/hills/people/members/{membership.pk}/"
    assert ("New password link" in text(client.get(page, follow=True))) == (status == 200)
    answer = client.post(f"{page}password/")
    assert answer.status_code == status
    if status == 200:
        link = re.search(r"/accounts/forgotten/[^<]+", answer.content.decode())[0]
        assert Client().get(link, follow=True).status_code == 200
    if elsewhere == Role.ADMIN:
        # Whoever administers the other collection, too, sees all of it anyway.
        make_member(other, "eva", Role.ADMIN)
        assert client.post(f"{page}password/").status_code == 200
    anna.is_superuser = True
    anna.save()
    assert client.post(f"{page}password/").status_code == 404
