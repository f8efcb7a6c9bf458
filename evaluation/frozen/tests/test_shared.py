"""The read-only link to a frozen evaluation: who makes and ends it, what it shows, and what it never shows."""

import re

import pytest
from django.test import Client

from evaluation.frozen.stored import standings_of
from evaluation.frozen.tests.test_frozen import freeze
from evaluation.models import FrozenLink
from evaluation.tests.hills import analyst, make_field, make_hills, spec_of, text_of
from ratings.models import AuditEvent
from ratings.people import throttle
from ratings.people.audit import Act
from ratings.tests.cast import make_sample

pytestmark = pytest.mark.django_db


def shared(client, collection, name: str = "Spring"):
    """The frozen evaluation, and the address that an analyst made for it."""
    found, _ = freeze(collection, name)
    page = f"/collections/{collection.slug}/frozen/{found.short}/"
    response = client.post(f"{page}share/", follow=True)
    return found, re.search(r'value="http://testserver(/shared/[\w-]+/)"', response.content.decode())[1]


def test_who_has_the_link_reads_the_verdict_without_an_account(client):
    collection = make_hills()
    _, address = shared(analyst(client, collection), collection)
    response = Client().get(address)
    page = text_of(response)
    assert "good has the highest mean nDCG@10, 0.82." in page
    assert "good 0.8155" in page and "n = 2" in page and "nDCG@10 lin log2 ideal=judged unj=0 neg=minmax" in page
    assert [row["system"] for row in spec_of(response, "means")["datasets"]["means"]] == ["good", "bad"]
    assert response["X-Robots-Tag"] == "noindex" and response["Referrer-Policy"] == "strict-origin"
    assert Client().get(address, {"chart": "means"})["Content-Type"] == "image/svg+xml"
    assert Client().post(address).status_code == 405


def test_of_a_log_the_frozen_and_the_shared_page_say_what_the_mean_and_its_interval_are_about(client):
    collection = make_hills()
    make_sample(collection, [("q1", 30, 1.0), ("q2", 1, 0.1)])
    collection.touch()
    found, address = shared(analyst(client, collection), collection)
    (best, *_) = standings_of(found).values()
    told = "Mean nDCG@10 over all searches of the log with its 95 % interval for the draw of the queries, n = 2"
    for response in (Client().get(address), client.get(f"/collections/hills/frozen/{found.short}/")):
        page = text_of(response)
        assert told in page and "over queries" not in page
        assert f"{best.mean:.4f} of the queries {best.plain:.4f}" in page and "2 100 %" in page


def test_it_names_no_person_and_no_query(client):
    collection = make_hills()
    analyst(client, collection, "canary-ann")
    found, _ = freeze(collection, "Spring", note="canary-note")
    client.post(f"/collections/hills/frozen/{found.short}/share/")
    page = Client().get(f"/shared/{FrozenLink.objects.get().key}/").content.decode()
    assert "canary" not in page and "text of q1" not in page and "/collections/" not in page


def test_it_ends_when_it_is_revoked_and_a_new_one_has_another_address(client):
    collection = make_hills()
    found, address = shared(analyst(client, collection), collection)
    page = f"/collections/hills/frozen/{found.short}/"
    client.post(f"{page}share/")  # sent twice: the address that was given out stays
    assert Client().get(address).status_code == 200 and FrozenLink.objects.count() == 1
    client.post(f"{page}stop_sharing/")
    assert Client().get(address).status_code == 404
    assert shared(client, collection)[1] != address
    acts = AuditEvent.objects.filter(act__startswith="frozen.").order_by("pk").values_list("act", flat=True)
    assert list(acts) == [Act.SHARED, Act.SHARED_NO_MORE, Act.SHARED]


def test_it_ends_with_the_setting_and_with_the_collection(client, settings):
    collection = make_hills()
    found, address = shared(analyst(client, collection), collection)
    settings.SHARED_LINKS = False
    assert Client().get(address).status_code == 404
    page = f"/collections/hills/frozen/{found.short}/"
    assert "Make a link" not in text_of(client.get(page)) and client.post(f"{page}share/").status_code == 404
    client.post(f"{page}stop_sharing/")
    assert not FrozenLink.objects.exists()  # what is off can still be ended
    settings.SHARED_LINKS = True
    _, address = shared(client, collection)
    type(collection).objects.filter(pk=collection.pk).update(slug=None)
    assert Client().get(address).status_code == 404


def test_of_many_systems_the_best_fit_on_a_page_and_the_rest_are_counted(client):
    collection = make_field(first={f"s{n:02}": n for n in range(13)})
    _, address = shared(analyst(client, collection), collection)
    response = Client().get(address)
    assert len(spec_of(response, "means")["datasets"]["means"]) == 12
    assert "12 of 13 systems" in text_of(response) and "s00" not in spec_of(response, "means").__str__()


def test_a_picture_file_says_what_it_shows(client):
    """A person who gets the picture alone reads its title, the measure, the interval and n."""
    collection = make_hills()
    analyst(client, collection)
    response = client.get("/collections/hills/", {"chart": "means", "picture": "svg"})
    told = " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())
    assert "Hills: mean nDCG@10 of each system" in told
    assert "95 % interval over queries, n = 2" in told and "nDCG@10 lin log2 ideal=judged unj=0 neg=minmax" in told
    assert 'filename="hills-means.svg"' in response["Content-Disposition"]
    png = client.get("/collections/hills/", {"chart": "means", "picture": "png"})
    assert png["Content-Type"] == "image/png" and png.content.startswith(b"\x89PNG")
    assert client.get("/collections/hills/", {"chart": "means", "picture": "gif"}).status_code == 404


def test_strangers_have_few_charts_drawn_in_a_minute(client):
    """Thirty requests at once for large pictures made other people wait for 6 seconds."""
    collection = make_hills()
    _, address = shared(analyst(client, collection), collection)
    statuses = [
        Client().get(address, {"chart": "means"}).status_code for _ in range(throttle.DRAWINGS_PER_ADDRESS + 1)
    ]
    assert statuses == [200] * throttle.DRAWINGS_PER_ADDRESS + [429]
    assert Client().get(address).status_code == 200
