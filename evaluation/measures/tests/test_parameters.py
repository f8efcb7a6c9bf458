"""The parameters of pages and files: others are refused, and no link or form of a page has others."""

import re
from html import unescape
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import Resolver404, resolve, reverse

from evaluation import frozen, scores
from evaluation.tests.hills import analyst, make_hills, text_of
from ratings.models import Role
from ratings.tests.cast import make_member

pytestmark = pytest.mark.django_db

PAGES = ["overview", "queries", "compare", "differences", "agreement", "drift", "expected", "freeze", "frozen"]
FILES = ["overview_csv", "queries_json", "compare_csv", "segments_csv", "agreement_json", "drift_csv", "alone_csv"]
FILES += ["expected_rounds_csv", "export_rounds", "frozen_csv", "compare_frozen_csv"]


@pytest.fixture(scope="module")
def hills(standing):
    """Frozen twice. The tests only read."""
    collection = make_hills()
    for name in ("first", "second"):
        frozen.freeze(collection, name, scores.Asked.of(collection))
    make_member(collection, "dora", Role.ADMIN)
    analyst(Client(), collection)
    return collection


@pytest.fixture
def reader(client, hills) -> Client:
    client.force_login(get_user_model().objects.get(username="ann"))
    return client


def address(collection, name: str) -> str:
    if name == "frozen_csv":
        return reverse(name, args=[collection.slug, collection.frozen_evaluations.first().short])
    return reverse(name, args=[collection.slug])


@pytest.mark.parametrize("name", [*PAGES, *FILES, "export_judgments"])
def test_a_parameter_that_is_not_known_is_refused(reader, hills, name):
    for asked in ({"mesure": "P@5"}, {"Measure": "P@5"}):
        assert reader.get(address(hills, name), asked).status_code == 400


def said(response) -> str:
    return text_of(response) if "html" in response["Content-Type"] else response.content.decode()


def test_a_parameter_counts_once_unless_it_is_a_list(reader, hills):
    for name in ("overview", "overview_json"):
        assert reader.get(address(hills, name), {"measure": ["P@5", "AP"]}).status_code == 400
    assert reader.get(address(hills, "compare"), {"system": ["good", "bad"]}).status_code == 200


def test_expected_values_are_asked_for_in_one_way(reader, hills):
    for name in ("overview", "overview_csv", "compare_csv"):
        assert reader.get(address(hills, name), {"expected": "true"}).status_code == 400


def test_what_a_mail_adds_to_a_link_is_let_through(reader, hills):
    marked = {"measure": "P@5", "utm_source": "mail", "fbclid": "x"}
    assert reader.get(address(hills, "overview"), marked).status_code == 200


def test_tabs_keep_the_measure_and_the_options(reader, hills):
    asked = {"measure": "P@5", "negatives": "raw"}
    for name in ("overview", "queries", "compare", "agreement"):
        page = reader.get(address(hills, name), asked).content.decode()
        nav = unescape(re.search(r'<nav aria-label="Hills">.*?</nav>', page, re.S)[0])
        for tab in ("overview", "queries", "compare", "agreement"):
            assert f'href="{address(hills, tab)}?measure=P@5&negatives=raw"' in nav


@pytest.mark.slow
def test_every_link_and_form_has_only_parameters_that_its_page_takes(hills):
    """Of each page, with each kind of parameters, once."""
    reader = Client()
    reader.force_login(get_user_model().objects.get(username="dora"))
    options = {"measure": "P@5", "negatives": "raw", "rule": "max"}
    query, system = hills.queries.get(key="q1").pk, hills.systems.get(name="good").pk
    begin = [f"{address(hills, name)}?{urlencode(options)}" for name in [*PAGES[:-1], "decisive"]]
    begin += [address(hills, "frozen"), address(hills, "exports"), reverse("system", args=["hills", system])]
    begin += [f"{reverse('query', args=['hills', query])}?{urlencode({'system': ['good', 'bad']}, doseq=True)}"]
    begin += [f"{address(hills, 'differences')}?baseline=good&system=bad&sort=text&q=q1&{urlencode(options)}"]
    begin += [f"{address(hills, 'compare')}?baseline=good&system=bad&pairs=all&expected=1"]
    begin += [f"{address(hills, 'queries')}?sort=text&q=q"]
    waiting, seen = list(begin), {kind(each) for each in begin}
    while waiting:
        here = waiting.pop()
        response = reader.get(here)
        assert response.status_code != 400 or "parameter" not in said(response), here
        if response.streaming or "html" not in response["Content-Type"]:
            continue
        for there in leads_to(response.content.decode(), here):
            if kind(there) and kind(there) not in seen:
                seen.add(kind(there))
                waiting.append(there)


def leads_to(page: str, here: str) -> list[str]:
    """The addresses of all links, and of all forms that change nothing, as they stand."""
    found = [unescape(link) for link in re.findall(r' (?:href|src)="([^"#]+)', page)]
    for form in re.findall(r"<form(?![^>]*post)[^>]*>.*?</form>", page, re.S):
        action = re.search(r'action="([^"]+)"', form[: form.index(">")])
        sent = [
            (name, unescape(value)) for name, value in re.findall(r'<input[^>]*name="(\w+)" value="([^"]*)"', form)
        ]
        sent += [(name, "") for name in re.findall(r'<select[^>]*name="(\w+)"', form)]
        found.append(f"{unescape(action[1]) if action else ''}?{urlencode(sent)}")
    path = urlsplit(here).path
    return [path + link if link.startswith("?") else link for link in found]


def kind(address: str) -> tuple | None:
    """The view and the names of the parameters; None for other places than pages and files of evaluations."""
    parts = urlsplit(address)
    try:
        match = resolve(parts.path)
    except Resolver404:
        return None
    if parts.netloc or not match.func.__module__.startswith("evaluation."):
        return None
    return match.url_name, tuple(sorted(name for name, _ in parse_qsl(parts.query, keep_blank_values=True)))
