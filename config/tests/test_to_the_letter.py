"""Every block of docs/api.md runs in order, by the real run.py, in one shell, on an empty folder.

Those of the other documents run in the process of the tests: see test_documents_run.py.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from runpy import run_path

import pytest

from config.help.documents import DOCS_FOLDER

from .blocks import Block, blocks_of, fits

pytestmark = pytest.mark.slow

RUN = DOCS_FOLDER.parent / "run.py"
# What somebody installs from a clone, by its folder.
PACKAGES = {"idealist_measures": "evaluation/measures", "idealist_client": "client/idealist_client"}
IN_DOCUMENT = "http://127.0.0.1:8000"
PATIENCE = 300  # seconds


@pytest.fixture
def environment(tmp_path) -> Mapping[str, str]:
    """That of a person who has just got Idealist, whose python3 is that of the tests.

    Skips where run.py would install something: tests may run in the environment of another folder.
    """
    run = run_path(str(RUN))
    if not run["is_installed"](run["RUNTIME_LOCK"]):
        pytest.skip("this environment is not that of requirements.lock: python3 run.py test makes it")
    (tmp_path / "run.py").symlink_to(RUN)
    for name, folder in PACKAGES.items():
        (tmp_path / name).symlink_to(DOCS_FOLDER.parent / folder)
    ours = re.compile("IDEALIST_|DATABASE_|SECRET_")
    clean = {name: value for name, value in os.environ.items() if not ours.match(name)}
    path = os.pathsep.join([str(Path(sys.executable).parent), clean["PATH"]])
    # Without the sample, of which no block speaks.
    return clean | {"PATH": path, "IDEALIST_DATA": str(tmp_path / "data"), "IDEALIST_DEMO": "0"}


@pytest.fixture
def server(environment, tmp_path) -> Iterator[str]:
    """The address that `python3 run.py` prints."""
    command = ["python3", "run.py", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield re.match(r"Idealist is at (\S+)/ ", process.stdout.readline())[1]
        finally:
            process.terminate()


class Shell:
    """Runs blocks one after the other. What one sets or defines, the next one has."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder, self.environment, self.said = folder, environment, ""
        (folder / "state").touch()

    def run(self, block: Block, text: str) -> str:
        script = f". ./state\n{text}\n{{ export -p; declare -f; }} > state"
        where = {"cwd": self.folder, "env": self.environment, "timeout": PATIENCE}
        done = subprocess.run(["bash", "-euc", script], **where, capture_output=True, text=True)
        assert done.returncode == 0, f"{block}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def take(self, block: Block) -> None:
        if block.file:
            (self.folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "json":
            assert fits(json.loads(block.text), json.loads(self.said)), f"{block}:\n{self.said}"
        elif block.language == "python":
            self.said = self.run(block, f"python3 - <<'END OF BLOCK'\n{block.text}END OF BLOCK")
        elif block.language in ("sh", "bash") and not block.mark:
            self.said = self.run(block, block.text)


@pytest.mark.usefixtures("curl")
def test_the_api(environment, tmp_path, server):
    shell = Shell(tmp_path, environment)
    blocks = list(blocks_of(DOCS_FOLDER / "api.md"))
    assert IN_DOCUMENT in blocks[0].text
    for block in blocks:
        shell.take(replace(block, text=block.text.replace(IN_DOCUMENT, server)))


def test_a_shape_tells_another_one():
    assert fits({"a": [1]}, {"a": [2.5], "b": 1}) and fits({"a": None}, {"a": 1})
    assert not fits({"a": [1]}, {"a": []}) and not fits({"a": 1}, {}) and not fits({"a": "x"}, {"a": 1})
