"""Invite, join, change roles, stop and go on: the acts, and what two at the same moment must not do."""

import threading
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import transaction

from ratings.desk import queue
from ratings.models import Collection, Invitation, Membership, Rater, Role
from ratings.people import members
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_rater, make_user
from ratings.tests.races import race

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection() -> Collection:
    return make_collection()


def invited(collection: Collection, name: str = "anna", role: str = Role.RATER) -> tuple[Invitation, str]:
    return members.invite(collection, [name], role=role, days=7, by=None)[0]


def invited_now(collection: Collection) -> Invitation:
    return members.invite(collection, ["anna"], role=Role.RATER, days=7, by=None)[0][0]


# Invitations


def test_a_key_is_32_random_bytes_and_only_its_hash_is_kept(collection):
    invitation, key = invited(collection)
    other = invited(collection)[1]
    assert key != other
    assert len(key) == 43  # 32 bytes, 6 bits a letter
    row = Invitation.objects.filter(pk=invitation.pk).values().get()
    assert key not in repr(row)
    assert row["key_hash"] == members.hash_of(key) != key
    assert members.invitation_of(key) == invitation


@pytest.mark.parametrize("role", Role.values)
def test_who_accepts_is_a_member_with_the_role_and_a_rater_can_rate(collection, role):
    anna = make_user("anna")
    members.accept(invited(collection, role=role)[0], anna)
    assert collection.role_of(anna) == role
    assert collection.raters.filter(user=anna).exists() == (role == Role.RATER)


def test_a_link_works_once(collection):
    invitation, _ = invited(collection)
    members.accept(invitation, make_user("anna"))
    with pytest.raises(members.Gone):
        members.accept(invitation, make_user("boris"))
    assert collection.memberships.count() == 1


def test_a_link_ends_at_its_time_to_the_second(collection, monkeypatch):
    invitation, _ = invited(collection)
    monkeypatch.setattr(members, "timezone", SimpleNamespace(now=lambda: invitation.expires_at))
    with pytest.raises(members.Gone):
        members.accept(invitation, make_user("anna"))
    just_before = invitation.expires_at - timedelta(seconds=1)
    monkeypatch.setattr(members, "timezone", SimpleNamespace(now=lambda: just_before))
    members.accept(invitation, make_user("boris"))


def test_a_withdrawn_link_lets_nobody_in_and_an_accepted_one_cannot_be_withdrawn(collection):
    invitation, _ = invited(collection)
    members.withdraw(invitation)
    with pytest.raises(members.Gone):
        members.accept(invitation, make_user("anna"))
    accepted, _ = invited(collection)
    members.accept(accepted, make_user("boris"))
    with pytest.raises(members.Gone):
        members.withdraw(accepted)


def test_an_invitation_changes_no_role_and_is_left_for_whom_it_was_meant(collection):
    dora = make_member(collection, "dora", Role.ADMIN)
    invitation, _ = invited(collection)
    with pytest.raises(members.MemberAlready):
        members.accept(invitation, dora)
    assert collection.role_of(dora) == Role.ADMIN
    invitation.refresh_from_db()
    assert members.is_open(invitation)


def test_nobody_makes_a_superuser_a_rater(collection):
    """Superusers see the results of every collection. The invitation is left for whom it was meant."""
    root = make_user("root", is_superuser=True)
    invitation, _ = invited(collection)
    analyst = Membership(collection=collection, user=root, role=Role.ANALYST)
    acts = [
        lambda: members.accept(invitation, root),
        lambda: members.give_role(collection, root, Role.RATER),
        lambda: members.give_role(collection, root, Role.RATER),
        lambda: analyst.save() or members.set_role(analyst, Role.RATER),
        lambda: call_command("add_member", "hills", "root", "rater"),
    ]
    for act in acts:
        with pytest.raises((members.SuperuserCannotRate, CommandError), match="Rate with another account"):
            act()
    assert not collection.raters.exists() and members.is_open(invitation)


def test_an_account_is_made_only_if_the_link_still_works(collection):
    invitation, _ = invited(collection)
    members.withdraw(invitation)
    with pytest.raises(members.Gone):
        members.sign_up(invitation, "anna", "a pass phrase")
    assert not collection.memberships.exists()
    assert not get_user_model().objects.exists()


def test_a_name_that_somebody_took_meanwhile_is_told(collection):
    make_user("anna")
    with pytest.raises(members.NameTaken):
        members.sign_up(invited(collection)[0], "anna", "a pass phrase")


def test_who_left_as_a_rater_and_comes_back_finds_what_they_rated(collection):
    anna = make_rater(collection, "anna")
    queue.save(anna, first_task(anna), queue.Submission(grade=grade(collection, "2")))
    members.deactivate(anna)
    members.remove(collection.memberships.get())
    members.accept(invited(collection)[0], anna.user)
    anna.refresh_from_db()
    assert collection.raters.get(user=anna.user) == anna
    assert anna.active
    assert anna.ratings.count() == 1


def first_task(rater: Rater):
    make_pair(rater.collection)
    return queue.claim(rater)[0]


