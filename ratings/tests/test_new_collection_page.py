"""The page of a new collection: who may make one, its scale, its address, and what its maker finds."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse

from ratings.models import Collection, Role
from ratings.set_up import making, scales

from .cast import make_collection, make_user

pytestmark = pytest.mark.django_db

PAGE, ACT = "/new-collection/", "/new-collection/make/"


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


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


def text(response) -> str:
    """What a reader sees, blanks made one."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


# Sent twice


def test_a_form_that_is_sent_twice_makes_one_collection(client):
    for changes in ({}, {"name": "Hats", "slug": "hats"}):
        first, second = (client.post(ACT, sent(**changes)) for _ in range(2))
        assert first.status_code == second.status_code == 302
        assert first.url == second.url
    assert Collection.objects.count() == 2
    another = client.post(ACT, sent(preset="binary"))
    assert another.url != first.url and Collection.objects.count() == 3


def test_a_page_with_a_form_that_writes_sends_it_once_and_says_first_that_it_is_refused(client):
    page, refused = client.get(PAGE).content.decode(), client.post(ACT, sent(name="")).content.decode()
    assert page.count("forms.js") == refused.count("forms.js") == 1
    assert "<title>New collection" in page and "<title>Error: New collection" in refused
    assert "forms.js" not in client.get("/accounts/sessions/").content.decode().partition("</main>")[0]
    assert "<script" not in client.get("/help/").content.decode()


# Who may


def test_a_superuser_and_whom_they_let_see_the_link_and_the_page(client):
    root = signed_in(get_user_model().objects.create_superuser("root", password="a pass phrase"))
    for visitor in (client, root):
        assert 'class="btn main" href="/new-collection/"' in visitor.get("/").content.decode()
        assert visitor.get(PAGE).status_code == 200
    leads = f'href="{reverse("accounts")}"'  # to who else may
    assert leads in root.get(PAGE).content.decode() and leads not in client.get(PAGE).content.decode()


def test_nobody_else_makes_collections():
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
    response = client.post(ACT, sent(description="Products of our shop."))
    collection = Collection.objects.get()
    assert (collection.slug, collection.name) == ("the-shop", "The shop")
    assert collection.description == "Products of our shop."
    assert response.status_code == 302 and response.url.startswith("/collections/the-shop/")
    assert "The shop is made, with 4 grades. You are its admin." in text(client.get(response.url))
    assert [str(grade) for grade in collection.grades.all()] == [
        "0 Irrelevant",
        "1 Related",
        "2 Good",
        "3 Perfect",
    ]
    assert all(grade.meaning for grade in collection.grades.all())
    assert collection.memberships.get().role == Role.ADMIN and collection.memberships.get().user == maker
    told = collection.latest_guidelines()
    assert told.version == 1
    assert re.findall(r"^## (.+)$", told.text, re.MULTILINE)[:4] == [
        "3 Perfect",
        "2 Good",
        "1 Related",
        "0 Irrelevant",
    ]


@pytest.mark.parametrize("preset", scales.PRESETS, ids=lambda preset: preset.name)
def test_every_preset_makes_its_scale(client, preset):
    client.post(ACT, sent(preset=preset.name))
    collection = Collection.objects.get()
    assert scales.steps_of(collection.grades.all()) == list(preset.steps)
    assert collection.relevant_from == preset.relevant_from in preset.values


def test_a_scale_of_ones_own_is_written_line_by_line(client):
    lines = "2: Yes: It answers: all of it.\n\n−1: Harmful\r\n 0.5 \n"
    client.post(ACT, sent(preset="own", grades=lines))
    collection = Collection.objects.get()
    rows = [(grade.plain, grade.label, grade.meaning) for grade in collection.grades.all()]
    assert rows == [("-1", "Harmful", ""), ("0.5", "", ""), ("2", "Yes", "It answers: all of it.")]
    assert str(collection.relevant_from.normalize()) == "0.5"  # the lowest above 0


def test_what_is_relevant_is_said(client):
    client.post(ACT, sent(relevant_from="2"))
    assert Collection.objects.get().relevant_from == 2


# Addresses


def test_an_address_is_made_of_the_name_and_is_free(client):
    for number, name in enumerate(("The shop", "The Shop!", "the shop", "検索", "検索")):
        assert client.post(ACT, sent(name=name, description=str(number))).status_code == 302
    slugs = Collection.objects.order_by("pk").values_list("slug", flat=True)
    assert list(slugs) == ["the-shop", "the-shop-2", "the-shop-3", "collection", "collection-2"]


def test_an_address_of_a_long_name_is_short_enough(client):
    for number in range(2):
        client.post(ACT, sent(name="x" * 200, description=str(number)))
    assert sorted(len(slug) for slug in Collection.objects.values_list("slug", flat=True)) == [75, 77]


def test_an_address_that_is_typed_is_kept(client):
    client.post(ACT, sent(slug="Shop_2"))
    assert Collection.objects.get().slug == "Shop_2"


# What is refused


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": " "}, "Give it a name, such as Shop search."),
        ({"name": "x" * 201}, "at most 200 characters"),
        ({"name": "a\x00b"}, "Null characters are not allowed."),
        ({"slug": "hills"}, "There is a collection &#x27;hills&#x27; already. Choose another name."),
        ({"slug": "a\x00b"}, "Null characters are not allowed."),
        ({"slug": "two words"}, "cannot be part of an address."),
        ({"preset": ""}, "Choose a scale."),
        ({"preset": "nonsense"}, "Select a valid choice."),
        ({"preset": "own"}, "Write at least two grades"),
        ({"preset": "own", "grades": "0: No"}, "Write at least two grades"),
        (
            {"preset": "own", "grades": "0: No\n\nlow: Bad"},
            "In line 3 the grade &#x27;low&#x27; is not a decimal number.",
        ),
        ({"preset": "own", "grades": "0: No\n0.0: Never"}, "In line 2 the value 0 appears twice."),
        ({"preset": "own", "grades": "1:" + "x" * 61 + "\n0"}, "is longer than 60 characters"),
        ({"preset": "own", "grades": "\n".join(map(str, range(101)))}, "at most 100 can be typed"),
        ({"relevant_from": "4"}, "nothing would be relevant; the highest is 3 Perfect."),
        ({"relevant_from": "NaN"}, "Enter a number."),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_stays(client, wrong, said):
    make_collection("hills")
    response = client.post(ACT, sent(name="Kept <b>", description="Kept, too") | wrong)
    assert response.status_code == 400 and said in text(response)
    assert "Kept, too" in response.content.decode()
    assert Collection.objects.count() == 1


@pytest.mark.both_databases
def test_a_name_that_somebody_takes_at_the_same_moment_is_said(client, monkeypatch):
    """Between the check of the form and the row."""
    monkeypatch.setattr(Collection, "full_clean", lambda self: None)
    make_collection("hills")
    monkeypatch.setattr("ratings.set_up.forms.wrong_slug", lambda slug: "")
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
