"""The page of a collection as a whole: its name; put away, copied, deleted, restored."""

import json
import re
from datetime import timedelta
from html import unescape

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.test import Client
from django_tasks_db.management.commands import db_worker

from ratings.collection import deleting, putting_away
from ratings.copies.jobs import copy
from ratings.desk import queue
from ratings.management.commands._collection_command import Refused
from ratings.management.commands.work import work
from ratings.models import Anchor, Assignment, Collection, Deletion, Job, Rating, Role
from ratings.people import tokens
from ratings.tests.cast import (
    NOW,
    make_collection,
    make_member,
    make_pair,
    make_ranking,
    make_rater,
    make_user,
    signed_in,
    text,
)
from ratings.web.settings_forms import lock

from .test_deleting import make_whole

pytestmark = pytest.mark.django_db

PAGE = "/collections/hills/collection/"
DELETE = PAGE + "delete/"


@pytest.fixture(autouse=True)
def own_folder(settings, tmp_path, monkeypatch) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(db_worker, "close_old_connections", lambda: None)


@pytest.fixture
def collection() -> Collection:
    return make_collection()


@pytest.fixture
def admin(collection):
    return make_member(collection, "admin", Role.ADMIN)


@pytest.fixture
def client(admin) -> Client:
    return signed_in(admin)


def root() -> Client:
    return signed_in(get_user_model().objects.create_superuser("root", password="a pass phrase"))


# Name and description


def test_name_and_description_are_changed_and_the_address_stays(client, collection):
    sent = {"name": " Green hills ", "description": "Two\r\nlines <b>."}
    assert client.post(PAGE + "describe/", sent).url == PAGE
    collection.refresh_from_db()
    found = (collection.name, collection.description, collection.slug)
    assert found == ("Green hills", "Two\nlines <b>.", "hills")
    assert "lines &lt;b&gt;." in client.get("/collections/hills/").content.decode()


def test_the_version_of_the_form_is_sent_along_once_and_not_shown(client, collection):
    page = client.get(PAGE).content.decode()
    assert page.count('name="version"') == 1 and ">Version<" not in page


def test_a_wrong_name_or_description_is_refused_and_nothing_is_changed(client, collection):
    texts = {"name": "a", "description": "x" * 1001}
    for sent in ({"name": " "}, {"name": "x" * 201}, {"name": "a\nb"}, {"name": "a\x00b"}, texts):
        assert client.post(PAGE + "describe/", sent).status_code == 400
    collection.refresh_from_db()
    assert collection.name == "Hills"


def test_the_page_takes_the_same_queries_whatever_the_collection_holds(client, django_assert_num_queries):
    with django_assert_num_queries(7):
        client.get(PAGE)
    make_whole("sea")
    make_ranking(Collection.objects.get(slug="hills"), "bm25", "q1", "abcd")
    with django_assert_num_queries(7):
        client.get(PAGE)


# Put away


def put_away(client: Client) -> None:
    assert client.post(PAGE + "put-away/").url == PAGE


@pytest.mark.both_databases
def test_put_away_raters_get_nothing_and_go_on_when_it_is_taken_out(client, collection):
    first, second = make_pair(collection, "q1", "a"), make_pair(collection, "q1", "b")
    rater = make_rater(collection)
    (task,) = queue.claim(rater)
    put_away(client)
    assert not queue.held(rater) and not Assignment.objects.filter(state="leased").exists()
    assert queue.claim(rater) == [] and queue.outlook(rater).why == "put_away"
    desk = signed_in(rater.user)
    assert "This collection is put away" in text(desk.get("/collections/hills/rate/"))
    desk.post("/collections/hills/rate/next/")
    assert not queue.held(rater)
    # What was on their screen is saved when they send it.
    saved = desk.post(f"/collections/hills/rate/{task.token}/save/", {"grade": "2", "base_revision": "0"})
    assert saved.status_code == 302 and Rating.objects.get().grade.value == 2
    client.post(PAGE + "take-out/")
    (task,) = queue.claim(rater)
    assert {task.pair, Rating.objects.get().pair} == {first, second}


