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
from evaluation.tests.worked import rate
from ratings.models import Collection, Role
from ratings.people import tokens
from ratings.tests.cast import make_collection, make_member, make_pair, make_ranking, make_user

from .blocks import Block, blocks_of, commands, ran

BLOCKS = list(blocks_of(FOLDER / "api.md"))
FUNCTION = re.compile(r"^\w+\(\) \{.*\}\n", re.MULTILINE)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("curl")
def test_every_example_runs_and_answers_in_its_shape(live_server, tmp_path):
    world = World(live_server.url, tmp_path)
    said = ""
    for block in BLOCKS:
        if block.mark:
            continue
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


@pytest.mark.usefixtures("curl")
def test_the_script_of_a_gate_sends_a_build_and_ends_with_the_verdict(live_server, tmp_path):
    queries = [f"q{n}" for n in range(12)]
    hills = make_collection("hills", queries=queries)
    for place, query in enumerate(queries):
        rate(hills, query, a="3", b=str(place % 3), c="0")
        for system in ("baseline", "release-12"):
            make_ranking(hills, system, query, "abc")
    asks = {"name": "ci", "scopes": ["read", "import"], "days": 1}
    _, key = tokens.make(make_member(hills, "boss", Role.ADMIN), hills, **asks)
    (script,) = (block.text for block in blocks_of(FOLDER / "gate.md") if block.language == "bash")

    def build(name: str, documents: str, lines: str = script) -> tuple[str, int]:
        rankings = [{"query": query, "documents": list(documents)} for query in queries]
        (tmp_path / "rankings.json").write_text(json.dumps({"system": name, "rankings": rankings}))
        said = {"IDEALIST": f"{live_server.url}/api/v1/collections/hills", "TOKEN": key, "BUILD": name}
        command = {"cwd": tmp_path, "env": os.environ | said, "capture_output": True, "text": True}
        done = subprocess.run(["bash", "-c", lines], **command)
        return done.stdout + done.stderr, done.returncode

    said, status = build("build-1", "abc")
    assert status == 0 and "build-1: not worse" in said, said
    said, status = build("build-2", "cba")
    assert status == 1 and "build-2: worse" in said
    # What the documents name as the line of a stricter gate.
    stricter = '! grep -qi "^idealist-verdict: not-worse" headers.txt && exit 1 || exit 0'
    strict = script.replace(script.splitlines()[-1], stricter)
    assert build("build-3", "abc", strict)[1] == 0 and build("build-4", "acb", strict)[1] == 1
