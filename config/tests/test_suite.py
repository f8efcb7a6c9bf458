"""What `run.py test` runs, where, and what it says of it. Nothing here runs other tests."""

import re
from contextlib import contextmanager

import pytest

from config.tests import programs, suite

URL = "postgres://db.example.org/test"


@pytest.fixture(params=["nothing else", "all"])
def machine(request, monkeypatch) -> str:
    """A machine that has Python alone, and one that has everything."""
    there = request.param == "all"
    monkeypatch.setattr(programs, "path_of", lambda program: f"/usr/bin/{program}" if there else None)
    for name in ("CI", "IDEALIST_TEST_POSTGRES"):
        monkeypatch.delenv(name, raising=False)
    return request.param


@pytest.fixture
def steps(monkeypatch) -> list[tuple[str, list[str], dict]]:
    """(title, command, environment) of each step, none of which is taken. All end as well as they can."""
    taken = []

    def step(title, command, **more) -> int:
        taken.append((title, command, more))
        return 0

    @contextmanager
    def server():
        yield URL

    monkeypatch.setattr(suite, "step", step)
    monkeypatch.setattr(suite, "postgresql", server)
    monkeypatch.setattr(suite, "compiling", lambda arguments: server())
    monkeypatch.setattr(suite.signal, "signal", lambda *arguments: None)
    return taken


def chosen(steps, title: str) -> str:
    """The marks that this step asks pytest for."""
    (command,) = [command for name, command, _ in steps if name == title]
    return command[command.index("-m", 2) + 1]


def test_a_machine_without_a_program_says_what_it_skipped_and_passes(machine, steps, capsys):
    assert suite.main([]) == 0
    titles = [title for title, *_ in steps]
    said = capsys.readouterr().out
    assert titles[: len(suite.CHECKS)] == list(suite.CHECKS)
    assert "tests on SQLite" in titles
    assert ("tests on PostgreSQL" in titles) == (machine == "all")
    skipped = [line for line in said.splitlines() if line.startswith("skipped: ")]
    assert len(skipped) == (0 if machine == "all" else len(programs.PROGRAMS))
    assert all("apt install" in line for line in skipped)


@pytest.mark.parametrize("machine", ["nothing else"], indirect=True)
def test_with_ci_set_a_missing_program_is_a_failure(machine, steps, monkeypatch, capsys):
    monkeypatch.setenv("CI", "true")
    assert suite.main([]) == 1
    assert steps == []
    said = capsys.readouterr().err
    assert all(f"apt install {program.package}" in said for program in programs.PROGRAMS.values())


def test_a_server_that_is_given_is_used(machine, steps, monkeypatch):
    monkeypatch.setenv("IDEALIST_TEST_POSTGRES", "postgres://elsewhere/test")
    monkeypatch.setattr(suite, "postgresql", None)  # none is started
    assert suite.main([]) == 0
    assert ("tests on PostgreSQL", {"DATABASE_URL": "postgres://elsewhere/test"}) in [(t, e) for t, _, e in steps]


@pytest.mark.parametrize("machine", ["all"], indirect=True)
def test_slow_tests_and_most_of_those_in_a_browser_run_with_all(machine, steps):
    suite.main([])
    quick = chosen(steps, "tests on SQLite")
    assert "not slow" in quick and "walk or not browser" in quick
    assert "both_databases" in chosen(steps, "tests on PostgreSQL")
    steps.clear()
    suite.main(["--all"])
    assert "slow" not in chosen(steps, "tests on SQLite")
    assert "slow" not in chosen(steps, "tests on PostgreSQL")


@pytest.mark.parametrize(
    ("statuses", "status"),
    [([0, 0], 0), ([5, 0], 0), ([5, 5], 1), ([0, 1], 1), ([1, 0, 0], 1)],
)
@pytest.mark.parametrize("machine", ["all"], indirect=True)
def test_one_failure_fails_all_and_somewhere_there_are_tests(machine, steps, monkeypatch, statuses, status):
    """The last steps end so, and those before them well. 5 is pytest's status where it found no test."""
    ends = iter([0] * (len(suite.CHECKS) + 2 - len(statuses)) + statuses)
    monkeypatch.setattr(suite, "step", lambda *arguments, **more: next(ends))
    assert suite.main([]) == status


def test_a_step_gets_nothing_that_was_set_for_a_server(monkeypatch):
    for name in (*suite.OF_SERVERS, "PYTHONDONTWRITEBYTECODE", "PYTHONPATH"):
        monkeypatch.setenv(name, "set")
    assert suite.environment(DATABASE_URL=URL).get("DATABASE_URL") == URL
    assert "set" not in suite.environment().values()


def test_the_tests_that_a_bare_machine_runs_are_there():
    """A path that is not there ends pytest without a test, half an hour into a run."""
    names = re.findall(r"[\w/]+/test_\w+\.py", (suite.ROOT / ".ci/run").read_text())
    assert names
    assert [name for name in names if not (suite.ROOT / name).is_file()] == []
