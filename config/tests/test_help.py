"""The help in the app: pages, contents, links, pictures and the search, for everybody."""

import ast
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import reverse

from config.help import documents as help_documents
from config.help.documents import DOCUMENT_NAMES, address_of, document, documents, sentences_of, tokens_of
from config.help.search import search
from config.help.views import found
from config.program import CLONE_PROGRAM
from ratings.people import throttle

pytestmark = pytest.mark.django_db
FORMS = '<script src="/static/forms.js" defer>'


def page(client, name: str) -> str:
    return client.get(reverse("help_page", args=[name])).content.decode()


@pytest.mark.parametrize("name", DOCUMENT_NAMES)
def test_a_page_has_its_contents_and_every_link_in_it_leads_to_a_heading(client, name):
    html = page(client, name)
    ids = set(re.findall(r' id="([^"]+)"', html))
    assert html.count("<h1") == 1
    for section in document(name).contents:
        assert f'href="#{section.anchor}"' in html and section.anchor in ids
    for other, anchor in re.findall(r'href="/help/([\w-]+)/#([^"]+)"', html):
        assert anchor in {section.anchor for section in document(other).sections}
    assert [link for link in re.findall(r'href="([^"]*)"', html) if ".md" in link] == []
    assert re.findall("<script[^>]*>", html) == [FORMS] and " style=" not in html


def test_links_between_files_become_addresses_of_the_app():
    assert address_of("files.md#csv-and-tsv") == "/help/files/#csv-and-tsv"
    assert address_of("#options") == "#options"
    assert address_of("../bench/README.md") == ""
    assert address_of("https://example.org/x.md") == "https://example.org/x.md"


def test_an_unknown_page_is_not_there(client):
    for name in ("nothing", "README", "..%2Frun", "files.md"):
        assert client.get(f"/help/{name}/").status_code == 404


def test_raw_html_is_shown_as_text():
    html = [token.type for token in tokens_of("# T\n\n<script>x</script>\n\n<b>y</b>")]
    assert "html_block" not in html


def test_sentences_are_those_of_texts_tables_and_blocks():
    text = "One. Two of\nit.\n\n| a | b |\n|---|---|\n| c | `d` |\n\n```sh\nrun it\n```\n"
    assert list(sentences_of(tokens_of(text))) == ["One.", "Two of it.", "a · b", "c · d", "run it"]


def test_equal_headings_have_anchors_of_their_own_as_code_hosts_give_them():
    tokens = [token for token in tokens_of("# A b?\n\n## A b\n\n## 2 × c-d, é") if token.type == "heading_open"]
    assert [token.attrGet("id") for token in tokens] == ["a-b", "a-b-1", "2--c-d-é"]
    assert help_documents.text_of(tokens_of("# A `b`")[1]) == "A b"


# The search


def test_titles_come_before_texts():
    hits = search("bias", documents())
    assert [hit.rank for hit in hits] == sorted((hit.rank for hit in hits), reverse=True)
    assert search("warm-ups", documents())[0].rank == 2
    assert search("zzz", documents()) == search("   ", documents()) == []


def test_the_search_finds_parts_of_documents(client):
    answer = client.get(reverse("help"), {"q": "neutral point"})
    assert {hit.document.name for hit in answer.context["hits"]} >= {"measures", "glossary"}


def test_what_was_looked_for_is_no_markup(client):
    answer = client.get(reverse("help"), {"q": "<b>(x"})
    assert answer.status_code == 200 and b"<b>(x" not in answer.content
    assert "<b>" not in "".join(hit.sentence for hit in search("<TAB>", documents()))


def test_letters_alone_and_repeated_words_are_not_looked_for():
    assert search("a b c d", documents()) == []
    assert search("rating a RATING rating", documents()) == search("rating", documents())


def test_a_search_is_made_once_and_a_stranger_makes_few_of_them_in_a_minute(client, monkeypatch):
    made = []
    monkeypatch.setattr("config.help.views.search", lambda words, documents: made.append(words) or [])
    monkeypatch.setattr(throttle, "SEARCHES_PER_ADDRESS", 3)
    found.cache_clear()
    answers = [client.get(reverse("help"), {"q": "pool"}, REMOTE_ADDR="192.0.2.1") for _ in range(4)]
    found.cache_clear()
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429] and made == ["pool"]
    assert answers[3]["Retry-After"] == "60"
    assert client.get(reverse("help"), REMOTE_ADDR="192.0.2.1").status_code == 200
    assert client.get(reverse("help"), {"q": "pool"}, REMOTE_ADDR="192.0.2.2").status_code == 200
    found.cache_clear()


def test_the_documents_name_the_program_of_the_wheel_where_that_is_installed(monkeypatch):
    monkeypatch.setattr(help_documents, "PROGRAM", "idealist")
    operating, contributing = (document.__wrapped__(name).html for name in ("operating", "contributing"))
    assert "idealist manage upgrade" in operating and "python3 run.py" not in operating
    assert "python3 run.py test" in contributing  # the wheel has no tests


def test_no_page_and_no_message_writes_the_name_of_the_program_itself():
    root = settings.BASE_DIR
    templates = {
        file for file in (root / "templates").rglob("*.*") if help_documents.CLONE_PROGRAM in file.read_text()
    }
    assert {file.name for file in templates} == {"bundle_readme.txt"}  # others read it, who may have a clone
    rooms = [file for room in ("ratings", "evaluation", "config") for file in (root / room).rglob("*.py")]
    writing = {file.relative_to(root).as_posix() for file in rooms if "tests" not in file.parts and names_it(file)}
    assert writing == {"config/program.py"}


def names_it(file: Path) -> bool:
    """Whether a string of the module that is no docstring has the name."""
    tree = ast.parse(file.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, documented)}
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)} - docstrings
    return any(CLONE_PROGRAM in text for text in strings if isinstance(text, str))
