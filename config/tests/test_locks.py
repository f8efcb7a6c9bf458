"""The locks, from which run.py installs: they agree with what is asked for, and hold everything by its hash."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CURE = "Make the locks anew: .ci/lock"
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?==([^\s;]+)", re.MULTILINE)
LOCKS = ["requirements.lock", "requirements-dev.lock", "bench/requirements.lock"]
EXTRAS = ["requirements-machines.lock"]


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: str) -> dict[str, str]:
    """The version of each package; all versions of one that differs by system."""
    found: dict[str, str] = {}
    for name, version in sorted(PIN.findall((ROOT / file).read_text())):
        found[plain(name)] = f"{found[plain(name)]} {version}" if plain(name) in found else version
    return found


def asked_for(file: str) -> dict[str, str]:
    """The pins of a file of requirements and of the file that it includes."""
    path = ROOT / file
    included = re.findall(r"^-r (.+)$", path.read_text(), re.MULTILINE)
    return pins(file) | {
        name: version
        for other in included
        for name, version in asked_for(str((path.parent / other).resolve().relative_to(ROOT))).items()
    }


def hashes(file: str) -> dict[str, set[str]]:
    """The hashes of each package of a lock."""
    entries = re.split(r"^(?=[A-Za-z0-9])", (ROOT / file).read_text(), flags=re.MULTILINE)[1:]
    return {plain(PIN.match(entry)[1]): set(re.findall(r"--hash=sha256:(\w+)", entry)) for entry in entries}


@pytest.mark.parametrize("lock", LOCKS + EXTRAS)
def test_every_pin_is_in_the_lock_with_its_version(lock):
    wanted, locked = asked_for(lock.replace(".lock", ".txt")), pins(lock)
    if "dev" not in lock and "bench" not in lock:  # what serves
        wanted = {name: version for name, version in wanted.items() if name not in ("pytest", "pytest-django")}
    assert len(wanted) > 15
    apart = {name: (version, locked.get(name)) for name, version in wanted.items() if locked.get(name) != version}
    assert apart == {}, CURE


@pytest.mark.parametrize("lock", LOCKS[1:] + EXTRAS)
def test_what_is_tested_and_measured_is_what_runs(lock):
    locked = pins(lock)
    assert {name: locked.get(name) for name in pins(LOCKS[0])} == pins(LOCKS[0]), CURE


@pytest.mark.parametrize("lock", LOCKS + EXTRAS)
def test_everything_has_a_hash_and_no_place_to_come_from(lock):
    text = (ROOT / lock).read_text()
    entries = re.split(
        r"^(?=[A-Za-z0-9])", re.sub(r"^(?:#|--).*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE
    )
    entries = [entry for entry in entries if entry.strip()]
    assert len(entries) == len(PIN.findall(text))
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"://|@|index|find-links", text), CURE


@pytest.mark.parametrize("lock", [LOCKS[0], *EXTRAS])
def test_where_people_work_only_wheels_are_installed(lock):
    """A package that is built runs its own code, with tools that have no hash."""
    assert "--only-binary :all:\n" in (ROOT / lock).read_text()


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-machines.lock"])
def test_what_serves_has_no_tools_of_tests(lock):
    tools = {"pytest", "pytest-django", "hypothesis", "playwright", "schemathesis", "ruff", "mypy", "uv"}
    assert "django" in pins(lock) and not tools & pins(lock).keys()
    assert tools <= pins("requirements-dev.lock").keys()
