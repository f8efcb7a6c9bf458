import re
from decimal import Decimal

import numpy as np
import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.test import Client
from django.urls import reverse

from ratings.desk import queue
from ratings.models import Collection, Document, Membership, Ranking, Rater, Role
from ratings.tests.cast import (
    NOW,
    grade,
    make_collection,
    make_member,
    make_pair,
    make_ranking,
    make_rater,
    make_user,
)
from ratings.web.template_tags.grades import tone, written

pytestmark = pytest.mark.django_db


@pytest.mark.both_databases
def test_a_ranking_comes_back_as_it_was_written():
    ranking = make_ranking(make_collection(), "bm25", "q1", "cab", scores=[2.5, 0.1, -1e300])
    stored = Ranking.objects.get()
    assert stored.documents.dtype == np.dtype("<u4")
    assert stored.documents.tolist() == list(ranking.documents)
    assert stored.scores.tolist() == [2.5, 0.1, -1e300]


@pytest.mark.both_databases
def test_an_id_that_does_not_fit_is_refused_not_cut():
    collection = make_collection()
    with pytest.raises(ValueError, match="cannot be stored"):
        Ranking.objects.create(
            system=collection.systems.create(name="bm25"), query=collection.queries.first(), documents=[2**32]
        )


@pytest.mark.both_databases
def test_a_document_that_a_ranking_names_cannot_be_deleted():
    collection = make_collection()
    make_ranking(collection, "bm25", "q1", "a")
    with pytest.raises(ProtectedError, match="A ranking names this document"):
        collection.documents.get(key="a").delete()
    with pytest.raises(ProtectedError):
        Document.objects.filter(key__in="ab").delete()
    Document.objects.filter(key="b").delete()
    assert sorted(collection.documents.values_list("key", flat=True)) == ["a", "c", "d"]


@pytest.mark.both_databases
def test_a_whole_collection_can_go_with_all_that_it_holds():
    collection = make_collection()
    make_ranking(collection, "bm25", "q1", "a")
    queue.save(
        make_rater(collection), make_pair(collection), queue.Submission(grade=grade(collection, "1")), now=NOW
    )
    collection.delete()
    assert not Ranking.objects.exists() and not Rater.objects.exists()


@pytest.mark.both_databases
def test_keys_differ_by_case():
    collection = make_collection(documents=["Nike", "nike"])
    assert collection.documents.count() == 2


@pytest.mark.both_databases
def test_one_grade_per_value():
    with pytest.raises(IntegrityError), transaction.atomic():
        make_collection().grades.create(value=Decimal("1.0"))


def test_who_is_made_a_rater_can_rate_even_when_an_imported_rater_has_the_name():
    collection = make_collection()
    Rater.objects.create(collection=collection, name="alice", kind="imported")
    rater = make_rater(collection, "alice")
    assert rater.name != "alice"
    assert collection.raters.count() == 2


def test_collections_are_visible_to_their_members_by_role():
    hills, sea = make_collection("hills"), make_collection("sea")
    alice = make_member(hills, "alice", Role.ANALYST)
    assert list(Collection.objects.visible_to(alice)) == [hills]
    assert list(Collection.objects.visible_to(alice, Role.ADMIN)) == []
    assert list(Collection.objects.visible_to(make_user("root", is_superuser=True), Role.ADMIN)) == [hills, sea]


def test_the_admin_shows_a_ranking_as_a_list_of_documents(admin_client):
    ranking = make_ranking(make_collection(), "bm25", "q1", "ba")
    html = admin_client.get(reverse("admin:ratings_ranking_change", args=[ranking.pk])).content.decode()
    assert html.index("Title b <code>b</code>") < html.index("Title a <code>a</code>")


def test_an_edited_copy_of_a_collection_does_not_turn_its_version_back():
    collection = make_collection()
    Collection.objects.get().touch()
    collection.name = "Mountains"
    collection.save()
    assert Collection.objects.values_list("name", "version").get() == ("Mountains", 1)