def test_the_record_is_not_changed_while_it_is_put_away(client, collection):
    pair = make_pair(collection)
    putting_away.put_away(collection)
    before = Collection.objects.values().get()
    for act, sent in (
        ("scale/save/", {"base": "1", "relevant_from": "2"}),
        ("pool/make/", {"depth": "1", "wanted": "1"}),
        ("pool/judging/", {"order": "random"}),
        ("import/send/", {"kind": "queries"}),
        (f"anchors/{pair.token}/save/", {"use": "gold", "grade": "3"}),
    ):
        assert client.post(f"/collections/hills/{act}", sent).url == PAGE
    assert Collection.objects.values().get() == before
    assert not Job.objects.exists() and not Anchor.objects.exists()


def test_commands_and_programs_are_refused_and_change_nothing(collection, admin, tmp_path):
    putting_away.put_away(collection)
    (tmp_path / "q.tsv").write_text("q9\tgreen\n")
    for command in (["import_queries", "hills", str(tmp_path / "q.tsv")], ["pool", "hills"]):
        with pytest.raises(Refused, match="hills is put away. Take it out again on its page Collection."):
            call_command(*command)
    _, key = tokens.make(admin, collection, name="build", scopes=["read", "import"], days=7)
    program = Client(headers={"Authorization": f"Bearer {key}"})
    sent = {"queries": [{"key": "q9", "text": "green"}]}
    response = program.post("/api/v1/collections/hills/queries", sent, content_type="application/json")
    assert response.status_code == 422 and "put away" in response.content.decode()
    assert not collection.queries.filter(key="q9").exists()
    assert program.get("/api/v1/collections/hills").json()["put_away"] is True


def test_it_leaves_the_list_for_one_of_its_own_and_its_numbers_stay(client, collection):
    analyst, rater = make_member(collection, "analyst", Role.ANALYST), make_rater(collection)
    put_away(client)
    for person in (client, signed_in(analyst)):
        page = person.get("/").content.decode()
        assert page.index('id="away"') < page.index('href="/collections/hills/"')
        assert person.get("/collections/hills/").status_code == 200
    assert "you are a rater" in text(signed_in(rater.user).get("/"))
    client.post(PAGE + "take-out/")
    assert 'id="away"' not in client.get("/").content.decode()


def test_put_away_twice_it_keeps_its_first_time(client, collection):
    put_away(client)
    at = Collection.objects.get().put_away_at
    put_away(client)
    assert Collection.objects.get().put_away_at == at


# Copy


@pytest.fixture
def maker(admin):
    permission = Permission.objects.get(content_type__app_label="ratings", codename="add_collection")
    admin.user_permissions.add(permission)
    return get_user_model().objects.get(pk=admin.pk)


@pytest.mark.both_databases
def test_a_copy_has_the_set_up_and_nothing_of_people(admin):
    whole = make_whole("sea")
    whole.guidelines.create(version=2, text="Again.")
    whole.queries.filter(key="q1").update(tags=["short"])
    make = root()
    response = make.post("/collections/sea/collection/copy/", {"name": "Second sea", "slug": ""})
    job = Job.objects.latest("pk")
    assert response.url == f"/copies/{job.pk}/"
    work()
    copy = Collection.objects.get(slug="second-sea")
    assert (copy.name, copy.created_at > whole.created_at) == ("Second sea", True)
    assert copy.queries.get(key="q1").tags == ["short"]
    assert list(copy.guidelines.values_list("version", flat=True)) == [2, 1]
    assert (copy.presentations.count(), copy.documents.count()) == (1, 4)
    assert [str(each) for each in copy.grades.all()] == [str(each) for each in whole.grades.all()]
    ranking, former = (each.systems.get(name="bm25").rankings.get() for each in (copy, whole))
    ids = copy.documents.in_bulk(ranking.documents.tolist())
    assert [ids[pk].key for pk in ranking.documents.tolist()] == ["a", "b", "c", "d"]
    assert ranking.scores.tolist() == former.scores.tolist()
    assert not copy.raters.exists() and not copy.frozen_evaluations.exists() and not copy.invitations.exists()
    assert not Rating.objects.filter(query__collection=copy).exists()
    assert not copy.queries.filter(pairs__isnull=False).exists()
    member = copy.memberships.get()
    assert (member.user.username, member.role) == ("root", Role.ADMIN)
    assert "/collections/second-sea/set-up/" in make.get(response.url).text
    # It is no archive that somebody brought, and no import that could be undone.
    assert "copy" not in text(make.get("/archives/"))
    assert make.get(f"/collections/second-sea/import/{job.pk}/").status_code == 404


