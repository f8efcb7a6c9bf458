"""The whole way in a real browser: a rater's keys, the analyst's numbers, and what axe says of every page."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from playwright.sync_api import Page, expect

from evaluation.tests.hills import make_hills
from ratings.collection.scales import LONGEST_LABEL
from ratings.desk import queue
from ratings.models import Adjudication, Anchor, Document, Query, Rating, Role, System
from ratings.people import members
from ratings.pool.adjudication import adjudicate
from ratings.pool.anchors import set_anchor
from ratings.presentation.guidelines import versions
from ratings.tests.cast import grade, make_collection, make_member, make_pair, make_ranking, make_rater

from .desk import all_saved, press, ready
from .looks import examine, wide
from .pages import follow

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# The grade that the rater finds right for each document, and the key of its button on the scale −1 0 1 2 3.
GRADES = {"a": 3, "b": -1, "c": 2, "d": 0, "e": 1}
KEYS = {-1: "-", 0: "0", 1: "1", 2: "2", 3: "3"}


@pytest.fixture
def collection():
    """Two queries; bm25 ranks a b c d e, dense ranks e d c b a. Nobody has rated anything."""
    collection = make_collection(documents="abcde")
    for query in ("q1", "q2"):
        make_ranking(collection, "bm25", query, "abcde")
        make_ranking(collection, "dense", query, "edcba")
        for document in "abcde":
            make_pair(collection, query, document)
    make_rater(collection, "rater")
    make_member(collection, "analyst", Role.ANALYST)
    make_member(collection, "admin", Role.ADMIN)
    return collection


def begin(page: Page) -> None:
    """Start a round by keyboard: the one button has the focus."""
    page.goto("/collections/hills/rate/")
    expect(page.get_by_role("button", name="Start")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/rate/")
    ready(page)


def rated(page: Page, count: int) -> None:
    all_saved(page)
    assert Rating.objects.count() == count


def shown_mean(page: Page, system: str) -> str:
    """The mean of a system in the overview's main table."""
    page.goto("/collections/hills/?measure=nDCG@10")
    page.locator("#systems-table > summary").click()
    row = page.locator("#systems-table tbody tr", has=page.get_by_role("rowheader", name=system))
    return row.locator("td.num b").inner_text()


@pytest.mark.walk
def test_ten_pairs_by_keyboard_alone_and_the_numbers_that_follow(visit, collection):
    rater = visit.sign_in_by_keyboard(visit.page(), "rater")
    analyst = visit.sign_in_by_keyboard(visit.page(), "analyst")
    analyst.goto("/collections/hills/")
    expect(analyst.locator("main .empty")).to_be_visible()  # no number before the first judgment

    begin(rater)
    for count in range(1, 11):
        expect(rater.locator("article.doc")).to_be_visible()  # where nothing is at hand it is fetched
        document = rater.locator("article.doc h2").inner_text().removeprefix("Title ")
        press(rater, KEYS[GRADES[document]])
        rated(rater, count)
    expect(rater.locator("main")).to_contain_text("All done")

    # DCG of bm25 on either query: 3 − 1/log2(3) + 2/2 + 0 + 1/log2(6) = 3.755923; IDCG 3 + 2/log2(3) + 1/2 =
    # 4.761860; the worst list has b first, −1. nDCG = (3.755923 + 1) / (4.761860 + 1) = 0.825414.
    assert shown_mean(analyst, "bm25") == "0.8254"
    # dense: 1 + 0 + 2/2 − 1/log2(5) + 3/log2(6) = 2.729881; (2.729881 + 1) / 5.761860 = 0.647340.
    assert shown_mean(analyst, "dense") == "0.6473"

    # The rater changes their mind about e on q1: Related becomes Perfect.
    rater.goto("/collections/hills/my-ratings/")
    row = rater.locator("tr", has_text="Title e").filter(has_text="text of q1")
    row.get_by_role("link").focus()
    rater.keyboard.press("Enter")
    expect(rater.locator("article.doc h2")).to_have_text("Title e")
    ready(rater)
    rater.keyboard.press(KEYS[3])
    rater.wait_for_url("**/my-ratings/")
    assert Rating.objects.count() == 10

    # q1 now: IDCG 3 + 3/log2(3) + 2/2 = 5.892789, DCG of bm25 2.369070 + 1 + 3/log2(6) = 4.529629 and
    # nDCG (4.529629 + 1) / 6.892789 = 0.802234. Mean with q2: (0.802234 + 0.825414) / 2 = 0.813824.
    assert shown_mean(analyst, "bm25") == "0.8138"


