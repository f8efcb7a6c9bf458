"""The page of a new collection: who may make one, its scale, its address, and what its maker finds."""

import re

import pytest
from django.contrib.auth.models import Permission
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.test import Client

from ratings.collection import making, scales
from ratings.models import Collection, Role
from ratings.tests.cast import make_collection, make_user, signed_in, text

pytestmark = pytest.mark.django_db

PAGE, ACT = "/new-collection/", "/new-collection/make/"


@pytest.fixture
def maker():
    """No superuser, but one has given them the right."""
    user = make_user("mira")
    user.user_permissions.add(Permission.objects.get(content_type__app_label="ratings", codename="add_collection"))
    return user


@pytest.fixture
def client(maker) -> Client:
    return signed_in(maker)


def sent(**changes) -> dict:
    return {"name": "The shop", "slug": "", "description": "", "preset": "graded", "grades": ""} | changes


# Who may


def test_a_superuser_and_whom_they_let_see_the_link_and_the_page_and_nobody_else(client):
    root = signed_in(make_user("root", is_superuser=True))
    for visitor in (client, root):
        assert 'class="btn main" href="/new-collection/"' in visitor.get("/").content.decode()
        assert visitor.get(PAGE).status_code == 200
    stranger = signed_in(make_user("sam"))
    assert PAGE not in stranger.get("/").content.decode()
    assert stranger.get(PAGE).status_code == stranger.post(ACT, sent()).status_code == 404
    assert not Collection.objects.exists()


def test_who_makes_a_collection_sees_no_other(client):
    make_collection("hills")
    client.post(ACT, sent())
    assert client.get("/collections/the-shop/").status_code == 200
    assert client.get("/collections/hills/").status_code == 404


# What is made


def test_a_collection_is_made_with_its_scale_its_admin_and_guidelines(client, maker):
    response = client.post(ACT, sent(description="Products of our shop.", relevant_from="2"))
    collection = Collection.objects.get()
    assert (collection.slug, collection.name, collection.relevant_from) == ("the-shop", "The shop", 2)
    assert collection.description == "Products of our shop."
    assert response.status_code == 302 and response.url.startswith("/collections/the-shop/")
    grades = ["0 Irrelevant", "1 Related", "2 Good", "3 Perfect"]
    assert [str(grade) for grade in collection.grades.all()] == grades
    assert all(grade.meaning for grade in collection.grades.all())
    assert collection.memberships.get().role == Role.ADMIN and collection.memberships.get().user == maker
    told = collection.latest_guidelines()
    assert told.version == 1
    assert re.findall(r"^## (.+)$", told.text, re.MULTILINE)[:4] == grades[::-1]


@pytest.mark.parametrize("preset", scales.PRESETS, ids=lambda preset: preset.name)
def test_every_preset_makes_its_scale(client, preset):
    client.post(ACT, sent(preset=preset.name))
    collection = Collection.objects.get()
    assert [scales.step_of(grade) for grade in collection.grades.all()] == list(preset.steps)
    assert collection.relevant_from == preset.relevant_from in preset.values


def test_a_scale_of_ones_own_is_written_line_by_line(client):
    lines = "2: Yes: It answers: all of it.\n\n−1: Harmful\r\n 0.5 \n"
    client.post(ACT, sent(preset="own", grades=lines))
    collection = Collection.objects.get()
    rows = [(grade.plain, grade.label, grade.meaning) for grade in collection.grades.all()]
    assert rows == [("-1", "Harmful", ""), ("0.5", "", ""), ("2", "Yes", "It answers: all of it.")]
    assert str(collection.relevant_from.normalize()) == "0.5"  # the lowest above 0


# Addresses


def test_an_address_is_made_of_the_name_and_is_free(client):
    for number, name in enumerate(("The shop", "The Shop!", "the shop", "検索", "検索", "x" * 200, "x" * 200)):
        assert client.post(ACT, sent(name=name, description=str(number))).status_code == 302
    client.post(ACT, sent(slug="Shop_2"))
    *slugs, long, longer, typed = Collection.objects.order_by("pk").values_list("slug", flat=True)
    assert slugs == ["the-shop", "the-shop-2", "the-shop-3", "collection", "collection-2"]
    assert (len(long), len(longer), typed) == (75, 77, "Shop_2")


# What is refused


def test_what_is_wrong_is_refused_and_what_was_typed_stays(client):
    make_collection("hills")
    names = [{"name": name} for name in (" ", "x" * 201, "a\x00b")]
    slugs = [{"slug": slug} for slug in ("hills", "a\x00b", "two words")]
    scales = [{"preset": name} for name in ("", "nonsense", "own")]
    scales += [{"relevant_from": value} for value in ("4", "NaN")]
    lines = ["0: No", "0: No\n0.0: Never", "1:" + "x" * 61 + "\n0", "\n".join(map(str, range(101)))]
    own = [{"preset": "own", "grades": grades} for grades in lines]
    for wrong in (*names, *slugs, *scales, *own):
        response = client.post(ACT, sent(name="Kept <b>", description="Kept, too") | wrong)
        assert response.status_code == 400 and "Kept, too" in response.content.decode()
    response = client.post(ACT, sent(preset="own", grades="0: No\n\nlow: Bad"))
    assert "In line 3 the grade &#x27;low&#x27; is not a decimal number." in text(response)
    assert Collection.objects.count() == 1


@pytest.mark.both_databases
def test_a_name_that_somebody_takes_at_the_same_moment_is_said(client, monkeypatch):
    """Between the check of the form and the row."""
    monkeypatch.setattr(Collection, "full_clean", lambda self: None)
    make_collection("hills")
    monkeypatch.setattr("ratings.copies.forms.wrong_slug", lambda slug: "")
    response = client.post(ACT, sent(slug="hills"))
    assert response.status_code == 400 and making.TAKEN in text(response)
    assert Collection.objects.count() == 1


@pytest.mark.both_databases
def test_a_collection_whose_scale_fails_is_not_made():
    twice = [scales.step("1"), scales.step("1.0")]
    with pytest.raises(IntegrityError):
        making.make("hills", "Hills", twice)
    with pytest.raises(ValidationError):
        making.make("two words", "Hills")
