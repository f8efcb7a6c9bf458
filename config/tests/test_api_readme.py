"""What the README says of the API runs as it stands there, against a live server."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.tests.hills import make_hills
from ratings import tokens
from ratings.models import Role
from ratings.tests.cast import make_member

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("## The API")[2].partition("\n## ")[0]
LINES = dict(re.findall(r"```(\w+)\n(.*?)```", SECTION, re.DOTALL))

pytestmark = pytest.mark.django_db(transaction=True)


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


def test_they_are_about_twenty_lines():
    lines = [line for code in LINES.values() for line in code.splitlines() if line.strip()]
    assert LINES.keys() == {"bash", "python"} and len(lines) <= 22


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_lines_for_curl(build):
    said, status = build(["bash", "-euc", LINES["bash"]], "adb")
    assert status == 0, said
    assert '"new": 2' in said and '"mean": 1.0' in said and '"items": []' in said


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_lines_for_curl_print_what_is_refused(build):
    said, status = build(["bash", "-euc", LINES["bash"]], "aa")
    assert status != 0 and '"status": 422' in said and "Keep one of the two" in said


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
