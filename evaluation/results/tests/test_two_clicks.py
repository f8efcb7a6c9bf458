"""Each question of an analyst is answered at most two clicks from *Results*."""

import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.urls import resolve

from evaluation import frozen, scores
from evaluation.tests.hills import analyst, make_hills, rate, text_of

pytestmark = pytest.mark.django_db
RESULTS = "/collections/hills/"
ANSWERS = {
    "which system is better": ("overview", "good"),
    "by how much": ("compare", "Difference"),
    "how sure": ("compare", "95 % interval"),
    "why on this query": ("query", "does harm at rank 1"),
    "what to judge next": ("holes", "Unjudged"),
    "do raters agree": ("agreement", "the same grade in"),
    "what changed since": ("compare_frozen", "What changed from May to June"),
}


def linked(client, address: str) -> dict[str, str]:
    """Name of a page → an address to which a link, or a button of a form as it stands, leads from this one."""
    content = client.get(address).content.decode()
    links = re.findall(r'<a [^>]*?href="([^"#]*)', content)
    for action, fields in re.findall(r'<form [^>]*method="get" action="([^"#]+)"(.*?)</form>', content, re.S):
        chosen = re.findall(r'<select name="(\w+)">.*?<option value="([^"]+)" selected', fields, re.S)
        links.append(f"{action}?{'&'.join(map('='.join, chosen))}")
    addresses = [urljoin(address, unescape(link)) for link in links]
    # The first link counts; what does not end in a stroke is a file.
    paths = [(urlsplit(to).path, to) for to in reversed(addresses)]
    return {resolve(path).url_name: to for path, to in paths if path.startswith(RESULTS) and path.endswith("/")}


def test_each_question_is_answered_within_two_clicks_of_results(client):
    collection = make_hills()
    frozen.freeze(collection, "May", scores.Asked.of(collection))
    rate(collection, {("q1", "a"): "3", ("q1", "b"): "1"}, rater="second")
    frozen.freeze(collection, "June", scores.Asked.of(collection))
    analyst(client, collection)
    pages = {"overview": RESULTS} | linked(client, RESULTS)
    for address in list(pages.values()):
        pages = linked(client, address) | pages
    for question, (page, answer) in ANSWERS.items():
        assert page in pages, question
        assert answer in text_of(client.get(pages[page])), question
