"""How documents are shown: parts, rich text, versions, and what no presentation may tell."""

import io
import json

import numpy as np
import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from ratings.formats.source import Source
from ratings.importing.intake import import_documents, import_run
from ratings.models import Document, Presentation, RatingEvent
from ratings.presentation import blindness, versions
from ratings.presentation.content import members_of
from ratings.presentation.html import html_of, render_document
from ratings.presentation.parts import (
    KINDS,
    LONGEST_TEXT,
    MOST_ITEMS,
    Part,
    Presented,
    clean,
    day,
    pieces_of,
    steps,
    value_at,
)
from ratings.presentation.proposal import WEB_PAGE, proposal
from ratings.tests.cast import make_collection, make_member, make_pair, make_ranking, make_rater

LAMP = {
    "title": "Desk lamp",
    "body": "<p>Warm <b>light</b>.</p>",
    "url": "https://shop.example/lamp",
    "price": {"amount": 1299.5, "currency": "EUR"},
    "tags": ["new", "led"],
    "sold": True,
    "specs": [{"name": "Watt", "value": 7}, {"name": "Colour", "value": None}],
    "listed": "2026-03-02T09:00:00Z",
    "a.b": "a name with a dot",
}


# Paths and values


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("title", "Desk lamp"),
        ("price.amount", 1299.5),
        ("tags[1]", "led"),
        ("tags[2]", None),
        ("specs[0].name", "Watt"),
        ("specs.name", ["Watt", "Colour"]),
        ("price.nothing.more", None),
        ("title.length", None),
        ("a.b", "a name with a dot"),
        ("Art.-Nr.", "L-1"),
        ("Size [cm]", 40),
        ("Price (EUR)", 9.9),
        ("No.", None),
    ],
)
def test_a_path_leads_to_a_member(path, value):
    columns = {"Art.-Nr.": "L-1", "Size [cm]": 40, "Price (EUR)": 9.9}
    assert value_at(LAMP | columns, path) == value


@pytest.mark.parametrize("path", ["", ".", "[0]", "..", "[", "[0].a", "[12]a"])
def test_what_is_no_path_is_refused(path):
    assert steps(path) == []
    with pytest.raises(ValueError, match="names no member"):
        Part.read({"kind": "text", "path": path})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2026-03-02", "2 March 2026"),
        ("2026-03-02T09:00:00Z", "2 March 2026"),
        (0, "1 January 1970"),
        (1_772_409_600, "2 March 2026"),
        (1_772_409_600_000, "2 March 2026"),
        ("last spring", "last spring"),
        (1e30, "1e+30"),
    ],
)
def test_a_date_is_written_out_and_what_is_none_stays(value, text):
    assert day(value) == text


def of(kind: str, path: str, **more):
    return pieces_of([Part(kind, path, **more)], LAMP)