@pytest.mark.walk
def test_a_round_without_javascript(visit, collection):
    page = visit.sign_in(visit.page(java_script_enabled=False), "rater")
    page.goto("/collections/hills/rate/")
    follow(page.get_by_role("button", name="Start"))
    follow(page.locator("button.grade", has_text="Good"))
    page.get_by_role("button", name="Cannot judge").click()
    follow(page.get_by_role("button", name="The query is unclear"))
    follow(page.get_by_role("button", name="Undo"))
    follow(page.locator("button.grade", has_text="Harmful"))
    assert sorted(float(r.grade.value) for r in Rating.objects.all()) == [-1, 2]


@pytest.mark.walk
def test_a_round_of_adjudication_by_keyboard_alone_and_without_javascript(visit, collection):
    rater, second = collection.raters.get(), make_rater(collection, "boris")
    for document in "ab":
        pair = collection.queries.get(key="q1").pairs.get(document__key=document)
        for who, value in [(rater, "-1"), (second, "3")]:
            queue.save(who, pair, queue.Submission(grade=grade(collection, value)))
    page = visit.sign_in(visit.page(java_script_enabled=False), "admin")
    page.goto("/collections/hills/")
    follow(page.get_by_role("link", name="Judging"))
    follow(page.get_by_role("link", name="Quality"))
    follow(page.get_by_role("link", name="Title a"), "Enter")
    page.get_by_role("radio", name="Harmful").focus()
    for key in ("ArrowRight", "ArrowRight", "Tab"):
        page.keyboard.press(key)
    expect(page.get_by_label("Why?")).to_be_focused()
    page.keyboard.type("It names the hill.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".messages")).to_contain_text("“Title a” for “text of q1” is now 1 Related.")
    expect(page.locator("article.doc h2")).to_have_text("Title b")
    follow(page.get_by_role("link", name="Quality").first)
    follow(page.get_by_role("link", name="Decided: 1"))
    follow(page.get_by_role("link", name="Title a"))
    page.get_by_label("Why should it be withdrawn?").fill("Another hill of that name.")
    page.get_by_role("button", name="Withdraw the decision").click()
    expect(page.locator(".messages")).to_contain_text("the ratings of the pair count again")
    assert not Adjudication.objects.exists()


@pytest.mark.walk
def test_a_pool_and_an_anchor_by_keyboard_alone_and_without_javascript(visit, collection):
    page = visit.sign_in(visit.page(java_script_enabled=False, viewport={"width": 390, "height": 844}), "admin")
    page.goto("/collections/hills/progress/")
    follow(page.get_by_role("link", name="Pool").first)
    page.get_by_label("Ratings of each pair").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    expect(page.locator("#plan")).to_contain_text("10 pairs, 0 of them new; 10 more ratings wanted")
    page.get_by_role("button", name="Ask for 10 ratings").press("Enter")
    expect(page.locator(".messages")).to_contain_text("10 pairs in this pool, 10 ratings newly wanted.")
    page.get_by_label("Ids of a query").fill("q2\n")
    page.get_by_role("button", name="Retire", exact=True).press("Enter")
    expect(page.locator(".messages")).to_contain_text("Retired: 5 pairs.")
    page.get_by_role("button", name="Bring back Title a").press("Enter")
    expect(page.locator("#retired h2")).to_have_text("4 retired pairs")

    follow(page.get_by_role("link", name="Quality").first)
    follow(page.get_by_role("link", name="Test questions").first)
    page.get_by_label("Id of the query").fill("q1")
    page.get_by_label("Id of the document").fill("c")
    page.keyboard.press("Enter")
    page.get_by_label("warm-up: raters").press("Space")
    page.get_by_role("radio", name="Good").press("Space")
    page.get_by_label("Why this grade?").fill("It names the hill.")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.locator("h1")).to_have_text("1 warm-up, 0 gold pairs")
    assert Anchor.objects.get().pair.retired_at


@pytest.mark.walk
def test_an_option_by_keyboard_alone_and_without_javascript(visit, collection):
    page = visit.sign_in(visit.page(java_script_enabled=False, viewport={"width": 390, "height": 844}), "analyst")
    rater = collection.raters.get()
    for document, value in GRADES.items():
        pair = collection.queries.get(key="q1").pairs.get(document__key=document)
        queue.save(rater, pair, queue.Submission(grade=grade(collection, str(value))))
    page.goto("/collections/hills/")
    page.locator(".panel summary").focus()
    page.keyboard.press("Enter")
    map_of_gains = page.get_by_label("Gain of each grade")
    expect(map_of_gains).to_be_hidden()
    page.get_by_label("Gain", exact=True).select_option("map")
    expect(map_of_gains).to_have_value("-1=-1,0=0,1=1,2=2,3=3")
    map_of_gains.fill("-1=-1,0=0,1=1,2=2,3=7")
    page.keyboard.press("Enter")
    page.wait_for_url("**/collections/hills/?gain=map:-1=-1,0=0,1=1,2=2,3=7")
    expect(page.locator("#systems")).to_contain_text("nDCG@10 map:-1=-1,0=0,1=1,2=2,3=7 log2")
    expect(page.locator(".held")).to_contain_text("not as in default")
    page.locator(".panel summary").click()
    page.get_by_role("link", name="Back to the profile default").click()
    page.wait_for_url("**/collections/hills/")


