"""The documents tell the truth: their map, links, pictures, settings and words are those of the house."""

import re
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from django.core.management import get_commands
from markdown_it import MarkdownIt

from config import settings
from config.help.documents import DOCS_FOLDER, DOCUMENT_NAMES, document, documents

from .blocks import MARKS, README, blocks_of
from .blocks import documents as paths

ROOT = README.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
ALL = "\n".join(path.read_text(encoding="utf-8") for path in paths())
BLOCKS = list(chain.from_iterable(map(blocks_of, paths())))
MAP = next(block.text for block in BLOCKS if block.mark == "map")
WALK = re.compile(r"^\| \d+ \| `([^`]+)` \|", re.MULTILINE)
LEADING_ON = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]  # which no page shows
# Blocks that are not run, by document: a new one is a new line here.
ONLY_READ = {
    ("README", "server"): 1,
    ("architecture", "map"): 1,
    ("contributing", "server"): 10,
    ("engines", "outside"): 3,
    ("files", "outside"): 2,
    ("gate", "outside"): 4,
    ("first-steps", "server"): 2,
    ("judges", "outside"): 2,
    ("notices", "outside"): 1,
    ("log", "formula"): 3,
    ("measures", "formula"): 2,
    ("operating", "outside"): 4,
    ("operating", "server"): 17,
    ("statistics", "formula"): 1,
    ("watch", "outside"): 1,
}


# The map and the walks


def places_on_the_map() -> set[str]:
    """Paths of the map: a line at the margin names a place, an indented one what lies in the place above it."""
    places, above = set(), ""
    for line in MAP.splitlines():
        names = re.split(r"  +", line.strip())[0].split()
        if not line.startswith(" "):
            above = names[0] if len(names) == 1 else ""
            places |= set(names)
        else:
            places |= {above + name for name in names}
    return places


def test_every_place_on_the_map_exists():
    assert [place for place in places_on_the_map() if not (ROOT / place).exists()] == []


@pytest.mark.parametrize("app", ["ratings", "evaluation", "config"])
def test_every_module_is_on_the_map(app):
    found = {
        f"{app}/{path.name}{'/' if path.is_dir() else ''}"
        for path in (ROOT / app).iterdir()
        if (path.is_dir() or path.suffix == ".py") and not path.name.startswith("__")
    }
    assert found - places_on_the_map() - {f"{app}/apps.py"} == set()


def test_a_walk_leads_through_places_that_exist_and_never_twice_through_one():
    text = (DOCS_FOLDER / "architecture.md").read_text(encoding="utf-8")
    walks = [WALK.findall(part) for part in text.split("\n## ") if WALK.search(part)]
    assert [len(walk) for walk in walks] == [10, 11]
    for walk in walks:
        assert len(set(walk)) == len(walk)
        assert [place for place in walk if not (ROOT / place).exists()] == []


# Commands, settings and pictures


def test_every_command_exists():
    commands = {*get_commands(), "doctor", "help"}  # which manage.py and Django know by themselves
    assert set(re.findall(r"run\.py manage ([a-z_]+)", ALL)) <= commands


def test_run_py_knows_what_the_documents_ask_of_it():
    asked = set(re.findall(r"python3 run\.py ([a-z]+)", ALL))
    usage = (ROOT / "run.py").read_text(encoding="utf-8").partition('"""\n\n')[0]
    assert {name for name in asked if f"python3 run.py {name}" not in usage} == set()


def test_every_setting_is_in_the_table_and_no_other():
    told = set(re.findall(r"^([A-Z_]+) ", settings.__doc__, re.MULTILINE))
    table = set(re.findall(r"^\| `([A-Z_]+)` \|", (DOCS_FOLDER / "operating.md").read_text(), re.MULTILINE))
    assert table - told == {"NAME_FILE"} and told - table == set()