def test_each_kind_shows_its_value():
    assert of("field", "price.amount")[0][:3] == ("field", "Amount", "1299.5")
    assert of("number", "price.amount", label="Price", unit="{price.currency}")[0].text == "1,299.5\xa0EUR"
    assert of("number", "price.amount", unit="€")[0].text == "1,299.5\xa0€"
    assert of("date", "listed")[0][:3] == ("field", "Listed", "2 March 2026")
    assert of("badge", "tags")[0].items == ("new", "led")
    assert of("table", "specs")[0].items == (("Watt", "7"), ("Colour", ""))
    assert of("table", "price")[0].items == (("amount", "1299.5"), ("currency", "EUR"))
    assert of("rich", "body")[0].html == "<p>Warm <b>light</b>.</p>"
    assert of("link", "url")[0].href == ""
    assert of("link", "url", opens=True)[0].href == LAMP["url"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_missing_takes_no_room(kind):
    for value in (None, "", [], {}, [None], "  "):
        assert render_document(Presented((Part(kind, "x"),)), {"x": value}).html == ""


def test_what_is_left_out_of_a_long_value_is_told():
    many = {"x": ["item"] * (MOST_ITEMS + 2), "y": "a" * (LONGEST_TEXT + 1)}
    (items,), (text,) = pieces_of([Part("list", "x")], many), pieces_of([Part("text", "y")], many)
    assert (len(items.items), items.left_out, len(text.text), text.left_out) == (MOST_ITEMS, 2, LONGEST_TEXT, 1)
    assert "2 more entries are not shown." in html_of([items])
    assert "1 more character is not shown." in html_of([text])


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(anything, st.sampled_from(list(KINDS)), st.sampled_from(["x", "x.a", "x[0]", "x[0].a", "x.a.b"]))
def test_no_value_of_a_document_is_an_error(value, kind, path):
    found = render_document(Presented((Part(kind, path),)), {"x": value})
    assert "<script" not in found.html


# Rich text


def test_links_of_a_rich_text_are_inert_unless_they_may_be_opened():
    html = '<h1>A</h1><a href="https://a.example">b</a>'
    assert clean(html) == "<h3>A</h3>b"
    link = '<a href="https://a.example" target="_blank" rel="noopener noreferrer nofollow">b</a>'
    assert clean(html, opens=True) == f"<h3>A</h3>{link}"


def test_deeply_nested_html_of_two_hundred_thousand_characters_is_cleaned():
    assert "deep" in clean("<div><table><tr><td>" * 5_000 + "deep")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "rich"])
def test_all_but_rich_text_is_escaped(kind):
    html = render_document(
        Presented((Part("text", "y"), Part(kind, "x", label="<b>"))), {"y": "y", "x": "<img src=x>"}
    ).html
    assert "<img" not in html and "<b>" not in html


# Proposals


def test_numbers_with_decimal_commas_and_a_currency_in_the_name_are_proposed_as_such():
    row = {"title": "Boot", "Price EUR": "79,0", "preis_(€)": "1119,50", "Rank EUR": "first", "EUR": "1,000"}
    parts = {part.path: part for part in proposal([row]).document}
    assert [(parts[name].kind, parts[name].unit, parts[name].name) for name in ("Price EUR", "preis_(€)")] == [
        ("price", "EUR", "Price"),
        ("price", "€", "Preis"),
    ]
    assert parts["Rank EUR"].kind == parts["EUR"].kind == "field", "no number, and one with a mark for thousands"
    (_, price, *_) = pieces_of(proposal([row]).document, row)
    assert (price.kind, price.text) == ("price", "79.00\N{NO-BREAK SPACE}EUR")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("79", "79 €"),
        ("79,9", "79.90 €"),
        (79.95, "79.95 €"),
        ("1234.5", "1,234.50 €"),
        ("0.125", "0.125 €"),
        ("?", "? €"),
    ],
)
def test_a_price_has_two_decimals_or_none_or_those_that_it_came_with(value, text):
    (piece,) = pieces_of([Part("price", "x", unit="€")], {"x": value})
    assert piece.text.replace("\N{NO-BREAK SPACE}", " ") == text


def test_a_number_called_price_is_proposed_large_and_before_other_members():
    row = {"title": "Boot", "brand": "Own", "list_price": 79.9, "priceless": 3, "image": "a.png"}
    parts = proposal([row]).document
    assert [(part.kind, part.path) for part in parts] == [
        ("title", "title"),
        ("image", "image"),
        ("price", "list_price"),
        ("field", "brand"),
        ("field", "priceless"),
    ]


def test_a_proposal_shows_what_the_documents_have():
    parts = {part.path: part for part in proposal([LAMP, {"title": "x", "rank": 3, "about": "y" * 200}]).document}
    assert [*parts] == ["title", "url", "tags", "sold", "listed", "a.b", "body", "price", "specs", "about"]
    kinds = {path: part.kind for path, part in parts.items()}
    assert kinds["tags"] == "badge" and kinds["specs"] == "table" and kinds["about"] == "text"
    assert (kinds["body"], kinds["listed"]) == ("rich", "date")


