"""What one account makes in a day has limits: the row after the last is refused, and a day later it is made."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from ratings.copies.views import my_data
from ratings.desk import queue
from ratings.desk.queue import acts
from ratings.models import ApiToken, Invitation, RatingEvent, Role
from ratings.people import forms, members
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_rater, make_user, signed_in
from ratings.web import limits

pytestmark = pytest.mark.django_db


def invite(client: Client, names: str):
    return client.post(reverse("invite", args=["hills"]), {"names": names, "role": "rater", "days": "7"})


@pytest.mark.both_databases
def test_invitations(monkeypatch):
    monkeypatch.setattr(members, "INVITATIONS_A_DAY", 3)
    hills = make_collection()
    client, other = (signed_in(make_member(hills, name, Role.ADMIN)) for name in ("admin", "other"))
    assert [invite(client, names).status_code for names in ("a\nb", "c\nd", "c", "d")] == [200, 429, 200, 429]
    assert "c\nd" in invite(client, "c\nd").content.decode()  # the form keeps what was typed
    assert invite(other, "d").status_code == 200 and Invitation.objects.count() == 4
    Invitation.objects.update(created_at=Invitation.objects.first().created_at - limits.DAY)
    assert invite(client, "e").status_code == 200


def test_tokens(monkeypatch):
    monkeypatch.setattr(forms, "MOST_TOKENS", 2)
    client = signed_in(make_member(make_collection(), "ann", Role.ANALYST))
    sent = {"name": "nightly", "collection": "hills", "scopes": ["read"], "days": "30"}
    assert [client.post(reverse("make_token"), sent).status_code for _ in range(3)] == [200, 200, 400]
    assert ApiToken.objects.count() == 2


def test_files_of_ones_own_data(monkeypatch):
    monkeypatch.setattr(my_data, "MOST_FILES_A_DAY", 2)
    ann, ben = (signed_in(make_user(name)) for name in ("ann", "ben"))
    assert [ann.get(reverse("my_data")).status_code for _ in range(3)] == [200, 200, 429]
    assert ben.get(reverse("my_data")).status_code == 200


@pytest.fixture
def rated(monkeypatch):
    """A pair on which its rater has made the last act of the day."""
    monkeypatch.setattr(acts, "MOST_ACTS_ON_PAIR", 3)
    hills = make_collection()
    pair, rater = make_pair(hills), make_rater(hills)
    (task,) = queue.claim(rater)
    for revision in range(3):
        queue.save(rater, task, queue.Submission(grade(hills, "2"), base_revision=revision))
    return pair, rater


def test_acts_of_a_rater_on_one_document(rated):
    pair, rater = rated
    more = queue.Submission(grade(rater.collection, "1"), comment="x" * 5_000, base_revision=3)
    for act in (
        lambda: queue.save(rater, pair, more),
        lambda: queue.skip(rater, pair, comment="x"),
        lambda: queue.undo(rater),
    ):
        with pytest.raises(limits.Reached):
            act()
    assert RatingEvent.objects.count() == 3
    other = make_pair(rater.collection, document="b", wanted=1)
    queue.save(rater, other, queue.Submission(grade(rater.collection, "1"), comment="x"))


def test_the_desk_keeps_no_refused_act_waiting(rated):
    """The script sends again what is answered 429, and nothing behind it."""
    pair, rater = rated
    sent = {"grade": "1", "base_revision": "3", "client_key": str(uuid4()), "comment": "x"}
    address = reverse("save_rating", args=["hills", pair.token])
    client = signed_in(rater.user)
    assert client.post(address, sent, headers={"accept": "application/json"}).status_code == 400
    assert client.post(address, sent).status_code == 429
