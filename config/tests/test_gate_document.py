"""The script and the recipes of docs/gate.md are complete, and the script runs as it stands there."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from config.help.documents import DOCS_FOLDER
from evaluation.tests.worked import rate
from ratings.models import Baseline, Role
from ratings.people import tokens
from ratings.tests.cast import make_collection, make_member, make_ranking

from .blocks import blocks_of

pytestmark = pytest.mark.django_db(transaction=True)


BLOCKS = list(blocks_of(DOCS_FOLDER / "gate.md"))
(SCRIPT,) = (block.text for block in BLOCKS if block.language == "bash")
RECIPES = [block.text for block in BLOCKS if block.language in ("yaml", "groovy")]
VARIABLES = re.search(r"for name in (.*);", SCRIPT)[1].split()
NO_ANSWER = 64


@pytest.mark.parametrize("recipe", RECIPES, ids=["GitHub", "GitLab", "Jenkins"])
def test_each_recipe_sets_all_variables_for_all_steps(recipe):
    used = {*re.findall(r"\$\{?([A-Z]+)", SCRIPT)} - {"UNDECIDED"}
    assert sorted(VARIABLES) == sorted(used)
    before_the_steps = recipe[: recipe.index("rankings.sh")]
    assert [name for name in VARIABLES if not re.search(rf"^ +{name}(:| =) ", before_the_steps, re.M)] == []


def run(folder: Path, **variables: str) -> tuple[str, int]:
    """All output and the exit status of the script in this folder."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | variables
    command = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run(["bash", "-c", SCRIPT], **command)
    return done.stdout + done.stderr, done.returncode


@pytest.mark.usefixtures("curl")
def test_a_call_without_an_answer_is_no_verdict(live_server, tmp_path):
    (tmp_path / "rankings.json").write_text("{}")
    (tmp_path / "gate.xml").write_text("of an earlier build")
    nowhere = {"IDEALIST": "http://127.0.0.1:9/api/v1/collections/hills", "TOKEN": "idl_no", "BUILD": "build-1"}
    for name in VARIABLES:
        printed, status = run(tmp_path, **nowhere | {name: ""})
        assert status == NO_ANSWER and f"set the variable {name}" in printed
    printed, status = run(tmp_path, **nowhere)
    assert status == NO_ANSWER and "no answer from http://127.0.0.1:9" in printed
    printed, status = run(tmp_path, **nowhere | {"IDEALIST": f"{live_server.url}/api/v1/collections/hills"})
    assert status == NO_ANSWER and '"status": 401' in printed
    assert not (tmp_path / "gate.xml").exists()


@pytest.mark.usefixtures("curl")
def test_the_script_of_a_gate_sends_a_build_and_ends_with_the_verdict(live_server, tmp_path):
    queries = [f"q{n}" for n in range(12)]
    hills = make_collection("hills", queries=queries)
    for place, query in enumerate(queries):
        rate(hills, query, a="3", b=str(place % 3), c="0")
        make_ranking(hills, "release-12", query, "abc")
    system = hills.systems.get()
    Baseline.objects.create(collection=hills, kind="release", system=system, name=system.name, reason="It runs.")
    asks = {"name": "ci", "scopes": ["read", "import"], "days": 1}
    _, key = tokens.make(make_member(hills, "boss", Role.ADMIN), hills, **asks)

    def build(name: str, documents: str, **more: str) -> tuple[str, int]:
        rankings = [{"query": query, "documents": list(documents)} for query in queries]
        (tmp_path / "rankings.json").write_text(json.dumps({"system": name, "rankings": rankings}))
        address = f"{live_server.url}/api/v1/collections/hills"
        return run(tmp_path, IDEALIST=address, TOKEN=key, BUILD=name, **more)

    printed, status = build("build-1", "abc")
    assert status == 0 and "build-1: not worse" in printed, printed
    printed, status = build("build-2", "cba")
    assert status == 1 and "build-2: worse" in printed
    assert 'failures="1"' in (tmp_path / "gate.xml").read_text()
    assert build("build-3", "acb")[1] == 0 and build("build-4", "acb", UNDECIDED="1")[1] == 1