def test_a_proposal_of_columns_with_any_name_can_be_saved_and_shows_them():
    row = {"Art.-Nr.": "L-1", "Size [cm]": 40, "Price (EUR)": 9.9, "a..b": "x", "{y}": "z"}
    hidden = {"Rank.": 7321, "Score [0-1]": 7321, "search.rank": 7321, "search..Run": 7321}
    saved = Presented.read(json.loads(json.dumps(proposal([row | hidden]).as_json())))
    shown = [(piece.label, piece.text) for piece in pieces_of(saved.document, row | hidden)]
    assert shown == [
        ("Price", "9.90\N{NO-BREAK SPACE}EUR"),
        ("Art.-Nr.", "L-1"),
        ("Size [cm]", "40"),
        ("A..b", "x"),
        ("{y}", "z"),
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "an object with the lists"),
        ({"document": []}, "no part of a document"),
        ({"document": "title"}, "not a list of at most"),
        ({"document": [{"kind": "video", "path": "x"}]}, "'video' is none of"),
        ({"document": [{"kind": "text", "path": "x", "style": "y"}]}, "no member 'style'"),
        ({"document": [{"kind": "text", "path": 3}]}, "the member path of a part is 3"),
        ({"document": [{"kind": "text", "path": "x"}] * 41}, "at most 40"),
    ],
)
def test_what_is_no_presentation_is_refused_with_the_reason(given, said):
    with pytest.raises(ValueError, match=said):
        Presented.read(given)


# Versions, and what raters must not know


@pytest.mark.parametrize("kind", ["field", "table", "list"])
def test_what_an_object_has_of_rank_score_and_system_is_left_out(kind):
    value = {"Rank": 7321, "colour": "red", "inner": {"score": 7321}}
    for x in (value, [value]):
        html = render_document(Presented((Part(kind, "x"),)), {"x": x}).html
        assert "red" in html and "7321" not in html


@pytest.fixture
def shop(db):
    collection = make_collection("hills")
    for key in "abcd":
        pair = make_pair(collection, "q1", key)
        place = ord(key) - ord("a") + 1
        pair.document.fields = {"price": 10 * place, "place": place, "points": 5 - place, "maker": "ours"}
        pair.document.save()
    documents = list(Document.objects.order_by("key"))
    make_ranking(collection, "ours", "q1", [each.key for each in documents])
    ranking = collection.systems.get(name="ours").rankings.get()
    type(ranking).objects.filter(pk=ranking.pk).update(scores=np.array([4.0, 3.0, 2.0, 1.0]))
    return collection


def of_paths(*paths: str) -> Presented:
    return Presented(tuple(Part("field", path) for path in paths))


@pytest.mark.parametrize(
    "path",
    ["rank", "search.position", "runs[0].system", "Score [0-1]", "a..Run", "(Rank)]"],
)
def test_a_presentation_names_no_rank_score_or_system(shop, path):
    with pytest.raises(ValueError, match="must not know rank, score or system"):
        versions.publish(shop, of_paths("title", path), base=0)


@pytest.mark.parametrize("unit", ["{score}", "{search.rank}"])
def test_nor_does_the_unit_of_a_number(shop, unit):
    with pytest.raises(ValueError, match="must not know rank, score or system"):
        Presented((Part("number", "price", unit=unit),))
    with pytest.raises(ValueError, match="points is not shown"):
        versions.publish(shop, Presented((Part("number", "price", unit="{points}"),)), base=0)


