"""The tests nearest to a change: a small house whose steps are known, and a few of our own."""

import subprocess
from pathlib import Path

import pytest

from .touched import ALWAYS, LONG, House, changed_files, chosen, cost

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "config/urls.py": 'from django.urls import path\nfrom app.views import pool\nPLACE = "c/<slug:slug>/"\n'
    'urlpatterns = [path(f"{PLACE}pool/", pool.show, name="pool_page")]\n',
    "app/__init__.py": "",
    "app/views/__init__.py": "",
    "app/views/pool.py": 'from app import queue\ndef show(request): queue.claim(); return "app/pool.html"\n',
    "app/queue/__init__.py": "from .claiming import claim\nfrom .saving import save\n",
    "app/queue/claiming.py": "def claim(): pass\n",
    "app/queue/saving.py": "from .. import clock\ndef save(): pass\n",
    "app/clock.py": "",
    "app/management/commands/tidy.py": "from app import clock\n",
    "app/templatetags/words.py": "",
    "templates/base.html": '<script src="{% static "desk/keys.js" %}">',
    "templates/app/pool.html": '{% extends "base.html" %}{% load static words %}',
    "static/desk/keys.js": 'import { x } from "./wire.js";\n',
    "static/desk/wire.js": "",
    "app/tests/cast.py": "from app import queue\nqueue.save()\n",
    "app/tests/test_saved.py": "from app import queue\nfrom .cast import x\ndef test_it(): queue.save()\n",
    "app/tests/test_page.py": 'def test_it(client): client.get(f"/c/{1}/pool/?page=2")\n',
    "app/tests/test_links.py": 'def test_it(): reverse("pool_page")\n',
    "app/tests/test_scripts.py": 'def test_it(): call_command("tidy")\n',
    "app/tests/test_desk_keys.py": "def test_it(): pass\n",
    "app/tests/test_patched.py": 'def test_it(): patch("app.clock.now")\n',
    "app/tests/test_other.py": "def test_it(): pass\n",
}


def written(root: Path) -> House:
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return House(root, FILES)


@pytest.mark.parametrize(
    ("changed", "nearest"),
    [
        # A name that a package passes on leads to where it is made, and not to what stands beside it.
        ("app/queue/saving.py", {"saved": 1, "page": 3, "links": 3}),
        ("app/queue/claiming.py", {"page": 2, "links": 2, "saved": 2}),
        ("app/clock.py", {"patched": 1, "scripts": 2, "saved": 2, "page": 4, "links": 4}),
        ("app/views/pool.py", {"page": 1, "links": 1}),
        ("templates/app/pool.html", {"page": 2, "links": 2}),
        ("app/templatetags/words.py", {"page": 3, "links": 3}),
        ("static/desk/wire.js", {"desk_keys": 1, "page": 5, "links": 5}),
        ("app/management/commands/tidy.py", {"scripts": 1}),
        ("app/tests/test_other.py", {"other": 0}),
        ("app/tests/cast.py", {"saved": 1}),
        ("app/tests/test_gone.py", {}),
    ],
)
def test_the_steps_from_tests_to_a_change_are_counted(tmp_path, changed, nearest):
    found = written(tmp_path).nearest([changed])
    assert {Path(file).stem.removeprefix("test_"): steps for file, steps in found.items()} == nearest


def test_the_nearest_run_until_the_time_is_used_up_and_what_changed_in_any_case(tmp_path):
    small, one = written(tmp_path), cost(FILES["app/tests/test_saved.py"])
    assert chosen(small, {"app/queue/saving.py"}, one) == ["app/tests/test_saved.py"]
    assert len(chosen(small, {"app/queue/saving.py"}, 3 * one)) == 3
    assert chosen(small, {"app/tests/test_other.py"}, 0) == ["app/tests/test_other.py"]
    assert chosen(small, set()) == []


def test_a_test_in_a_browser_takes_longer_than_one_of_a_function():
    plain, browser = "\ndef test_it(): pass\n", "\npytestmark = pytest.mark.browser\ndef test_it(): pass\n"
    assert cost(browser) > cost(plain) > 0


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("ratings/queue/saving.py", "ratings/tests/test_queue.py"),
        ("ratings/views/pool.py", "ratings/tests/test_pool_page.py"),
        ("templates/ratings/pool.html", "ratings/tests/test_pool_page.py"),
        ("static/desk/outbox.js", "config/tests/test_desk_network.py"),
        ("evaluation/measures/bounds.py", "evaluation/tests/test_measures_bounds.py"),
        ("ratings/formats/cells.py", "ratings/tests/test_formats_delimited.py"),
        ("evaluation/management/commands/compare.py", "evaluation/tests/test_compare_command.py"),
        ("ratings/templatetags/words.py", "ratings/tests/test_pool_page.py"),
        ("run.py", "config/tests/test_run.py"),
    ],
)
def test_of_our_own_house_the_nearest_tests_are_found(changed, test):
    if (ROOT / changed).exists():
        steps = house().nearest([changed])
        assert steps[test] <= 3 and test in steps


@pytest.mark.parametrize("name", ["topics", "trec", "xlsx"])
def test_what_is_named_for_a_module_and_its_folder_runs_before_other_tests_of_the_folder(name):
    tests = chosen(house(), {f"ratings/formats/{name}.py"})
    assert f"ratings/tests/test_formats_{name}.py" in tests[len(ALWAYS) :][:2]


def house(known: list = []) -> House:  # noqa: B006 - read once
    known.extend([] if known else [House.at(ROOT)])
    return known[0]


def test_every_module_has_a_test_that_is_near():
    """But for those that a framework finds by itself."""
    found, by_itself = house(), {"__init__.py", "apps.py", "admin.py", "urls.py"}
    code = [file for file in found.files if file.startswith(("ratings/", "evaluation/")) and file.endswith(".py")]
    code = [file for file in code if not {"tests", "migrations"} & {*file.split("/")}]
    alone = [file for file in code if min(found.nearest([file]).values(), default=9) > 4]
    assert [file for file in alone if Path(file).name not in by_itself] == []


def test_what_changed_is_what_differs_from_where_the_branch_left_main(tmp_path):
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def write(*names: str) -> None:
        for name in names:
            with (tmp_path / name).open("a") as file:
                file.write("x")

    assert changed_files(tmp_path) == set()  # not under git
    git("init")
    write("old.py", "committed.py", "staged.py", "edited.py", "removed.py")
    git("add", ".")
    git("commit", "-m", "a")
    git("switch", "-c", "branch")
    write("committed.py")
    git("commit", "-am", "b")
    git("switch", "main")
    write("old.py")
    git("commit", "-am", "main went on")
    git("switch", "branch")
    write("staged.py")
    git("add", ".")
    write("edited.py", "new.py")
    (tmp_path / "removed.py").unlink()
    assert changed_files(tmp_path) == {"committed.py", "staged.py", "edited.py", "new.py", "removed.py"}


def test_the_files_that_take_long_exist():
    assert [file for file in LONG if not (ROOT / file).exists()] == []
