"""Forty people in a collection: the list sorted and narrowed, and acts on many of them at once."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateformat import format as date_format

from ratings.collection import putting_away
from ratings.desk import queue
from ratings.models import AuditEvent, Invitation, Rater, Role
from ratings.people import members
from ratings.people.invitees import invitees
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_rater, signed_in, text

pytestmark = pytest.mark.django_db


class World:
    """A collection with an admin, an analyst, forty raters of whom two rated, and an imported rater."""

    def __init__(self) -> None:
        self.collection = make_collection()
        self.admin = make_member(self.collection, "dora", Role.ADMIN)
        make_member(self.collection, "carla", Role.ANALYST)
        self.raters = [make_rater(self.collection, f"rater{number:02}") for number in range(40)]
        make_pair(self.collection, "q1", "a", wanted=2)
        for rater in self.raters[5], self.raters[7]:
            queue.save(rater, queue.claim(rater)[0], queue.Submission(grade=grade(self.collection, "2")))
        self.imported = Rater.objects.create(collection=self.collection, name="import", kind="imported")
        self.client = signed_in(self.admin)

    def names(self, **asked) -> list[str]:
        page = self.client.get(reverse("people", args=["hills"]), asked)
        return [person.name for person in page.context["people"]]

    def post(self, act: str, *raters: Rater, **sent):
        chosen = {"act": act, "rater": [rater.pk for rater in raters]}
        return self.client.post(reverse("act_on_many", args=["hills"]), chosen | sent, follow=True)

    def invitations(self, act: str, *invitations: Invitation, **sent):
        chosen = {"invitation": [invitation.pk for invitation in invitations]}
        return self.client.post(reverse(act, args=["hills"]), chosen | sent, follow=True)


@pytest.fixture
def world() -> World:
    return World()


def rater_of(rater: Rater) -> Rater:
    return Rater.objects.get(pk=rater.pk)


# The list


def test_the_list_is_sorted_by_each_column(world):
    assert world.names()[:3] == ["dora", "carla", "rater00"]
    assert world.names(sort="name")[:2] == ["carla", "dora"]
    assert world.names(sort="-name")[:2] == ["rater39", "rater38"]
    assert set(world.names(sort="-ratings")[:2]) == {"rater05", "rater07"}
    assert world.names(sort="-last_act")[:2] == ["rater07", "rater05"]
    assert world.names(sort="nonsense") == world.names()
    page = world.client.get(reverse("people", args=["hills"]), {"sort": "name"}).content.decode()
    assert 'aria-sort="ascending"><a href="?sort=-name">Name' in page


def test_the_list_is_narrowed_by_name_role_and_state(world):
    members.deactivate(world.raters[3])
    assert world.names(q="TER0", sort="name") == [f"rater0{number}" for number in range(10)]
    assert world.names(role="analyst") == ["carla"]
    assert world.names(state="not active") == ["rater03"]
    assert world.names(q="rater1", state="not active") == []
    assert len(world.names(role="king")) == 43  # what has no meaning narrows nothing
    page = text(world.client.get(reverse("people", args=["hills"]), {"role": "imported"}))
    assert "1 of 43" in page and "Everybody" in page
    assert world.client.get(reverse("people", args=["hills"]), {"q": "none"}).status_code == 200


def test_all_that_is_shown_can_be_ticked(world):
    page = world.client.get(reverse("people", args=["hills"]), {"q": "rater1", "tick": "all"}).content.decode()
    assert len(re.findall(r'name="rater" value="\d+" aria-label="Choose rater1\d" checked', page)) == 10


# Acts on many raters


def test_an_act_asks_first_and_names_whom_it_changes(world):
    one, two, third = world.raters[:3]
    members.deactivate(third)
    page = world.post("deactivate", one, two, third, world.imported)
    assert "Deactivate: 2 raters" in text(page) and "rater02" not in text(page)
    assert rater_of(one).active
    page = world.post("deactivate", one, two, third, world.imported, sure="1")
    assert "2 raters get nothing more to rate." in text(page)
    assert [rater_of(rater).active for rater in (*world.raters[:4], world.imported)] == [
        False,
        False,
        False,
        True,
        True,
    ]
    world.post("reactivate", one, two, world.raters[4], sure="1")
    assert rater_of(one).active and rater_of(two).active
    assert AuditEvent.objects.filter(act="rater.reactivated").count() == 2


def test_a_limit_and_queries_are_set_apart_and_keep_the_other_terms(world):
    one, two = world.raters[:2]
    members.change_terms(one, limit=None, weight="0.5", queries=[])
    assert "Rates at most" in text(world.post("limit", one, two))
    assert world.post("limit", one, two, limit="-1", sure="1").status_code == 400
    world.post("limit", one, two, limit="20", sure="1")
    assert world.post("queries", one, two, queries="nonsense", sure="1").status_code == 400
    world.post("queries", one, two, queries="q2", sure="1")
    assert [rater_of(rater).limit for rater in (one, two)] == [20, 20]
    assert [query.key for query in one.queries.all()] == [query.key for query in two.queries.all()] == ["q2"]
    assert str(rater_of(one).weight) == "0.500"
    world.post("limit", one, limit="", sure="1")
    assert rater_of(one).limit is None and one.queries.count() == 1


def test_ratings_of_many_are_left_out_and_count_again(world):
    world.post("leave-out", world.raters[5], world.raters[7], sure="1")
    assert world.collection.raters.exclude(left_out_at=None).count() == 2
    offer = '<option value="count-again">'
    assert offer in world.client.get(reverse("people", args=["hills"])).content.decode()
    putting_away.put_away(world.collection)
    assert offer not in world.client.get(reverse("people", args=["hills"])).content.decode()
    assert "put away" in text(world.post("count-again", world.raters[5], sure="1"))
    assert world.collection.raters.exclude(left_out_at=None).count() == 2
    putting_away.take_out(world.collection)
    world.post("count-again", world.raters[5], world.raters[7], sure="1")
    assert not world.collection.raters.exclude(left_out_at=None).exists()


def test_nobody_and_people_of_other_collections_are_not_changed(world):
    other = make_rater(make_collection("sea"), "eva")
    for raters in ([], [other]):
        assert "Nothing was changed" in text(world.post("deactivate", *raters, sure="1"))
    assert "Nothing was changed" in text(world.post("deactivate", rater=["x", "9" * 30], sure="1"))
    assert rater_of(other).active
    assert world.post("nonsense", world.raters[0], sure="1").status_code == 404


# Many invitations


def test_many_invitations_are_withdrawn_after_a_question(world):
    made = members.invite(world.collection, ["abel", "berta", "cleo"], role=Role.RATER, days=7, by=world.admin)
    abel, berta, cleo = (invitation for invitation, _ in made)
    assert "Withdraw: 2 invitations" in text(world.invitations("withdraw_many", abel, berta))
    assert Invitation.objects.filter(members.UNUSED).count() == 3
    world.invitations("withdraw_many", abel, berta, sure="1")
    assert list(Invitation.objects.filter(members.UNUSED)) == [cleo]
    assert "Nothing was changed" in text(world.invitations("withdraw_many", abel, sure="1"))


def test_who_did_not_come_gets_a_new_link_and_the_earlier_one_ends(world):
    rows = [("abel", Role.RATER, 7), ("berta", Role.ANALYST, 3)]
    made = [
        members.invite(world.collection, [name], role=role, days=days, by=world.admin)[0]
        for name, role, days in rows
    ]
    page = world.invitations("invite_again", *(invitation for invitation, _ in made))
    links = page.context["links"]
    assert [link["name"] for link in links] == ["abel", "berta"]
    new = [members.invitation_of(link["address"].rstrip("/").rsplit("/", 1)[1]) for link in links]
    assert [(each.role, (each.expires_at - each.created_at).days) for each in new] == [
        ("rater", 7),
        ("analyst", 3),
    ]
    berta_ends, abel_ends = (date_format(timezone.localdate(each.expires_at), "j M Y") for each in new[::-1])
    assert f"until {berta_ends} at the earliest and {abel_ends} at the latest" in text(page)
    assert not members.is_open(members.invitation_of(made[0][1]))
    # Nothing is done where one of them is a member meanwhile.
    members.sign_up(new[0], "abel", "a long phrase of abel")
    again = Invitation.objects.get(pk=made[0][0].pk)
    assert "is a member already" in text(world.invitations("invite_again", again, new[1]))
    assert members.is_open(Invitation.objects.get(pk=new[1].pk))


def test_a_name_is_the_same_when_it_is_read_again(world):
    """Of a list pasted from a table: a new link finds the name that the first one stored."""
    assert invitees("Bob\N{NO-BREAK SPACE};,\n Eva , ;", world.collection) == ["Bob", "Eva"]
