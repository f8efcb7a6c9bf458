"""Every block of docs/api.md runs as it stands there, against a live server, and answers in the shape it says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from config.help.documents import FOLDER
from evaluation.tests.hills import make_hills
from ratings.models import Collection, Role
from ratings.people import tokens
from ratings.tests.cast import make_member, make_pair, make_user

from .blocks import Block, blocks_of, commands, ran

BLOCKS = list(blocks_of(FOLDER / "api.md"))
BUILD = BLOCKS[-2:]  # of the section about a build of a search engine
LINES = {block.language: block.text for block in BUILD}
FUNCTION = re.compile(r"^\w+\(\) \{.*\}\n", re.MULTILINE)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("curl")
def test_every_example_runs_and_answers_in_its_shape(live_server, tmp_path):
    world = World(live_server.url, tmp_path)
    said = ""
    for block in BLOCKS[:-2]:
        if block.language == "json":
            assert fits(json.loads(block.text), json.loads(said)), f"{block}:\n{said}"
        else:
            said = world.run(block)
    assert world.kinds == {"sh", "bash", "python"}


class World:
    """Who asks, and a rater of the collection that the examples make, as soon as it is there."""

    def __init__(self, server: str, folder: Path) -> None:
        self.folder, self.kinds, self.functions = folder, set(), ""
        self.boss = make_user("boss", is_superuser=True)
        facts = {"name": "examples", "scopes": ["read", "import", "manage"], "days": 1}
        self.said = {"SERVER": server, "TOKEN": tokens.make(self.boss, None, **facts)[1]}

    def run(self, block: Block) -> str:
        self.kinds.add(block.language)
        if block.language == "sh":
            return "".join(done(*ran(line)) for line in commands(block.text))
        if block.language == "python":
            self.hire()
        self.functions += "".join(FUNCTION.findall(block.text)) if block.language == "bash" else ""
        shell = ["bash", "-euc", self.functions + block.text]
        command = shell if block.language == "bash" else [sys.executable, "-c", block.text]
        where = {"cwd": self.folder, "env": os.environ | self.said}
        result = subprocess.run(command, **where, capture_output=True, text=True)
        assert result.returncode == 0, f"{block}:\n{result.stdout}{result.stderr}"
        return result.stdout

    def hire(self) -> None:
        lamps = Collection.objects.get(slug="lamps")
        make_pair(lamps, "q1", "d2")
        rater = make_member(lamps, "rater", Role.RATER)
        _, self.said["RATER_TOKEN"] = tokens.make(rater, lamps, name="machine", scopes=["rate"], days=1)


def done(status: int, said: str) -> str:
    assert status == 0, said
    return said


def fits(shape: Any, found: Any) -> bool:
    """Whether `found` has all members of `shape`, and of each the type; an empty list stands for any."""
    if isinstance(shape, dict):
        return isinstance(found, dict) and all(name in found and fits(shape[name], found[name]) for name in shape)
    if isinstance(shape, list):
        return isinstance(found, list) and (not shape or bool(found) and fits(shape[0], found[0]))
    return shape is None or isinstance(found, type(shape)) or {type(shape), type(found)} <= {int, float}


def test_a_shape_tells_another_one():
    assert fits({"a": [1]}, {"a": [2.5], "b": 1}) and fits({"a": None}, {"a": 1})
    assert not fits({"a": [1]}, {"a": []}) and not fits({"a": 1}, {}) and not fits({"a": "x"}, {"a": 1})


@pytest.fixture
def build(live_server, tmp_path):
    """Run a command as the build of a search engine whose rankings are `documents`; its output and exit status."""
    hills = make_hills()
    _, key = tokens.make(
        make_member(hills, "boss", Role.ADMIN), hills, name="ci", scopes=["read", "import"], days=1
    )

    def run(command: list[str], documents: str) -> tuple[str, int]:
        rankings = [{"query": "q1", "documents": list(documents)}, {"query": "q2", "documents": ["b"]}]
        (tmp_path / "rankings.json").write_text(json.dumps({"system": "build-417", "rankings": rankings}))
        said = {"IDEALIST": f"{live_server.url}/api/v1/collections/hills", "TOKEN": key, "BUILD": "build-417"}
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | said, capture_output=True, text=True)
        return done.stdout + done.stderr, done.returncode

    return run


@pytest.mark.usefixtures("curl")
def test_the_lines_for_curl(build):
    said, status = build(["bash", "-euc", LINES["bash"]], "adb")
    assert status == 0, said
    assert '"new": 2' in said and '"mean": 1.0' in said and '"items": []' in said


def test_the_lines_for_python_print_what_is_refused(build):
    said, status = build([sys.executable, "-c", LINES["python"]], "aa")
    assert status == 1 and '"status": 422' in said and "Keep one of the two" in said


def test_the_lines_for_python_name_all_that_is_unjudged_however_many_pages_it_takes(build):
    code = LINES["python"].replace("limit=1000", "limit=1")
    said, _ = build([sys.executable, "-c", code], "xyzab")
    assert [line.split()[2] for line in said.splitlines() if line.startswith("unjudged")] == ["x", "y", "z"]


def test_the_lines_for_python_let_a_good_build_pass(build):
    said, status = build([sys.executable, "-c", LINES["python"]], "adb")
    # Unjudged is a, for q2: were it perfect, b would score 2 / (3 + 2 / log2(3)) = 0.469279 there.
    assert (said, status) == ("nDCG@10 1.0000, and 0.7346 to 1.0000 once all is judged\n", 0)


def test_the_lines_for_python_fail_a_bad_build_and_name_what_is_unjudged(build):
    said, status = build([sys.executable, "-c", LINES["python"].replace("< 0.4", "< 0.9")], "cxa")
    assert status == 1
    assert "unjudged: q1 x at rank 2" in said and "once all is judged" in said