def pages(role: str, collection) -> list[str]:
    base, q1 = f"/collections/{collection.slug}", collection.queries.get(key="q1")
    system, document = collection.systems.get(name="bm25").pk, collection.documents.get(key="b").pk
    if role == "anonymous":
        _, key = members.invite(collection, ["anna"], role=Role.RATER, days=7, by=None)[0]
        return ["/", "/accounts/sign-in/", "/no-such-page/", f"/join/{key}/", "/join/used/"]
    if role == "rater":
        parts = f"""
        rate/ rate/{q1.pairs.get(document__key="a").token}/ my-ratings/ settings/
        guidelines/ guidelines/versions/ guidelines/2/
        """
        return ["/", "/accounts/password/", *(f"{base}/{part}" for part in parts.split())]
    if role == "admin":
        rater = collection.raters.get(name="rater").pk
        # On these two the raters disagree; the second is decided.
        open_, decided = (pair.token for pair in q1.pairs.filter(document__key__in="ab").order_by("document"))
        parts = f"""
        adjudicate/ adjudicate/decided/ adjudicate/{open_}/ adjudicate/{decided}/
        adjudicate/{decided}/life/ documents/{document}/
        people/ people/members/{collection.memberships.get(role=Role.ANALYST).pk}/ people/raters/{rater}/
        guidelines/ guidelines/edit/ guidelines/versions/ guidelines/2/ presentation/ presentation/?start=proposal
        progress/ raters/{rater}/ raters/{rater}/left-out/
        pool/ pool/?depth=4&wanted=2&systems={system} pool/?depth=0&wanted=2 pool/?more=3
        pool/holes/?system={system}&depth=5 pool/holes/?depth=0 anchors/ anchors/{open_}/
        """
        return [f"{base}/{part}" for part in parts.split()]
    # With `retrieved` and `minmax_closed` it is refused: the panel of options is open.
    parts = f"""
    ?measure=AP&profile=trec_eval%20-c ?measure=nonsense
    ?profile=burges&negatives=raw&rule=median ?ideal=retrieved&negatives=minmax_closed
    queries/ queries/{q1.pk}/ queries/{q1.pk}/documents/ systems/{system}/ compare/
    compare/?baseline=dense&pairs=all expected/ differences/
    differences/?baseline=dense&system=bm25&sort=text agreement/ agreement/drift/ documents/{document}/
    """
    return ["/", f"{base}/", *(f"{base}/{part}" for part in parts.split())]


def disagree(collection) -> None:
    """A second rater says otherwise of a and b on q1, and cannot judge c; b is decided."""
    second, pairs = make_rater(collection, "boris"), collection.queries.get(key="q1").pairs
    for document, value in [("a", "0"), ("b", "3")]:
        pair = pairs.get(document__key=document)
        queue.save(
            second, pair, queue.Submission(grade=grade(collection, value), comment="It is about another hill.")
        )
    queue.save(second, pairs.get(document__key="c"), queue.Submission(reason="language"))
    adjudicate(pairs.get(document__key="b"), grade(collection, "-1"), reason="It is an advertisement.", actor=None)


def anchor_and_retire(collection) -> None:
    """A gold pair, which the rater misses, a warm-up, a retired pair, and a lease that ran out."""
    pairs = collection.queries.get(key="q1").pairs
    set_anchor(pairs.get(document__key="e"), use="gold", grade=grade(collection, "2"))
    queue.save(
        collection.raters.get(name="boris"),
        pairs.get(document__key="e"),
        queue.Submission(grade=grade(collection, "0")),
    )
    of_q2 = collection.queries.get(key="q2").pairs
    clear = {"grade": grade(collection, "3"), "explanation": "It names the hill and the season."}
    set_anchor(of_q2.get(document__key="a"), use="warm_up", **clear)
    queue.retire([of_q2.get(document__key="b").pk])
    collection.raters.update(warmed_up_at=timezone.now())
    queue.claim(collection.raters.get(name="boris"), now=timezone.now() - timedelta(hours=1))


def write_guidelines(collection) -> None:
    """Two versions, of which the rater has read the first; and invitations in each state."""
    first = versions.publish(
        collection, "# How to grade\n\nRead it.\n\n## 3 Perfect\n\nNothing is missing.\n", base=0
    )
    versions.mark_read(collection.raters.get(name="rater"), first.version)
    versions.publish(collection, first.text.replace("Read it", "Read all of it"), base=1)
    members.invite(collection, ["carla"], role=Role.RATER, days=7, by=None)
    members.invite(collection, ["emil"], role=Role.ADMIN, days=-1, by=None)
    members.withdraw(members.invite(collection, ["dora"], role=Role.ANALYST, days=7, by=None)[0][0])