@pytest.mark.parametrize(("path", "what"), [("place", "rank"), ("points", "score"), ("maker", "system")])
def test_a_member_that_equals_the_rank_the_score_or_the_system_is_refused(shop, path, what):
    with pytest.raises(
        ValueError, match=f"{path} is not shown: in most rankings of ours it is the document's {what}"
    ):
        versions.publish(shop, of_paths("title", path), base=0)
    assert not Presentation.objects.exists()


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("path", "scores", "what"),
    [("place", (9, 8, 7), "rank"), ("price", (9, 8, 7), "")],
)
def test_an_import_of_a_run_warns_if_a_member_that_is_shown_tells_now(shop, path, scores, what):
    shop.systems.all().delete()
    versions.publish(shop, of_paths("title", path), base=0)
    lines = (
        f"q1 Q0 {key} {rank} {score} new\n" for rank, (key, score) in enumerate(zip("abc", scores, strict=True), 1)
    )
    report = import_run(shop, [Source("new.run", io.BytesIO("".join(lines).encode()))])
    warnings = [warning for warning in report.warnings if path in warning]
    assert (not report.refused, bool(warnings)) == (True, bool(what))
    assert all(f"rankings of new it is the document's {what}" in warning for warning in warnings)


@pytest.mark.parametrize(("prices", "told"), [("1234", True), ("4921", False)])
def test_an_import_of_documents_warns_if_a_member_that_is_shown_tells_now(shop, prices, told):
    versions.publish(shop, of_paths("title", "price"), base=0)
    lines = [json.dumps({"id": key, "price": int(price)}) for key, price in zip("abcd", prices, strict=True)]
    report = import_documents(shop, [Source("new.jsonl", io.BytesIO("\n".join(lines).encode()))])
    warned = any("rankings of ours it is the document's rank" in warning for warning in report.warnings)
    assert (report.counts["changed"], warned) == (4, told)


@pytest.mark.both_databases
def test_a_change_is_a_new_version_and_a_race_is_told(shop):
    first = versions.publish(shop, of_paths("title"), base=0)
    with pytest.raises(versions.Unchanged):
        versions.publish(shop, of_paths("title"), base=1)
    with pytest.raises(versions.Outdated):
        versions.publish(shop, of_paths("price"), base=0)
    assert versions.publish(shop, of_paths("price"), base=1).version == 2
    first.refresh_from_db()
    assert Presented.read(first.content) == of_paths("title")


# The desk


@pytest.mark.both_databases
def test_a_rater_sees_the_parts_and_the_event_tells_the_version(shop, client):
    versions.publish(shop, Presented((Part("title", "title"), Part("number", "price", unit="€"))), base=0)
    client.force_login(make_rater(shop).user)
    task = client.post(
        reverse("claim", args=["hills"]), {"count": 1}, headers={"accept": "application/json"}
    ).json()["tasks"][0]
    assert task["presentation"] == 1
    assert "First of" not in task["document"]["html"] and "\xa0€</dd>" in task["document"]["html"]
    page = client.get(reverse("rate", args=["hills"])).content.decode()
    assert task["document"]["html"] in page
    versions.publish(shop, WEB_PAGE, base=1)
    sent = {"grade": "1", "base_revision": 0, "presentation": task["presentation"], "opened": "1"}
    client.post(reverse("save_rating", args=["hills", task["token"]]), sent)
    event = RatingEvent.objects.get()
    assert (event.presentation_version, event.opened) == (1, True)


# The page


@pytest.fixture
def admin(shop, client):
    client.force_login(make_member(shop, "dora", "admin"))
    return client


def rows_of(parts: list[dict], prefix: str = "document") -> dict[str, str]:
    total = {f"{prefix}-TOTAL_FORMS": str(len(parts)), f"{prefix}-INITIAL_FORMS": "0"}
    return total | {
        f"{prefix}-{place}-{name}": value for place, part in enumerate(parts) for name, value in part.items()
    }


def posted(admin, parts: list[dict], **more):
    data = rows_of(parts) | rows_of([], "query") | {"base": "0"} | more
    return admin.post(reverse("presentation", args=["hills"]), data)


TITLE, PRICE = {"kind": "title", "path": "title", "place": "2"}, {"kind": "number", "path": "price", "place": "1"}


