import os
import stat
from collections import Counter

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.test import Client
from django.urls import reverse

from ratings import queue, sample
from ratings.models import Collection, Rater, Rating

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def test_the_sample_is_worth_a_look():
    collection = sample.load()
    assert collection.queries.exclude(need="").count() >= 12
    assert collection.documents.count() >= 60
    assert collection.systems.count() == 3
    assert collection.raters.count() == 3
    assert collection.grades.filter(value__lt=0).exists()
    grades = Counter()
    for pair in set(Rating.objects.values_list("pair", flat=True)):
        values = set(Rating.objects.filter(pair=pair, grade__isnull=False).values_list("grade", flat=True))
        grades[len(values) > 1] += 1
    assert grades[True] > 10, "the raters sometimes disagree"


def test_the_first_start_loads_it_once_and_keeps_the_passwords_to_the_owner():
    assert sample.load_on_first_start()
    assert not sample.load_on_first_start()
    assert Collection.objects.count() == 1
    file = sample.sign_ins_file()
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    for line in file.read_text().splitlines():
        name, password = line.split()
        assert authenticate(username=name, password=password) is not None


def test_an_installation_with_collections_of_its_own_gets_no_sample():
    Collection.objects.create(slug="own", name="Own")
    assert not sample.load_on_first_start()
    assert not sample.sign_ins_file().exists()


def test_pairs_are_left_for_the_visitor():
    sample.load_on_first_start()
    visitor = Rater.objects.get(user__username="sample-rater")
    assert queue.outlook(visitor).left >= 14


def test_looking_around_is_offered_only_to_a_visitor_on_this_machine(settings):
    sample.load_on_first_start()
    address = reverse("look_around", args=["analyst"])
    assert Client().post(address).status_code == 404
    settings.DEMO = True
    here = {"host": "localhost:8000"}  # all right but for the one thing that each line changes
    assert Client().post(address, headers=here, REMOTE_ADDR="10.0.0.9").status_code == 404
    for header in ("x-forwarded-for", "forwarded", "x-real-ip", "via"):
        assert Client().post(address, headers={**here, header: "10.0.0.9"}).status_code == 404
    settings.ALLOWED_HOSTS = ["*"]
    assert Client().post(address, headers={"host": "ratings.example.org"}).status_code == 404
    assert Client().post(reverse("look_around", args=["owner"]), headers=here).status_code == 404
    assert Client().get(address).status_code == 405
    client = Client()
    assert client.post(address, headers=here).status_code == 302
    assert client.get(reverse("home")).context["user"].username == "sample-analyst"


def test_looking_around_never_becomes_somebody_with_power():
    sample.load_on_first_start()
    assert not get_user_model().objects.filter(username__startswith="sample-", is_superuser=True).exists()
