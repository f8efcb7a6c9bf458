"""The default options of a collection: who sets them, what reads them, and which addresses keep their numbers."""

import json

import pytest
from django.core.management import call_command

from evaluation import frozen
from evaluation.measures import parse_measure
from evaluation.models import Watch
from evaluation.scores import Asked
from evaluation.tests.hills import analyst, make_hills, rate, text_of
from evaluation.watching.scoring import asked_of
from ratings.collection import making, putting_away
from ratings.models import AuditEvent, Role, Scope
from ratings.tests.calls import items, make_caller
from ratings.tests.cast import make_member

pytestmark = pytest.mark.django_db
MEDIAN = {"measure": "nDCG@5", "profile": "default", "rule": "median", "gain": "exponential"}
NAMED = "?measure=nDCG@5&profile=default&rule=median&gain=exponential"
PAGE = "/collections/hills/"
DEFAULTS = f"{PAGE}default-options/"


@pytest.fixture
def collection():
    """Three raters say 3, 0 and 0 of a: the mean is 1 and the median 0."""
    collection = make_hills()
    for rater in ("second", "third"):
        rate(collection, {("q1", "a"): "0"}, rater=rater)
    return collection


def admin(client, collection):
    client.force_login(make_member(collection, "boss", Role.ADMIN))
    return client


def printed(capsys, *arguments: str) -> dict:
    call_command("evaluate", "hills", "--format", "json", *arguments)
    return json.loads(capsys.readouterr().out)


def test_an_admin_makes_the_shown_options_the_default_and_takes_it_back(client, collection):
    admin(client, collection)
    assert f'formaction="{DEFAULTS}"' in client.get(PAGE).content.decode()
    asked = {
        "panel": "default",
        "measure": "nDCG@5",
        "profile": "default",
        "rule": "median",
        "gain": "exponential",
    }
    response = client.get(DEFAULTS, asked, follow=True)
    assert Asked.of(collection).label in (text := text_of(response))
    assert Asked.of(collection, measure="nDCG@5", rule="median", gain="exponential").label in text
    collection.refresh_from_db()
    assert not collection.default_options  # the page only asks
    assert (
        f'action="{DEFAULTS}save/?measure=nDCG@5&amp;rule=median&amp;gain=exponential"'
        in response.content.decode()
    )
    client.post(f"{DEFAULTS}save/?measure=nDCG@5&rule=median&gain=exponential")
    collection.refresh_from_db()
    assert collection.default_options == {
        "measure": "nDCG@5", "profile": "default", "rule": "median", "gain": "exponential"
    }  # fmt: skip
    assert "default of this collection" in text_of(client.get(PAGE, follow=True))
    back = client.get(f"{DEFAULTS}?measure=nDCG@10")
    assert "Use these options by default?" in text_of(back)
    client.post(f"{DEFAULTS}save/?measure=nDCG@10")
    collection.refresh_from_db()
    assert collection.default_options == {}
    about = AuditEvent.objects.filter(act="default_options").order_by("pk").values_list("about", flat=True)
    assert list(about) == ["measure=nDCG@5 profile=default rule=median gain=exponential", "as usual"]


def test_analysts_and_collections_that_are_put_away_set_none(client, collection):
    assert "by default" not in text_of(analyst(client, collection).get(PAGE))
    admin(client, collection)
    putting_away.put_away(collection)
    client.post(f"{DEFAULTS}save/?measure=AP")
    collection.refresh_from_db()
    assert collection.default_options == {}
    assert "save/" not in client.get(f"{DEFAULTS}?measure=AP").content.decode()


