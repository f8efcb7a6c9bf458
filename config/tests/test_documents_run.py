"""Every block of the documents does what it says: files are read, commands run and print what stands there.

Those of api.md run against a server: see test_to_the_letter.py. IDEALIST_PRINTED=write puts what commands print
now into the documents.
"""

import os

import pytest

from ratings.collection import sample

from .blocks import MARKS, blocks_of, commands, documents, printed, ran

pytestmark = pytest.mark.django_db

WRITES = os.environ.get("IDEALIST_PRINTED") == "write"


@pytest.fixture(scope="module")
def world(standing) -> None:
    """The sample. Other collections that a document speaks of it makes itself."""
    sample.load()
    sample.make_accounts()


@pytest.mark.parametrize("path", [path for path in documents() if path.stem != "api"], ids=lambda path: path.stem)
def test_every_block_of_a_document_runs(path, world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks_of(path):
        if block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.mark:
            assert block.mark in MARKS, block
        elif block.language == "sh":
            for command in commands(block.text):
                status, said = ran(command)
                assert status == 0, f"{block}: {command}\n{said}"
        else:
            assert block.language == "console", f"{block} says neither what it is nor why it does not run"
            found = printed(block.text)
            if WRITES:
                path.write_text(path.read_text(encoding="utf-8").replace(block.text, found), encoding="utf-8")
            else:
                assert found == block.text, block


def test_what_a_command_prints_is_compared():
    text = "$ python3 run.py manage evaluate nowhere\n…\nAnother line.\n"
    refused = "Refused: There is no collection 'nowhere'. Make it with create_collection."
    assert printed(text).splitlines()[1:] == [refused]
