"""The README tells the truth: every path on its map exists, every module is on the map, every command runs."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAP = re.search(r"## The house\n\n```\n(.*?)```", README, re.DOTALL)[1]


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


@pytest.mark.parametrize("place", sorted(places_on_the_map()))
def test_every_place_on_the_map_exists(place):
    assert (ROOT / place).exists()


@pytest.mark.parametrize("app", ["ratings", "evaluation", "config"])
def test_every_module_is_on_the_map(app):
    found = {
        f"{app}/{path.name}{'/' if path.is_dir() else ''}"
        for path in (ROOT / app).iterdir()
        if (path.is_dir() or path.suffix == ".py") and not path.name.startswith("__")
    }
    assert found - places_on_the_map() - {f"{app}/apps.py"} == set()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"run.py manage (\w+)", README)) - {"COMMAND"}))
def test_every_command_of_the_readme_exists(name):
    assert name in get_commands()


@pytest.mark.parametrize("picture", re.findall(r"!\[[^]]+\]\(([^)]+)\)", README))
def test_every_picture_of_the_readme_exists(picture):
    assert (ROOT / picture).stat().st_size > 10_000


def test_the_version_is_that_of_the_changelog():
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    assert f"## {version}\n" in (ROOT / "CHANGELOG.md").read_text()