def test_pages_files_commands_and_calls_use_it_where_nothing_is_asked(client, collection, capsys):
    making.save_default_options(collection, MEDIAN)
    analyst(client, collection)
    label = Asked.of(collection).label
    assert label.startswith("nDCG@5 exp") and label.endswith("rule=median")
    system = f"systems/{collection.systems.first().pk}/"
    for page in ("", "queries/", "compare/", "agreement/", "frozen/new/", system):
        response = client.get(f"{PAGE}{page}", {"page": 1} if page == "queries/" else {})
        assert response.status_code == 302 and NAMED in response["Location"], page
        assert "rule=median" in text_of(client.get(response["Location"])), page
    assert client.get(f"{PAGE}queries/?page=1")["Location"].endswith(f"{NAMED}&page=1")
    for file in (client.get(f"{PAGE}scores.json").json(), printed(capsys)):
        assert (file["rule"], file["options"]["gain"], file["results"][0]["measure"]) == (
            "median", "exponential", "nDCG@5"
        )  # fmt: skip
    caller = make_caller(make_member(collection, "bot", Role.ANALYST), collection, Scope.READ)
    assert caller.get("/collections/hills/evaluation").json()["rule"] == "median"
    grades = {
        (row["query"], row["document"]): row["grade"] for row in items(caller.get("/collections/hills/judgments"))
    }
    assert grades["q1", "a"] == 0
    call_command("export_qrels", "hills", "--map", "-1=0")
    assert "q1 0 a 0\n" in capsys.readouterr().out
    exported = b"".join(client.get(f"{PAGE}export/judgments/")).decode()
    assert "q1,a,0" in exported
    assert "Results counts by median" in text_of(client.get(f"{PAGE}export/"))


def test_an_option_that_is_named_stands_beside_the_default_of_the_others(collection, capsys):
    making.save_default_options(collection, MEDIAN)
    document = printed(capsys, "--measure", "AP")
    assert (document["rule"], document["results"][0]["measure"]) == ("median", "AP")
    document = printed(capsys, "--rule", "mean", "--gain", "linear")
    assert (document["rule"], document["options"]["gain"]) == ("mean", "linear")
    document = printed(capsys, "--profile", "trec_eval")  # a profile brings all its options
    assert (document["rule"], document["options"]["gain"]) == ("median", "linear")


def test_an_address_with_an_option_keeps_its_numbers_when_the_default_changes(client, collection):
    analyst(client, collection)
    shared = [f"{PAGE}scores.json?measure=AP", f"{PAGE}scores.json?rule=min", f"{PAGE}scores.json?profile=default"]
    before = [client.get(address).json() for address in shared]
    making.save_default_options(collection, MEDIAN)
    assert [client.get(address).json() for address in shared] == before
    page = client.get(PAGE, follow=True)
    address = page.redirect_chain[-1][0]
    numbers = client.get(address.replace(PAGE, f"{PAGE}scores.json")).json()
    making.save_default_options(collection, {"measure": "AP", "profile": "default"})
    assert client.get(address).status_code == 200
    assert client.get(address.replace(PAGE, f"{PAGE}scores.json")).json() == numbers
    # The usual options are named, too, as an address without any now asks another thing.
    asked = Asked.of(collection, measure="nDCG@10", profile="default", rule="mean")
    assert asked.keep == "?measure=nDCG@10"
    assert (
        client.get(f"{PAGE}?panel=default&measure=nDCG@10&profile=default")["Location"]
        == f"{PAGE}?measure=nDCG@10"
    )


def test_a_watch_keeps_what_it_asks(collection):
    making.save_default_options(collection, MEDIAN)
    watch = Watch(collection=collection, asked={"measure": "AP"})
    assert (asked_of(watch).rule, asked_of(watch).changes) == ("mean", ())


def test_links_of_a_page_name_the_options(client, collection):
    making.save_default_options(collection, MEDIAN)
    analyst(client, collection)
    content = client.get(f"{PAGE}{NAMED}").content.decode()
    for page in ("queries/", "compare/", "agreement/", "scores.csv"):
        assert f'"{PAGE}{page}?measure=nDCG@5' in content, page


def test_the_first_page_and_a_frozen_evaluation(client, collection):
    stored, _ = frozen.freeze(collection, "before", Asked.of(collection))
    before = stored.hash
    analyst(client, collection)
    client.get("/")
    making.save_default_options(collection, {"measure": "RR", "profile": "default"})
    assert "RR" in text_of(client.get("/"))
    stored.refresh_from_db()
    assert stored.hash == before and frozen.settings_of(stored).asked.measure == parse_measure("nDCG@10")


def test_a_default_without_a_meaning_is_told_and_can_be_changed(client, collection):
    """As after an import of an archive of a later version."""
    making.save_default_options(collection, {"measure": "Delight@10", "profile": "default"})
    admin(client, collection)
    response = client.get(PAGE)
    assert response.status_code == 400 and "Delight" in text_of(response)
    assert client.get("/").status_code == 200
    client.post(f"{DEFAULTS}save/?measure=nDCG@10")
    assert client.get(PAGE).status_code == 200