def test_only_an_admin_who_may_make_collections_copies_it(client, collection):
    analyst = make_member(collection, "analyst", Role.ANALYST)
    permission = Permission.objects.get(content_type__app_label="ratings", codename="add_collection")
    analyst.user_permissions.add(permission)
    for person in (client, signed_in(analyst)):
        assert person.post(PAGE + "copy/", {"name": "Copy"}).status_code == 404
    assert not Job.objects.exists()


def test_who_asked_for_a_copy_and_superusers_see_it_and_nobody_else(maker, collection):
    job = copy(collection, "copy", "Copy", maker)
    other = signed_in(make_member(collection, "other", Role.ADMIN))
    for person, status in ((signed_in(maker), 200), (root(), 200), (other, 404)):
        assert person.get(f"/copies/{job.pk}/").status_code == status
        assert person.get(f"/copies/{job.pk}/progress/").status_code == status
    assert other.post(f"/copies/{job.pk}/cancel/").status_code == 404
    archived = Job.objects.create(kind="archive", files=[{"name": "a.zip"}], by=maker)
    assert signed_in(maker).get(f"/copies/{archived.pk}/").status_code == 404


def test_a_wrong_name_of_a_copy_is_refused(maker, collection):
    for sent in ({"name": ""}, {"name": "Copy", "slug": "hills"}, {"name": "Copy", "slug": "a b"}):
        assert signed_in(maker).post(PAGE + "copy/", sent).status_code == 400
    assert not Job.objects.exists()


def test_a_source_that_is_deleted_meanwhile_ends_the_copy(maker, collection):
    job = copy(collection, "copy", "Copy", maker)
    deleting.delete(collection, None)
    work()
    assert Job.objects.get(pk=job.pk).state == "failed" and not Collection.objects.exists()


# Delete


def sent(**changes) -> dict:
    return {"name": "Hills"} | changes


def test_the_page_counts_what_goes_and_offers_the_download(admin):
    make_whole("sea")
    client = signed_in(get_user_model().objects.get(username="admin of sea"))
    page = client.get("/collections/sea/collection/delete/")
    assert "Ratings 1 Raters 1 Queries 2 Documents 4 Systems 1, with 1 ranking" in text(page)
    assert "Frozen evaluations 1 Pictures 1 Uploaded files 1" in text(page)
    assert 'href="/collections/sea/export/archive/"' in page.content.decode()
    Job.objects.update(state="published")  # then its files are deleted already
    assert "Uploaded files 0" in text(client.get("/collections/sea/collection/delete/"))


def test_nothing_is_deleted_without_its_name(client):
    for wrong in ({"name": "hills"}, {"name": ""}):
        assert client.post(DELETE + "confirm/", sent(**wrong)).status_code == 400
    assert Collection.objects.filter(slug="hills").exists() and not Deletion.objects.exists()


@pytest.mark.both_databases
def test_it_is_gone_for_everybody_at_once_and_listed_for_its_admins(client, collection):
    analyst, rater = make_member(collection, "analyst", Role.ANALYST), make_rater(collection)
    other, above = make_member(collection, "other", Role.ADMIN), root()
    client.post(DELETE + "confirm/", sent())
    deletion = Deletion.objects.get()
    assert deletion.remove_at - deletion.deleted_at == timedelta(days=7)
    admins, others = (client, signed_in(other), above), (signed_in(analyst), signed_in(rater.user))
    for address in ("", "collection/", "rate/", "guidelines/", "export/archive/", "frozen/", "people/"):
        for person in (*admins, *others):
            assert person.get(f"/collections/hills/{address}").status_code == 404, address
    for person in admins:
        page = text(person.get("/"))
        assert "Hills Its address was hills . Deleted by admin ." in page
        assert f"It can be restored until {deletion.remove_at:%-d %b %Y, %H:%M} UTC. Restore" in page
    for person in others:
        assert "Hills" not in text(person.get("/"))
        assert person.post(f"/deleted/{deletion.pk}/restore/").status_code == 404
    told = b"".join(client.get("/accounts/my-data/").streaming_content).decode()
    assert json.loads(told)["deletions"][0]["collection"] == "Hills"


def test_only_a_superuser_has_it_removed_at_once(client, collection):
    client.post(DELETE + "confirm/", sent())
    remove, own = f"/deleted/{Deletion.objects.get().pk}/remove/", root()
    assert client.post(remove).status_code == 404
    assert ("Delete now" in text(client.get("/")), "Delete now" in text(own.get("/"))) == (False, True)
    own.post(remove)
    assert "Restore</button>" not in client.get("/").content.decode()
    deleting.remove_due()
    assert not Collection.written.exists() and 'id="deleted"' not in own.get("/").content.decode()


