"""What the comparison of mypy with its old errors lets pass. Nothing here runs mypy."""

import subprocess

import pytest

from config.tests import type_hints

OLD = 'ratings/queue/saving.py:215: error: Invalid field name "own"  [misc]'
MOVED = 'ratings/saving/rows.py:9: error: Invalid field name "own"  [misc]'
OTHER = 'ratings/queue/saving.py:16: error: Incompatible types in "yield"  [misc]'
NOTE = "ratings/queue/saving.py:215: note: See https://example.org"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Compares lines of mypy with a baseline of one old error, or writes it: (status, the baseline after)."""
    monkeypatch.setattr(type_hints, "BASELINE", tmp_path / "type_hints.txt")
    type_hints.BASELINE.write_text("saving.py misc 1\n")

    def run(*lines: str, write: bool = False, status: int = 1) -> tuple[int, str]:
        ended = subprocess.CompletedProcess([], status, stdout="\n".join(lines))
        monkeypatch.setattr(type_hints.subprocess, "run", lambda *args, **options: ended)
        return type_hints.main(["write"] if write else []), type_hints.BASELINE.read_text()

    return run


def test_an_old_error_passes_in_another_folder_too(run):
    assert run(OLD, NOTE)[0] == 0
    assert run(OLD.replace("ratings/queue/", "evaluation/"))[0] == 0


def test_a_new_error_fails_and_is_shown(run, capsys):
    assert run(OLD, OTHER, NOTE)[0] == 1
    assert OTHER in capsys.readouterr().out
    assert run(OLD, OTHER.replace("misc", "index"))[0] == 1
    said = capsys.readouterr().out
    assert "1 more of saving.py index" in said and OLD not in said


def test_an_error_that_is_gone_must_be_written_down(run, capsys):
    assert run()[0] == 1
    assert "type_hints write" in capsys.readouterr().out
    assert run(write=True) == (0, "")
    assert run()[0] == 0


def test_the_errors_that_may_stay_never_become_more(run):
    assert run(OLD, OTHER, write=True) == (1, "saving.py misc 1\n")
    assert run(MOVED, write=True) == (0, "rows.py misc 1\n")  # a file has another name
    type_hints.BASELINE.unlink()
    assert run(OLD, OTHER, write=True) == (0, "saving.py misc 2\n")


def test_where_mypy_does_not_end_nothing_passes_and_nothing_is_written(run, capsys):
    said = "ratings/urls.py:3: error: Invalid syntax  [syntax]"
    assert run(said, status=2, write=True) == (2, "saving.py misc 1\n")
    assert said in capsys.readouterr().out
