"""The script of docs/gate.md runs as it stands there, against a live server."""

import json
import os
import subprocess

import pytest

from config.help.documents import DOCS_FOLDER
from evaluation.tests.worked import rate
from ratings.models import Role
from ratings.people import tokens
from ratings.tests.cast import make_collection, make_member, make_ranking

from .blocks import blocks_of

pytestmark = pytest.mark.django_db(transaction=True)


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
    (script,) = (block.text for block in blocks_of(DOCS_FOLDER / "gate.md") if block.language == "bash")

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
