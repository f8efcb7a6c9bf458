"""The languages of what raters meet: whole catalogs, the right one for each page and mail, and room for it."""

import gettext as catalogs
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver, reverse
from playwright.sync_api import Page, expect

from ratings.desk.content import outlook_words
from ratings.desk.queue import outlook
from ratings.models import AccountLanguage, Collection, Document, Grade, Query, Role
from ratings.people import mail, members
from ratings.presentation import versions as presentations
from ratings.presentation.guidelines import versions
from ratings.presentation.parts import Part, Presented
from ratings.tests.cast import make_collection, make_member, make_pair, make_rater, make_user, signed_in
from ratings.web import language
from run import ROOT

from .desk import begin, press
from .looks import wide

OTHERS = [code for code, _ in settings.LANGUAGES if code != language.ENGLISH]
FILES = [ROOT / "locale" / code / "LC_MESSAGES" / name for code in OTHERS for name in ("django.po", "djangojs.po")]


# Catalogs


def compiled(source: Path, to: Path) -> dict:
    """The messages of a catalog, compiled by msgfmt, which compares the placeholders of each with its original."""
    done = subprocess.run(
        ["msgfmt", "--check", "--statistics", "-o", to, source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not re.search("fuzzy|untranslated", done.stderr), f"{source}: {done.stderr}"
    return read(to)


def read(path: Path) -> dict:
    """original → translation; a plural has a number with it."""
    with path.open("rb") as file:
        messages = catalogs.GNUTranslations(file)._catalog
    return {original: words for original, words in messages.items() if original}


@pytest.mark.usefixtures("gettext")
def test_every_message_is_translated_and_compiled_as_committed(tmp_path, settings, monkeypatch):
    """To write the catalogs anew, and to compile them: see docs/contributing.md."""
    for name in ("locale", "config", "ratings", "evaluation", "templates", "static"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    settings.LOCALE_PATHS = [tmp_path / "locale"]
    monkeypatch.chdir(tmp_path)
    for domain in ("django", "djangojs"):
        call_command("makemessages", locale=OTHERS, domain=domain, no_obsolete=True, verbosity=0)
    for path in FILES:
        fresh = compiled(tmp_path / path.relative_to(ROOT), tmp_path / "compiled.mo")
        assert fresh == read(path.with_suffix(".mo")), f"{path.with_suffix('.mo')} is older than the texts"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_translation_has_the_tags_of_its_original(path):
    for original, words in read(path.with_suffix(".mo")).items():
        text = original[0] if isinstance(original, tuple) else original
        assert sorted(tags(words)) == sorted(tags(text)), text


def tags(text: str) -> list[str]:
    return re.findall(r"</?[a-z][^>]*>", text)


# Which language


@pytest.fixture
def collection() -> Collection:
    """A round in Cyrillic: on its Ukrainian pages, Latin words are those that nobody translated."""
    hills = make_collection(documents="abcdef", scale={"-1": "Шкідливо", "0": "Ні", "1": "Трохи", "2": "Так"})
    Collection.objects.update(name="Пагорби")
    Grade.objects.update(meaning="Чому так.")
    Query.objects.update(text="червоне взуття", need="Купити взуття.")
    fields = {"photos": ["a.png", "b.png"], "sizes": [["мало", "8"], ["багато", "9"]], "words": ["слово"] * 500}
    Document.objects.update(title="Зелений пагорб", body="Перший рядок.\n\nДругий рядок.", fields=fields)
    hills.refresh_from_db()
    for document in "abcdef":
        make_pair(hills, "q1", document)
    make_rater(hills, "ратер")
    versions.publish(hills, "# Як оцінювати\n\nЧитайте уважно.", base=0)
    parts = [Part("title", "title"), Part("text", "text"), Part("image", "photos"), Part("table", "sizes")]
    presentations.publish(hills, Presented((*parts, Part("list", "words"))), base=0)
    return hills


def language_of_page(client: Client, name: str, *arguments: object, **facts) -> str:
    page = client.get(reverse(name, args=arguments), **facts).content.decode()
    return re.search(r'<html lang="([a-z]+)"', page)[1]


@pytest.mark.django_db
def test_a_page_of_raters_is_in_the_language_that_the_browser_asks_for(collection):
    client = Client(headers={"Accept-Language": "nl, de-AT;q=0.8, en;q=0.5"})
    assert language_of_page(client, "sign_in") == "de"
    assert language_of_page(client, "home") == "en"  # the introduction
    client.force_login(make_user("anna"))
    assert language_of_page(client, "password_change") == "de"
    assert language_of_page(Client(headers={"Accept-Language": "nl"}), "sign_in") == "en"
    missing = client.get("/nowhere/").content.decode()
    assert '<html lang="de"' in missing and "There is nothing at this address" not in missing


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.ANALYST, Role.ADMIN])
def test_pages_of_analysts_and_admins_are_in_english_with_english_numbers(collection, role):
    client = signed_in(make_member(collection, "anna", role))
    german = {"headers": {"Accept-Language": "de"}}
    for name in ("overview", "queries", "guidelines", "guidelines_versions"):
        assert language_of_page(client, name, "hills", **german) == "en"
    assert language_of_page(client, "home", **german) == "en"
    assert language_of_page(client, "tokens", **german) == "en"


@pytest.mark.django_db
def test_what_a_person_chose_counts_in_each_browser_in_which_they_sign_in():
    anna = make_user("anna")
    client = signed_in(anna)
    client.post(reverse("save_appearance"), {"language": "ja"})
    assert language_of_page(client, "password_change", headers={"Accept-Language": "de"}) == "ja"
    other = Client(headers={"Accept-Language": "de"})
    other.post(reverse("sign_in"), {"username": "anna", "password": "a pass phrase"})
    assert language_of_page(other, "password_change") == "ja"
    other.post(reverse("save_appearance"), {"language": ""})
    assert language_of_page(other, "password_change") == "de"
    assert not AccountLanguage.objects.exists()


@pytest.mark.django_db
def test_the_address_of_every_translated_page_exists():
    names = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    assert not language.TRANSLATED_VIEWS - names


@pytest.mark.django_db
def test_a_script_gets_its_words_and_english_has_none():
    script = Client().get(reverse("catalog", args=["de"]))
    assert script["Content-Type"].startswith("text/javascript") and "ngettext" in script.content.decode()
    assert Client().get(reverse("catalog", args=["en"])).status_code == 404
    assert Client().get(reverse("catalog", args=["xx"])).status_code == 404


@pytest.mark.django_db
def test_mail_is_in_the_language_of_its_invitation_or_account(collection, settings, mailoutbox):
    settings.MAIL = {"EMAIL_HOST": "mail.example.org"}
    (made,) = members.invite(collection, ["anna@example.org"], role=Role.RATER, days=7, by=None, language="uk")
    mail.send_invitations([(made[0], "/join/x/")])
    joined = Client(headers={"Accept-Language": "fr"})
    joined.post(reverse("join", args=[made[1]]), {"by": "new", "username": "anna", "password": "four quiet hills"})
    for asked_in in ("en", "de"):
        mail.send_reset.call("anna@example.org", asked_in)
    for text in (mailoutbox[0].subject, mailoutbox[0].body.partition("http")[0]):
        assert re.search("[а-яї]{3}", text) and not re.search("[a-z]{3}", text.replace("Idealist", ""))
    assert len({each.subject for each in mailoutbox[1:]}) == 1  # that of the browser in which they joined
    assert "Idealist" in mailoutbox[1].subject and mailoutbox[1].subject != "A new password for Idealist"


@pytest.mark.django_db
def test_one_few_and_many_have_their_forms(collection):
    rater = collection.raters.get()
    with language.translation.override("uk"):
        said = [outlook_words(replace(outlook(rater), left=left))[0] for left in (1, 3, 6)]
    assert len({re.sub(r"\d", "", each) for each in said}) == 3


# Room for it


WALKED = ["sign_in", "forgotten_password", "password_change", "sessions", "mfa_index", "home"]
OF_RATER = ["my_ratings", "desk_settings", "guidelines", "guidelines_versions", "rate"]
# What is cut or spills over its place. The bar above may scroll on a phone.
CUT = """() => [...document.querySelectorAll("button, .btn, summary, kbd, nav a, th, legend")]
    .filter((each) => each.checkVisibility() && !each.closest(".vh"))
    .filter((each) => each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== "inline"
        || each.getBoundingClientRect().right > innerWidth + 1 || each.getBoundingClientRect().left < -1)
    .filter((each) => !each.closest(".scroll, header.top"))
    .map((each) => each.textContent.trim())"""
# All that is read or heard on the page: its texts, and the attributes that name something.
READ = """() => {
    const hidden = "script, style, kbd, code, select[name=zone], select[name=language]";
    const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
    const texts = [document.title];
    while (walker.nextNode())
        if (!walker.currentNode.parentElement.closest(hidden)) texts.push(walker.currentNode.data);
    for (const name of ["title", "aria-label", "placeholder", "alt"])
        for (const each of document.querySelectorAll(`[${name}]`)) texts.push(each.getAttribute(name));
    return texts.map((text) => text.trim()).filter(Boolean);
}"""
NAMES = r"Idealist|JSON|JavaScript|Chrome|Linux|UTC|Ctrl|Enter|Esc|Backspace|a s d f"


def seen(page: Page, code: str, what: str) -> None:
    """Fail where a line is longer than its place, or a page in Ukrainian has a word in Latin letters."""
    assert page.locator("html").get_attribute("lang") == code
    assert page.evaluate(CUT) == [], f"{what} in {code}"
    assert wide(page) <= 0, f"{what} in {code} is {wide(page)} px too wide"
    if code == "uk":
        left = [text for text in page.evaluate(READ) if re.search("[A-Za-z]{2}", re.sub(NAMES, "", text))]
        assert left == [], f"{what} has words that are not translated"


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("code", OTHERS)
def test_a_rater_on_a_phone_has_room_for_every_word(visit, collection, settings, code):
    settings.MAIL = {"EMAIL_HOST": "mail.example.org"}
    (invited,) = members.invite(collection, ["Оля"], role=Role.RATER, days=7, by=None)
    page = visit.page(viewport={"width": 390, "height": 844}, locale=code)
    for address in (reverse("join", args=[invited[1]]), reverse("join", args=["x"]), *map(reverse, WALKED[:2])):
        visit.expected.append("404")
        page.goto(address)
        seen(page, code, address)
    visit.sign_in(page, "ратер")
    for address in [*map(reverse, WALKED[2:]), *(reverse(name, args=["hills"]) for name in OF_RATER), "/nowhere/"]:
        page.goto(address)
        seen(page, code, address)
    begin(page)
    seen(page, code, "the desk")
    press(page, "2")
    page.keyboard.press("x")
    expect(page.locator("#cannot")).to_be_visible()
    seen(page, code, "the reasons")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    seen(page, code, "the keys")
    page.keyboard.press("Escape")
    press(page, "u")
    seen(page, code, "what was taken back")
    page.goto(reverse("desk_settings", args=["hills"]))
    page.get_by_role("radio").nth(1).check()
    page.locator("main form .btn.main").click()
    page.goto(reverse("rate", args=["hills"]))
    seen(page, code, "the list")
