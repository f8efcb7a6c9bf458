"""The notebook: its cells run in their order, and print what stands below them.

IDEALIST_PRINTED=write puts what they print now into the notebook, as for the documents.
"""

import ast
import json
import os
import re
import shlex
import sys
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import httpx
import pytest
from django.core.management import call_command

import evaluation.measures

from .world import SERVER, transport

NOTEBOOK = Path(__file__).resolve().parents[1] / "tutorial.ipynb"
COMMAND = re.compile(r"^python3 run\.py manage (.+)$", re.MULTILINE)
PLAIN = "text/plain"


def run(source: str, names: dict) -> list[dict]:
    """The outputs of a cell, as a notebook stores them: what it prints, and the value of a last expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed:
        exec(compile(ast.Module(body, []), NOTEBOOK.name, "exec"), names)
        value = eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names) if last else None
    outputs = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {PLAIN: repr(value).splitlines(keepends=True)}
        result = {"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"}
        outputs.append(result)
    return outputs


@pytest.mark.django_db
def test_the_tutorial(monkeypatch):
    monkeypatch.setattr(httpx, "Client", partial(httpx.Client, mounts={SERVER: transport()}))
    monkeypatch.setenv("IDEALIST_SERVER", SERVER)
    monkeypatch.setitem(sys.modules, "idealist_measures", evaluation.measures)
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names: dict = {}
    printed: list[str] = []  # by the commands in the text, of which the last one gives the token that is asked for
    monkeypatch.setattr("getpass.getpass", lambda prompt: printed[-1])
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for command in COMMAND.findall(source):
                said = StringIO()
                call_command(*shlex.split(command), stdout=said)
                printed.append(said.getvalue().strip())
            continue
        outputs = run(source, names)
        if os.environ.get("IDEALIST_PRINTED") == "write":
            cell["outputs"] = outputs
        assert outputs == cell["outputs"], source
    if os.environ.get("IDEALIST_PRINTED") == "write":
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