@pytest.mark.django_db(transaction=True)
def test_of_six_who_open_one_link_at_once_one_joins():
    collection = make_collection()
    invitation = invited_now(collection)
    users = [make_user(f"user{i}") for i in range(6)]
    got = race(users, lambda user: members.accept(invitation, user))
    assert sorted(type(result).__name__ for result in got) == ["Gone"] * 5 + ["Membership"]
    assert collection.memberships.count() == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_condition_in_the_update_all_six_join(monkeypatch):
    """The twin of the test above: who looks first and writes later lets everybody in."""

    def unguarded(invitation, user, now):
        unused = Invitation.objects.get(pk=invitation.pk).accepted_at is None
        barrier.wait(timeout=20)  # everybody has looked before anybody writes
        Invitation.objects.filter(pk=invitation.pk).update(accepted_by=user, accepted_at=now)
        return unused

    collection = make_collection()
    invitation = invited_now(collection)
    users = [make_user(f"user{i}") for i in range(6)]
    barrier = threading.Barrier(6)
    monkeypatch.setattr(members, "_use_up", unguarded)
    # Outside a transaction: on SQLite a transaction would queue them up and hide the race.
    unlocked = members.accept.__wrapped__
    race(users, lambda user: unlocked(invitation, user))
    assert collection.memberships.count() > 1


# Roles


def test_a_rater_who_becomes_an_analyst_stays_a_rater_in_the_record_and_holds_nothing(collection):
    anna = make_rater(collection, "anna")
    first_task(anna)
    membership = collection.memberships.get()
    members.set_role(membership, Role.ANALYST)
    assert collection.role_of(anna.user) == Role.ANALYST
    assert collection.raters.get(user=anna.user) == anna
    assert not anna.assignments.exists()


@pytest.mark.parametrize("act", [members.remove, lambda admin: members.set_role(admin, Role.ANALYST)])
def test_the_last_admin_cannot_go(collection, act):
    make_rater(collection, "anna")
    make_member(collection, "dora", Role.ADMIN)
    with pytest.raises(members.LastAdmin):
        act(collection.memberships.get(role=Role.ADMIN))
    assert collection.memberships.filter(role=Role.ADMIN).exists()
    members.set_role(collection.memberships.get(role=Role.ADMIN), Role.ADMIN)  # to stay one is no going


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_take_each_others_role_away_one_stays_admin():
    collection = make_collection()
    for name in ("dora", "emil"):
        make_member(collection, name, Role.ADMIN)
    admins = list(collection.memberships.all())
    got = race(admins, lambda admin: members.set_role(admin, Role.ANALYST))
    assert sorted(str(type(result)) for result in got) == sorted([str(type(None)), str(members.LastAdmin)])
    assert collection.memberships.filter(role=Role.ADMIN).count() == 1


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_both_lose_it(monkeypatch):
    """The twin of the test above: both see two admins before either writes."""

    def unguarded(membership, role, by_group):
        admins = Membership.objects.filter(collection=membership.collection_id, role=Role.ADMIN).count()
        barrier.wait(timeout=20)
        if admins == 1:
            raise members.LastAdmin
        return Membership.objects.get(pk=membership.pk)

    collection = make_collection()
    for name in ("dora", "emil"):
        make_member(collection, name, Role.ADMIN)
    barrier = threading.Barrier(2)
    monkeypatch.setattr(members, "_lock_to_change", unguarded)
    unlocked = members.set_role.__wrapped__
    race(list(collection.memberships.all()), lambda admin: unlocked(admin, Role.ANALYST))
    assert not collection.memberships.filter(role=Role.ADMIN).exists()


def test_a_member_removed_meanwhile_does_not_come_back_by_a_change_of_role(collection):
    make_member(collection, "dora", Role.ADMIN)
    make_rater(collection, "anna")
    membership = collection.memberships.get(role=Role.RATER)
    members.remove(collection.memberships.get(role=Role.RATER))
    with pytest.raises(Membership.DoesNotExist), transaction.atomic():
        members.set_role(membership, Role.ANALYST)
    assert collection.memberships.count() == 1


# Raters


def test_who_is_deactivated_gives_back_what_they_hold_and_keeps_what_they_rated(collection):
    anna = make_rater(collection, "anna")
    queue.save(anna, first_task(anna), queue.Submission(grade=grade(collection, "2")))
    other = make_pair(collection, "q2", "b")
    queue.claim(anna)
    assert other.assignments.get().rater == anna
    members.deactivate(anna)
    assert other.assignments.get().rater is None
    assert anna.ratings.count() == 1
    anna.refresh_from_db()
    assert not anna.active
    members.reactivate(anna)
    anna.refresh_from_db()
    assert anna.active


def test_another_weight_makes_numbers_old_and_another_limit_does_not(collection):
    anna = make_rater(collection, "anna")
    before = version(collection)
    queries = [collection.queries.get(key="q2")]
    members.change_terms(anna, limit=7, weight=Decimal(1), queries=queries)
    assert version(collection) == before
    members.change_terms(anna, limit=7, weight=Decimal("0.5"), queries=queries)
    assert version(collection) == before + 1
    anna.refresh_from_db()
    assert (anna.limit, anna.weight, list(anna.queries.all())) == (7, Decimal("0.5"), queries)


def version(collection: Collection) -> int:
    return Collection.objects.get(pk=collection.pk).version
