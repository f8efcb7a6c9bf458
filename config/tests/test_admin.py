"""Django's admin: superusers read every page of it, nobody changes a row by it, and nobody else gets a page."""

import pytest
from django.contrib.auth import get_user_model
from django.urls import URLPattern, get_resolver, reverse
from django_tasks_db.models import DBTaskResult

from ratings.admin import site

from .test_access import SIGN_IN, World, rows

pytestmark = pytest.mark.django_db

OF_SITE = {"index", "login", "autocomplete", "jsi18n", "app_list", "view_on_site"}


@pytest.fixture(scope="module")
def built(standing) -> World:
    world = World()
    world.users["root"] = get_user_model().objects.create_superuser("root", password="a pass phrase")
    world.sessions["root"] = world.sign_in("root")
    DBTaskResult.objects.create(args_kwargs={"args": [], "kwargs": {}}, backend_name="default")
    return world


def name_of(model) -> str:
    return f"{model._meta.app_label}_{model._meta.model_name}"


def addresses() -> list[tuple[str, str]]:
    """(page, address) for everything in Django's admin; what is about a row, for one row of each model."""
    prefix, resolver = get_resolver().namespace_dict["admin"]
    first = {name_of(model): model.objects.first().pk for model in site._registry}
    found = [("nowhere", f"/{prefix}nowhere/")]

    def walk(entries) -> None:
        for entry in entries:
            if not isinstance(entry, URLPattern):
                walk(entry.url_patterns)
            elif entry.name in OF_SITE:
                known = {"app_label": "ratings", "content_type_id": 1, "object_id": 1}
                named = {*entry.pattern.regex.groupindex, *entry.pattern.converters}
                found.append(
                    (entry.name, reverse(f"admin:{entry.name}", kwargs={name: known[name] for name in named}))
                )
            elif entry.name:
                model, _, page = entry.name.rpartition("_")
                args = [first[model]] if entry.pattern.converters else []
                found.append((page, reverse(f"admin:{entry.name}", args=args)))

    walk(resolver.url_patterns)
    return found


def test_who_is_no_superuser_gets_no_page(world):
    every = addresses()
    assert len(every) > 5 * len(site._registry) > 80
    for actor in ("anonymous", "rater", "admin"):
        client, expected = world.client(actor), SIGN_IN if actor == "anonymous" else 404
        found = {address: client.get(address).status_code for page, address in every if page != "login"}
        assert {address: status for address, status in found.items() if status != expected} == {}, actor


def test_a_superuser_reads_every_page_and_every_row(world):
    client = world.client("root")
    found = {(page, client.get(address).status_code) for page, address in addresses()}
    expected = dict.fromkeys(["index", "app_list", "jsi18n", "changelist", "change", "history"], 200)
    expected |= {"add": 403, "delete": 403, "autocomplete": 403, "login": 302, "view_on_site": 404, "nowhere": 404}
    assert found == set(expected.items())
    for model in site._registry:
        assert client.get(reverse(f"admin:{name_of(model)}_changelist"), {"q": "a"}).status_code in {200, 302}
        for row in model.objects.all():  # those of a deleted collection, too
            assert client.get(reverse(f"admin:{name_of(model)}_change", args=[row.pk])).status_code == 200, row


def test_nobody_changes_a_row_by_it(world):
    """Every address gets what saves, adds, deletes and acts on a list."""
    client, before = world.client("root"), rows()
    sent = {"action": "delete_selected", "_selected_action": list(range(1, 50)), "post": "yes", "_save": "Save"}
    sent |= {"collection": world.collection.pk, "name": "x", "key": "x", "kind": "person", "weight": 3}
    for page, address in addresses():
        assert client.post(address, sent).status_code == (302 if page == "login" else 405), address
    assert rows() == before