def test_every_picture_is_there_is_small_and_is_shown():
    shown = set(re.findall(r"!\[[^]]+\]\((?:docs/)?pictures/([^)]+)\)", ALL))
    files = {path.name: path.stat().st_size for path in (DOCS_FOLDER / "pictures").iterdir()}
    assert shown == set(files)
    assert all(10_000 < size < 150_000 for size in files.values())


def test_the_version_is_that_of_the_changelog():
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    assert f"## {version}\n" in (ROOT / "CHANGELOG.md").read_text()


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 120


# Blocks


def test_every_block_says_what_it_is_and_those_that_are_only_read_are_few_and_known():
    assert [str(block) for block in BLOCKS if not block.language] == []
    read = Counter((block.document, block.mark) for block in BLOCKS if block.mark)
    assert read == ONLY_READ
    assert {mark for _, mark in read} == MARKS


# Links


def anchors(path: Path) -> set[str]:
    return {section.anchor for section in document(path.stem).sections} if path.parent == DOCS_FOLDER else set()


def links() -> list[tuple[Path, str]]:
    found = []
    for path in (*paths(), *LEADING_ON):
        for token in MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8")):
            for child in token.children or ():
                if child.type == "link_open":
                    found.append((path, str(child.attrGet("href"))))
    return found


def leads_somewhere(path: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = (path.parent / file).resolve() if file else path
    return target.is_relative_to(ROOT) and target.is_file() and (not anchor or anchor in anchors(target))


def test_every_link_leads_to_a_file_and_a_heading_that_exist():
    assert len(links()) > 100
    assert [(path.name, link) for path, link in links() if not leads_somewhere(path, link)] == []


def test_a_page_names_the_part_of_the_help_that_explains_it():
    for template in TEMPLATES:
        text = template.read_text(encoding="utf-8")
        told = re.findall(r"{% url 'help_page' '([\w-]+)' %}(?:#([\w-]+))?", text)
        for name, anchor in told:
            there = name in DOCUMENT_NAMES and (not anchor or anchor in anchors(DOCS_FOLDER / f"{name}.md"))
            assert there, (template.name, name, anchor)
        is_page = '{% extends "base.html" %}' in text and not re.match(r"\d{3}|help", template.name)
        assert not is_page or "{% block help %}" in text, template.name


# Words


def glossary() -> dict[str, list[str]]:
    """Each term, and the spellings that it is not."""
    text = (DOCS_FOLDER / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \|([^|]*)\|$", text, re.MULTILINE)
    terms = [(term, not_so) for term, not_so in rows if term not in ("term", "---")]
    assert len(dict(terms)) == len(terms), "a term appears twice"
    return {term: [word.strip() for word in not_so.split(",") if word.strip()] for term, not_so in terms}


OLD = re.compile("|".join(rf"\b{word}s?\b" for word in chain.from_iterable(glossary().values())), re.IGNORECASE)


def read_by_people(path: Path) -> str:
    """The text without what belongs to programs."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        return re.sub(r"{%.*?%}|{{.*?}}|{#.*?#}|<[^>]*>", " ", text, flags=re.DOTALL)
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`", "", text)


def test_no_old_spelling_is_left():
    read = {path.name: OLD.findall(read_by_people(path)) for path in [*paths(), *TEMPLATES]}
    assert {name: old for name, old in read.items() if old and name != "glossary.md"} == {}


def test_an_old_spelling_would_be_found():
    assert OLD.findall("Annotators use a metric.") == ["Annotators", "metric"]


# In the app


def test_the_documents_are_those_of_the_folder():
    assert sorted(DOCUMENT_NAMES) == sorted(path.stem for path in DOCS_FOLDER.glob("*.md"))
    assert len({each.title for each in documents()}) == len(DOCUMENT_NAMES)


def test_a_document_has_one_title_and_tells_at_once_what_it_is_for():
    for each in documents():
        assert [section.level for section in each.sections].count(1) == 1 and each.sections[0].level == 1
        assert 30 < len(each.summary) < 200, each.name
        assert len({section.anchor for section in each.sections}) == len(each.sections)
