"""Watches and notices in a real browser: from the form of a watch to an answered alarm, and what axe says."""

import io
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from evaluation.apps import watch_over
from evaluation.models import Night, Verdict, Watch
from evaluation.watching.tests.cast import make_night, make_watch
from ratings.formats.source import Source
from ratings.importing import intake
from ratings.importing.pull.engines import proposed
from ratings.management.commands.work import work
from ratings.models import Baseline, Collection, Delivery, Engine, Job, Notice, Receiver, Role
from ratings.notices import gathering
from ratings.notices.signed import path_of
from ratings.tests.cast import (
    Imported,
    grade,
    make_collection,
    make_member,
    make_rankings,
    make_rater,
    record_imported,
)

from .looks import drawn, examine, wide
from .pages import follow

REFUSED = "status of 400 "  # what the console says of a form with an error
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BASE = "/collections/hills"
QUERIES = [f"q{i:02}" for i in range(16)]
LONG = "m" * 100


@pytest.fixture
def collection(settings) -> Collection:
    """In all queries a and b are relevant, c and d are not. The fixed baseline ranks a b c d."""
    settings.PULL_HOSTS = ["127.0.0.1/32"]
    settings.MAIL = True
    collection = make_collection(queries=QUERIES)
    documents = {document.key: document.pk for document in collection.documents.all()}
    rows = [
        Imported(query, documents[key], grade(collection, value))
        for query in collection.queries.values_list("pk", flat=True)
        for key, value in (("a", "3"), ("b", "2"), ("c", "0"), ("d", "0"))
    ]
    record_imported(make_rater(collection, "trec"), rows)
    make_rankings(collection, {"base": dict.fromkeys(QUERIES, "abcd")})
    make_member(collection, "admin", Role.ADMIN)
    base = collection.systems.get()
    Baseline.objects.create(collection=collection, kind="fixed", system=base, name=base.name, reason="the first")
    return collection


@pytest.fixture
def search(collection, engine) -> dict[str, str]:
    """A connected engine, and what it answers: `all` for every query."""
    answers = {"all": "abcd"}

    def answer(handler) -> None:
        hits = [{"_id": key, "_score": 9 - place} for place, key in enumerate(answers["all"])]
        handler.send({"hits": {"hits": hits}})

    connected = proposed(Engine.Dialect.ELASTICSEARCH)
    connected.collection, connected.name, connected.body = collection, "Shop search", ""
    connected.address = engine(answer).url + "?q={query}&size={depth}"
    connected.save()
    return answers


def night_over() -> None:
    """What a worker does until the night is told: an alarm asks the engine again."""
    for _ in range(4):
        work()
        watch_over()


@pytest.mark.walk
def test_a_watch_is_made_and_run_and_its_alarm_is_answered_without_a_script(visit, collection, search):
    page = visit.sign_in(visit.page(java_script_enabled=False), "admin")
    visit.expected.append(REFUSED)
    page.goto(f"{BASE}/watch/")
    follow(page.get_by_role("link", name="Make a watch"))
    page.get_by_label("Margin").fill("2")
    follow(page.get_by_role("button", name="Make the watch"))
    expect(page.locator(".errorlist")).to_have_text("Choose a number from 0 to 1.")
    page.get_by_label("Margin").fill("0.02")
    page.get_by_label("Measure").fill("nDCG@4")
    # So much that 16 queries can tell an alarm in the first nights.
    page.get_by_label("Chance of a false alarm in a year").fill("0.5")
    follow(page.get_by_role("button", name="Make the watch"))
    expect(page.locator("h1")).to_have_text("Nightly")
    for answered in ("abcd", "abdc", "dcba"):
        search["all"] = answered
        follow(page.get_by_role("button", name="Run now"))
        expect(page.locator(".note")).to_contain_text("is at work")
        night_over()
        follow(page.get_by_role("link", name="Refresh"))
        expect(page.locator(".note", has_text="is at work")).to_have_count(0)
    expect(page.locator("#all tbody tr")).to_have_count(3)
    image = page.locator("#trend .chart img:visible")
    image.scroll_into_view_if_needed()
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    expect(page.locator(".lead")).to_contain_text("Worse than the fixed baseline, base")
    follow(page.get_by_role("link", name="Look at it and answer"))
    # 3 2 0 0 of the best list, and 0 0 2 3 of this one: 1 − (2/2 + 3/log2 5) / (3 + 2/log2 3) = 0.4621.
    expect(page.locator("#queries tbody tr").first).to_contain_text("▼ −0.462")
    page.get_by_label("Reason").fill("The index lost its titles.")
    follow(page.get_by_role("button", name="Answer"))
    expect(page.locator(".note.warn")).to_have_count(0)
    expect(page.locator("#all tbody tr").first).to_contain_text("The index lost its titles.")
    expect(page.locator(".lead")).to_contain_text("Answered: a fault, which is repaired.")
    assert Verdict.objects.exclude(answer="").get().answered_by.username == "admin"


@pytest.fixture
def watched(collection, search) -> Watch:
    """A week of nights: a gap, then an alarm against two baselines of which the last night is the second one."""
    release = collection.systems.get()
    Baseline.objects.create(collection=collection, kind="release", system=release, name=LONG, reason="new")
    watch = make_watch(collection, engine=collection.engines.get(), days=list(range(7)))
    make_watch(collection, "Never looked", asked={"measure": "AP"})
    now = timezone.now()
    for day in range(7):
        at = now - timedelta(days=8 - day)
        if day == 3:
            Night.objects.create(watch=watch, due_at=at, state="gap", problem=f"No answer of {LONG}", ended_at=at)
        else:
            night = make_night(watch, kind="worse" if day > 4 else "not worse", due_at=at)
            second = night.verdicts.get()
            second.pk, second.baseline, second.name = None, "release", LONG
            second.save(force_insert=True)
    return watch


