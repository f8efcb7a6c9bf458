"""A rater who is left out: no number, file or call has their ratings, all say so, and it can be taken back."""

import io
import re

import pytest
from django.core.management import call_command
from django.test import Client

from evaluation.frozen import freezing
from evaluation.frozen.stored import settings_of
from evaluation.scores import Asked
from evaluation.tests.hills import GRADES, make_hills, rate, text_of
from ratings.models import AuditEvent, Collection, Rater, Role
from ratings.people import tokens
from ratings.pool import adjudication, leaving_out
from ratings.tests.cast import make_member

pytestmark = pytest.mark.django_db
LEFT_OUT = r' left_out=1|,\s*"left_out": 1|counts,,,left_out,1[^\n]*\n'  # how files say that a rater is left out
OPPOSITE = {pair: "0" if float(grade) > 0 else "3" for pair, grade in GRADES.items()}
READ = (
    "/collections/hills/scores.csv",
    "/collections/hills/scores.json",
    "/collections/hills/queries/scores.csv",
    "/collections/hills/agreement/agreement.csv",
    "/collections/hills/agreement/agreement.json",
    "/api/v1/collections/hills/ratings",
    "/api/v1/collections/hills/judgments",
    "/api/v1/collections/hills/evaluation",
)
COMMANDS = (
    ["evaluate", "hills", "--per-query", "--format", "json"],
    ["export_qrels", "hills", "--rule", "min", "--map=-1=0"],
    ["export_ratings", "hills"],
    ["agreement", "hills", "--format", "json"],
)


def make_graded() -> Collection:
    """Anna and Boris grade as `hills` does: good 0.8155, bad 0.2044, and they agree fully."""
    collection = make_hills(grades={})
    rate(collection, GRADES, rater="anna")
    rate(collection, GRADES, rater="boris")
    return collection


def cheat_in(collection: Collection) -> Rater:
    """A rater who gives every pair the opposite."""
    rate(collection, OPPOSITE, rater="cheat")
    return collection.raters.get(name="cheat")


def admin_of(collection: Collection) -> Client:
    """An admin who is signed in, and whose token the calls of the API carry."""
    eva = make_member(collection, "eva", Role.ADMIN)
    _, key = tokens.make(eva, collection, name="test", scopes=["read"], days=1)
    client = Client(headers={"authorization": f"Bearer {key}"})
    client.force_login(eva)
    return client


def answers(client) -> dict[str, str]:
    """What every address and command says, without what names the options."""
    said = {path: client.get(path) for path in READ}
    assert {response.status_code for response in said.values()} == {200}
    texts = {path: response.content.decode() for path, response in said.items()}
    for command in COMMANDS:
        out = io.StringIO()
        call_command(*command, stdout=out)
        texts[command[0]] = out.getvalue()
    return {name: re.sub(LEFT_OUT, "", text) for name, text in texts.items()}


def test_no_page_file_call_or_command_has_the_ratings_of_who_is_left_out():
    collection = make_graded()
    client = admin_of(collection)
    without = answers(client)
    cheat = cheat_in(collection)
    with_cheat = answers(client)
    assert [name for name in without if with_cheat[name] == without[name]] == []
    leaving_out.leave_out(cheat)
    assert answers(client) == without
    leaving_out.count_again(cheat)
    assert answers(client) == with_cheat


def test_every_number_says_that_raters_are_left_out():
    collection = make_graded()
    leaving_out.leave_out(cheat_in(collection))
    client = admin_of(collection)
    found = client.get("/collections/hills/scores.json").json()
    assert found["fingerprint"].endswith(" left_out=1")
    assert {row["fingerprint"].endswith(" left_out=1") for row in found["results"]} == {True}
    for path in ("", "agreement/", "queries/", "compare/"):
        page = text_of(client.get(f"/collections/hills/{path}"))
        assert "Left out: 1 rater" in page, path
    collection = Collection.objects.get()
    frozen, _ = freezing.freeze(collection, "First", Asked.of(collection))
    assert settings_of(frozen).asked.fingerprint.endswith(" left_out=1")


def test_pairs_in_dispute_leave_their_ratings_out():
    collection = make_graded()
    cheat = cheat_in(collection)
    assert adjudication.disputed(collection).count() == 5
    leaving_out.leave_out(cheat)
    assert adjudication.disputed(collection).count() == 0


def test_the_page_shows_the_effect_before_the_act():
    collection = make_graded()
    cheat = cheat_in(collection)
    client = admin_of(collection)
    path = f"/collections/hills/people/raters/{cheat.pk}/left-out/"
    page = text_of(client.get(path))
    assert "Leave out the ratings of cheat?" in page
    assert "Five grades would count nowhere" in page
    assert "1.00 without" in page and "good 0." in page and "0.8155" in page
    assert not Rater.objects.get(pk=cheat.pk).left_out_at
    told = client.post(f"/collections/hills/people/raters/{cheat.pk}/leave-out/", follow=True)
    assert "none of their ratings counts" in text_of(told)
    assert "Five grades would count again" in text_of(client.get(path))
    client.post(f"/collections/hills/people/raters/{cheat.pk}/count-again/")
    assert not Rater.objects.get(pk=cheat.pk).left_out_at
    acts = AuditEvent.objects.filter(about="cheat").values_list("act", flat=True)
    assert list(acts.order_by("pk")) == ["rater.left_out", "rater.counted_again"]