@pytest.mark.both_databases
def test_no_rater_weighs_less_than_nothing():
    collection = make_collection()
    with pytest.raises(IntegrityError), transaction.atomic():
        Rater.objects.create(collection=collection, name="negative", weight=-1)


def test_add_member_makes_an_account_and_prints_a_link_to_set_its_password(capsys):
    make_collection()
    call_command("add_member", "hills", "carol", "rater")
    link = re.search(r"http://\S+?(/accounts/forgotten/\S+)", capsys.readouterr().out)[1]
    client, sent = Client(), {"new_password1": "a long phrase", "new_password2": "a long phrase"}
    page = client.get(link)
    assert client.post(page.url, sent).url == reverse("sign_in")
    assert client.post(reverse("sign_in"), {"username": "carol", "password": "a long phrase"}).status_code == 302
    assert "who sent it for a new one" in Client().get(link).content.decode()
    call_command("add_member", "hills", "carol", "analyst")
    assert "password" not in capsys.readouterr().out
    assert Membership.objects.get().role == "analyst"


def test_add_member_prints_another_link_until_a_password_is_set_but_none_to_whom_the_provider_knows(capsys):
    make_collection()
    for role in ("rater", "analyst"):
        call_command("add_member", "hills", "carol", role)
        assert "/accounts/forgotten/" in capsys.readouterr().out
    SocialAccount.objects.create(user=Membership.objects.get().user, provider="oidc", uid="1")
    call_command("add_member", "hills", "carol", "admin")
    assert capsys.readouterr().out == "carol is admin of hills.\n"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x" * 151, "it has 151"),
        ("carol/smith", "A username may have letters"),
        (" ", "This field is required"),
        ("Carol", "looks like 'Carol'"),
    ],
)
def test_add_member_makes_no_account_whose_name_a_page_refuses(name, said):
    make_collection()
    call_command("add_member", "hills", "carol", "rater")
    with pytest.raises(CommandError, match=said):
        call_command("add_member", "hills", name, "rater")
    assert get_user_model().objects.count() == Membership.objects.count() == 1
    call_command("add_member", "hills", "x" * 150, "rater")


def test_add_member_changes_a_role_as_the_page_does():
    collection = make_collection()
    dora, anna = make_member(collection, "dora", Role.ADMIN).username, "anna"
    with pytest.raises(CommandError, match="dora is the only admin of hills. Make somebody else an admin first."):
        call_command("add_member", "hills", dora, "analyst")
    make_member(collection, anna, Role.ANALYST)
    call_command("add_member", "hills", anna, "rater")
    assert collection.raters.filter(user__username=anna).exists()
    call_command("add_member", "hills", anna, "admin")
    call_command("add_member", "hills", dora, "analyst")
    assert dict(Membership.objects.values_list("user__username", "role")) == {"dora": "analyst", "anna": "admin"}


def test_no_migration_is_missing():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize(
    ("value", "scale", "look"),
    [
        (-1, [-1, 0, 1, 2, 3], "n1"),
        (-2, [-2, -1, 0, 1], "n2"),
        (-1, [-2, -1, 0, 1], "n2"),
        (0, [-1, 0, 1], "z"),
        (1, [0, 1, 2, 3], "p2"),
        (3, [0, 1, 2, 3], "p4"),
        (2.4, [0, 1, 2, 3], "p3"),
        (-0.33, [-1, 0, 1], "z"),
        (-0.67, [-1, 0, 1], "n1"),
        (0.25, [-0.5, 0, 0.25, 1], "p2"),
        (None, [0, 1], "u"),
        (float("nan"), [0, 1], "u"),
        (5, [], "p4"),
    ],
)
def test_the_look_of_a_grade_follows_its_place_on_the_scale(value, scale, look):
    assert tone(value, scale) == look


@pytest.mark.parametrize(
    ("value", "text"), [(-1, "−1"), (2.0, "2"), (2 / 3, "0.67"), (-0.001, "0"), (Decimal("0.500"), "0.5")]
)
def test_grades_are_written_short_with_a_true_minus(value, text):
    assert written(value) == text