@pytest.fixture
def told(collection, watched) -> Delivery:
    """Notices of the nights, a webhook that got one of them at its third try, aged ratings, and a fetch."""
    lines = f'{{"id": "a", "title": "{LONG}", "body": "New."}}\n'.encode()
    assert not intake.import_documents(collection, [Source("new.jsonl", io.BytesIO(lines))]).refused
    gathering.gather()
    engine = watched.engine
    engine.answer, engine.answered = '{"hits": {"hits": [{"_id": "a", "_score": 9}]}}', "text of q00"
    engine.save()
    report = {"counts": {"new": 1, "texts_of_files": 2}, "facts": ["2 documents have another text in the engine."]}
    of_engine = {"engine": engine.pk, "system": LONG, "depth": 10, "pause": 0}
    Job.objects.create(collection=collection, kind="engine", state="published", options=of_engine, report=report)
    facts = {"kinds": ["watch.worse"], "created_at": timezone.now()}
    hook = Receiver.objects.create(collection=collection, address=f"https://hooks.example.org/{LONG}", **facts)
    Receiver.objects.create(collection=collection, user=collection.memberships.get(role=Role.ADMIN).user, **facts)
    notice = Notice.objects.filter(kind="watch.worse").first()
    sent = {"tries": 3, "answer": f"500 {LONG}", "next_at": timezone.now()}
    return Delivery.objects.create(receiver=hook, notice=notice, **sent)


def pages(watch: Watch) -> list[str]:
    first, last = watch.nights.all()[5:]
    gap = watch.nights.get(state="gap")
    fetched = watch.collection.jobs.get(kind="engine")
    never = Watch.objects.get(name="Never looked")
    query = watch.collection.queries.first()
    nights = f"{watch.pk}/nights"
    parts = f"""
    watch/ watch/new/ watch/{watch.pk}/ watch/{watch.pk}/?today=1 watch/{watch.pk}/change/ watch/{never.pk}/
    watch/{nights}/{first.pk}/ watch/{nights}/{last.pk}/ watch/{nights}/{gap.pk}/
    watch/{nights}/{last.pk}/queries/{query.pk}/ notices/ pool/aged/ pool/aged/?days=1
    engines/{watch.engine_id}/ engines/fetched/{fetched.pk}/
    """
    mine = path_of("notices_off", Receiver.objects.exclude(user=None).get().pk)
    work = path_of("no_mail", watch.collection.raters.get().pk)
    links = [mine, "/mail/notices/gone/", work]
    return [*(f"{BASE}/{part}" for part in parts.split()), *links]


@pytest.mark.usefixtures("told")
def test_axe_finds_nothing_and_nothing_scrolls_sideways(visit, watched):
    page = visit.sign_in(visit.page(), "admin")
    visit.expected.append(REFUSED)
    for address in pages(watched):
        page.goto(address)
        for details in page.locator("main details").all():
            details.evaluate("e => e.open = true")
        examine(page, address)
    page.goto(f"{BASE}/watch/new/")
    page.get_by_label("Measure").fill("nonsense")
    follow(page.get_by_role("button", name="Make the watch"))
    expect(page.locator(".errorlist").first).to_be_visible()
    examine(page, "a watch that is refused")
    page.goto(f"{BASE}/notices/")
    page.locator("summary", has_text="New webhook").click()
    page.get_by_label("Web address").fill("https://hooks.example.org/b")
    follow(page.get_by_role("button", name="Make the webhook"))
    expect(page.locator("main")).to_contain_text(
        "Nothing is sent to hooks.example.org until a superuser allows it"
    )
    examine(page, "a new webhook")


@pytest.mark.usefixtures("told")
def test_without_a_script_charts_are_pictures_and_no_page_is_wider_than_a_phone(visit, watched):
    options = {"java_script_enabled": False, "color_scheme": "dark", "viewport": {"width": 390, "height": 844}}
    page = visit.sign_in(visit.page(**options), "admin")
    for address in pages(watched):
        page.goto(address)
        assert wide(page) <= 0, address
    page.goto(f"{BASE}/watch/{watched.pk}/")
    for image in page.locator(".chart img:visible").all():
        image.scroll_into_view_if_needed()
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
        box = image.bounding_box()
        assert box["x"] + box["width"] <= 390


def test_the_trend_is_drawn_by_a_script_and_two_alarms_are_answered_apart(visit, watched):
    page = visit.sign_in(visit.page(), "admin")
    visit.expected.append(REFUSED)
    page.goto(f"{BASE}/watch/{watched.pk}/")
    drawn(page)
    expect(page.locator(".chart svg")).to_have_count(4)
    first = watched.nights.all()[5]
    page.goto(f"{BASE}/watch/{watched.pk}/nights/{first.pk}/")
    follow(page.get_by_role("link", name="Answer it on its last night").first)
    forms = page.locator("#answer form")
    expect(forms).to_have_count(2)
    forms.nth(1).get_by_label("a new release to compare with").check()
    forms.nth(1).get_by_label("Reason").fill("Wanted so.")
    follow(forms.nth(1).get_by_role("button", name="Answer"))
    expect(forms.nth(0).locator(".errorlist")).to_have_count(0)
    expect(forms.nth(1).locator(".errorlist")).to_have_text("Give the release a name.")
    forms.nth(1).get_by_label("Name of the release").fill("autumn")
    follow(forms.nth(1).get_by_role("button", name="Answer"))
    expect(page.locator("#how")).to_contain_text("autumn")