def test_the_first_page_takes_the_same_queries_for_any_number_of_deleted_ones(django_assert_num_queries):
    client = signed_in(make_user("admin"))
    for slug in ("one", "two", "three"):
        collection = make_collection(slug)
        deleting.delete(collection, make_member(collection, "admin", Role.ADMIN), now=NOW)
        with django_assert_num_queries(7):
            assert slug in text(client.get("/"))


# Two admins have the same settings open


def filled(client, page: str, act: str) -> dict:
    """The form for the address `act` as the page shows it: what a browser sends if nothing is touched."""
    return shown(client.get(page), act)


def shown(page, act: str) -> dict:
    html = page.content.decode()
    form = next(each for each in re.findall(r"(?s)<form.*?</form>", html) if f'action="{act}"' in each)
    sent = {}
    for tag in re.findall(r"<input[^>]*>", form):
        facts = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if "name" in facts and (facts.get("type") != "checkbox" or "checked" in tag):
            sent[facts["name"]] = unescape(facts.get("value", ""))
    for name, inside in re.findall(r'(?s)<textarea name="([^"]+)"[^>]*>\n?(.*?)</textarea>', form):
        sent[name] = unescape(inside).replace("\n", "\r\n")
    for name, options in re.findall(r'(?s)<select name="([^"]+)"[^>]*>(.*?)</select>', form):
        sent[name] = next(iter(re.findall(r'value="([^"]*)" selected', options)), "")
    return sent


def of_two(client, page: str, act: str, first: dict, second: dict):
    """The answer to the second of two who opened the page before either saved."""
    one, two = filled(client, page, act), filled(client, page, act)
    assert client.post(act, one | first).status_code == 302
    return client.post(act, two | second)


def test_settings_of_what_was_deleted_meanwhile_are_not_found(client, collection, monkeypatch):
    """Between the check of the access and the lock."""

    def deleted_first(row) -> None:
        Collection.objects.filter(pk=row.pk).delete()
        lock(row)

    monkeypatch.setattr("ratings.collection.views.collection.lock", deleted_first)
    assert client.post(PAGE + "describe/", {"name": "Dales", "description": ""}).status_code == 404


def test_what_somebody_else_changed_meanwhile_comes_back_with_what_is_stored(client, collection):
    collection.description = "Two\nlines."
    collection.save()
    act = PAGE + "describe/"
    answer = of_two(client, PAGE, act, {"name": "Dales"}, {"description": "New."})
    page = unescape(answer.content.decode())
    assert answer.status_code == 400
    assert "changed this meanwhile: “Dales”" in page and "changed this meanwhile: “Two\nlines.”" in page
    collection.refresh_from_db()
    assert (collection.name, collection.description) == ("Dales", "Two\nlines.")
    assert client.post(act, shown(answer, act) | {"name": "Dales"}).status_code == 302
    collection.refresh_from_db()
    assert (collection.name, collection.description) == ("Dales", "New.")

    assert of_two(client, PAGE, act, {"name": "Same"}, {"name": "Same"}).status_code == 302
    assert client.post(act, {"name": "Fells", "description": ""}).status_code == 302  # a program's


def test_settings_of_judging_terms_of_a_rater_and_roles_are_compared_as_well(client, collection):
    page, act = "/collections/hills/pool/", "/collections/hills/pool/judging/"
    answer = of_two(client, page, act, {"order": "random"}, {"order": "depth"})
    assert answer.status_code == 400 and "changed this meanwhile: “at random”" in unescape(answer.content.decode())

    rater = make_rater(collection)
    page = f"/collections/hills/people/raters/{rater.pk}/"
    answer = of_two(client, page, page + "terms/", {"queries": "q1\r\nq2", "limit": "5"}, {"weight": "2"})
    assert answer.status_code == 400 and "changed this meanwhile: “q1\nq2”" in unescape(answer.content.decode())
    rater.refresh_from_db()
    assert (rater.limit, rater.weight, rater.queries.count()) == (5, 1, 2)
    role = f"/collections/hills/people/members/{collection.memberships.get(user=rater.user).pk}/role/"
    told = of_two(client, page, role, {"role": "analyst"}, {"role": "admin"})
    assert "Somebody else made alice analyst meanwhile." in client.get(told.url, follow=True).content.decode()
