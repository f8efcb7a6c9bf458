"""What unknown columns may hold, by their names and first values."""

import pytest

from ratings.importing.proposing import lacking, proposed
from ratings.tests.cast import make_collection

pytestmark = pytest.mark.django_db


@pytest.fixture
def collection():
    """With the queries q1 and q2, and the documents a, b and c."""
    return make_collection()


def of(kind: str, collection, cells: dict[str, list[str]], **roles: str) -> dict[str, str]:
    return proposed(kind, cells, {name: roles.get(name, "") for name in cells}, collection)


def test_names_and_values_of_a_shop(collection):
    cells = {
        "Preis": ["79,0", "119,5"],
        "Artikel": ["SKU-1", "SKU-2"],
        "Kurzname": ["Walking boots", "Trail runners"],
        "Langtext": ["x" * 90, "y" * 100],
        "Seite": ["https://shop.example.org/1", "https://shop.example.org/2"],
    }
    assert of("documents", collection, cells) == {
        "Preis": "fields", "Artikel": "id", "Kurzname": "title", "Langtext": "body", "Seite": "url",
    }  # fmt: skip


def test_ids_that_the_collection_knows_decide_against_names(collection):
    documents = list(collection.documents.values_list("key", flat=True)[:2])
    queries = list(collection.queries.values_list("key", flat=True)[:2])
    cells = {"Number": ["1", "2"], "Ding": documents, "Frage": queries, "Order": ["1", "2"], "Motor": ["x", "x"]}
    assert of("results", collection, cells, Order="rank") == {
        "Number": "", "Ding": "document", "Frage": "query", "Order": "rank", "Motor": "",
    }  # fmt: skip


def test_ids_with_blanks_are_known_as_they_are_kept(collection):
    collection.documents.filter(key="a").update(key="Annual%20Report.pdf")
    assert of("ratings", collection, {"Ding": ["Annual Report.pdf"]})["Ding"] == "document"


def test_what_is_decided_stays_and_no_decimal_or_repeated_value_is_an_id(collection):
    cells = {"nr": ["1", "2"], "price": ["3", "4"], "Product name": ["Boot", "Shoe"]}
    assert of("documents", collection, cells, nr="title") == {
        "nr": "title",
        "price": "id",
        "Product name": "fields",
    }
    cells = {"colour": ["1", "1"], "EUR": ["1.5", "2.5"], "link": ["http://a", "b"]}
    assert of("documents", collection, cells) == dict.fromkeys(cells, "fields")


def test_a_column_with_blank_cells_holds_no_ids(collection):
    cells = {"serial": ["a1"], "other": ["b1", "b2"]}
    assert of("documents", collection, cells) == {"serial": "fields", "other": "id"}


def test_roles_that_are_lacking():
    assert lacking("documents", {"x": "title"}) == ["id"]
    assert lacking("ratings", {"q": "query", "Ann": "raters"}) == ["document"]
    assert lacking("results", {"q": "query", "d": "document"}) == ["rank"]