@pytest.mark.parametrize("role", ["anonymous", "rater", "analyst", "admin"])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(visit, collection, role):
    rater = collection.raters.get()
    for document, value in GRADES.items():
        if document != "e":
            pair = collection.queries.get(key="q1").pairs.get(document__key=document)
            queue.save(rater, pair, queue.Submission(grade=grade(collection, str(value)), comment="a comment"))
    queue.claim(rater)
    disagree(collection)
    anchor_and_retire(collection)
    write_guidelines(collection)
    page = visit.page()
    if role != "anonymous":
        visit.sign_in(page, role)
    for address in pages(role, collection):
        page.goto(address)
        examine(page, address)
    # A page that is not there, or whose options make no sense, says so in the console too; nothing else may.
    visit.complaints[:] = [c for c in visit.complaints if not re.search(r"status of 40[04] ", c)]


def lengthen(collection) -> None:
    """Every name gets as many letters as fit, without a blank."""
    long = "m" * 200
    for row in [*collection.systems.all(), *collection.documents.all(), *collection.queries.all()]:
        name = {System: "name", Document: "title", Query: "text"}[type(row)]
        type(row).objects.filter(pk=row.pk).update(**{name: f"{row.pk}{long[:190]}"})
    collection.raters.update(name=long[:150])
    for user in get_user_model().objects.all():
        get_user_model().objects.filter(pk=user.pk).update(username=f"{user.username}{long[:140]}")
    collection.grades.update(label=long[:LONGEST_LABEL])
    collection.description, collection.name = long, long
    collection.save()
    collection.touch()


def test_names_without_a_blank_make_no_page_wider_than_a_phone(visit, collection):
    anchor = collection.queries.get(key="q1").pairs.get(document__key="a")
    queue.save(collection.raters.get(), anchor, queue.Submission(grade=grade(collection, "2"), comment="m" * 300))
    phone = {"width": 390, "height": 844}
    visits = {role: visit.sign_in(visit.page(viewport=phone), role) for role in ("rater", "analyst", "admin")}
    lengthen(collection)
    for role, parts in {
        "rater": "rate/ my-ratings/",
        "analyst": "?measure=AP differences/ compare/ agreement/",
        "admin": f"collection/delete/ presentation/ pool/ pool/decisive/ anchors/{anchor.token}/ people/",
    }.items():
        for address in ("/", *(f"/collections/hills/{part}" for part in parts.split())):
            visits[role].goto(address)
            assert wide(visits[role]) <= 0, (role, address)


# The blocks in which a word or number of the page stands left of what is written before it, as a name from right
# to left moves it. A name is one word here.
MOVED = r"""() => {
    const inline = (element) => getComputedStyle(element).display === "inline";
    const block = (node) => { let e = node.parentElement; while (inline(e)) e = e.parentElement; return e; };
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const last = new Map(), found = new Set(), range = document.createRange();
    while (walker.nextNode()) {
        const node = walker.currentNode, of = block(node);
        if (of.closest("svg, select, pre") || getComputedStyle(of).direction === "rtl") continue;
        for (const word of node.data.matchAll(/[\u0590-\u06ff]+( [\u0590-\u06ff]+)*|[A-Za-z0-9]+/g)) {
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            const { left, top } = range.getClientRects()[0] || {}, before = last.get(of);
            if (left === undefined) continue;
            if (before && Math.abs(before.top - top) < 8 && left < before.left) found.add(of.textContent);
            last.set(of, { left, top });
        }
    }
    return [...found].map((text) => text.replace(/\s+/g, " ").trim());
}"""


def test_names_from_right_to_left_move_no_number(visit):
    rankings = {"مرحبا": {"q1": "adb", "q2": "ab"}, "שלום": {"q1": "ca", "q2": "a"}}
    collection = make_hills(rankings=rankings)
    for key, text in (("q1", "مرحبا بالعالم"), ("q2", "שלום עולם")):
        collection.queries.filter(key=key).update(text=text)
    make_member(collection, "eva", Role.ANALYST)
    page = visit.sign_in(visit.page(), "eva")
    of_systems = [f"systems/{system.pk}/" for system in collection.systems.all()]
    of_queries = [
        f"queries/{query.pk}/{part}" for query in collection.queries.all() for part in ("", "documents/")
    ]
    for address in ("", "compare/", "differences/", "queries/", "frozen/new/", *of_systems, *of_queries):
        page.goto(f"/collections/hills/{address}")
        assert page.evaluate(MOVED) == [], address