@pytest.mark.parametrize(
    ("move", "paths"),
    [
        ("document 1 up", ["price", "title", "body"]),
        ("document 1 down", ["title", "body", "price"]),
        ("document 0 up", ["title", "price", "body"]),
        ("nonsense", ["title", "price", "body"]),
    ],
)
def test_a_button_moves_a_part_and_saves_nothing(admin, shop, move, paths):
    parts = [
        {"kind": kind, "path": path, "place": str(place)}
        for place, (kind, path) in enumerate([("title", "title"), ("number", "price"), ("text", "body")], 1)
    ]
    page = posted(admin, parts, move=move)
    assert [row["path"].value() for row in page.context["form"].document.forms] == paths
    assert [part.path for part in page.context["form"].presented.document] == paths
    assert not Presentation.objects.exists()


def test_an_admin_saves_parts_in_the_order_of_their_places(admin, shop):
    assert posted(admin, [TITLE, PRICE, {"kind": "text", "path": ""}], save="1").status_code == 302
    assert [part.path for part in versions.latest_presented(shop).document] == ["price", "title"]
    assert "Raters see version 1" in admin.get(reverse("presentation", args=["hills"])).content.decode()


@pytest.mark.both_databases
def test_a_preview_saves_nothing_and_shows_another_document_on_demand(admin, shop):
    last = shop.documents.order_by("pk").last()
    answer = posted(admin, [TITLE, PRICE], show="next", document=str(last.pk - 1))
    assert answer.context["document"] == last
    assert '<dd dir="auto">40</dd>' in answer.content.decode()
    assert not Presentation.objects.exists()
    asked = posted(admin, [TITLE], document=str(last.pk))
    assert asked.status_code == 200


def test_a_script_gets_the_preview_alone(admin):
    url = reverse("presentation", args=["hills"])
    data = rows_of([TITLE]) | rows_of([], "query") | {"base": "0"}
    answer = admin.post(url, data, headers={"accept": "application/json"})
    assert "<article" in answer.json()["html"] and "<html" not in answer.json()["html"]
    refused = admin.post(url, data | {"document-0-path": "[0]"}, headers={"accept": "application/json"})
    assert refused.status_code == 400


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([], "Show at least one part"),
        ([TITLE | {"path": "[0]"}], "names no member"),
        ([TITLE | {"kind": "video"}], "Select a valid choice"),
        ([TITLE, {"kind": "field", "path": "place"}], "it is the document&#x27;s rank"),
    ],
)
def test_what_cannot_be_saved_is_told_and_kept(admin, parts, said):
    answer = posted(admin, parts, save="1")
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert not Presentation.objects.exists()


def test_a_save_on_an_older_version_keeps_the_parts_and_can_be_repeated(admin, shop):
    versions.publish(shop, of_paths("title"), base=0)
    answer = posted(admin, [PRICE], save="1")
    assert answer.status_code == 409
    assert "Somebody else saved version 1" in answer.content.decode()
    assert posted(admin, [PRICE], save="1", base="1").status_code == 302


@pytest.mark.both_databases
def test_the_paths_of_the_documents_are_listed_without_those_that_tell(admin, shop):
    Document.objects.update(fields={"price": {"amount": 3, "rank": 1}, "score": 7, "search.rank": 1, "Rank.": 1})
    paths = [each.path for each in admin.get(reverse("presentation", args=["hills"])).context["document_members"]]
    assert {"title", "body", "price", "price.amount"} <= set(paths)
    assert not {"score", "price.rank", "search.rank", "Rank."} & set(paths)


def test_the_comparison_with_rankings_reads_a_bounded_number_of_them(shop, django_assert_max_num_queries):
    with django_assert_max_num_queries(8):
        blindness.refuse_revealing(shop, of_paths("title", "price", "url"))


def test_the_share_of_a_member_is_of_the_documents_that_have_it():
    found = members_of([{"price": 1, "shop": {"city": "Bern"}}, {"price": 2}, {"price": ""}, {}])
    assert [(each.path, each.share, each.example) for each in found] == [
        ("price", 0.5, "1"),
        ("shop", 0.25, "city: Bern"),
        ("shop.city", 0.25, "Bern"),
    ]
