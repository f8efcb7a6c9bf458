"""run.py: what it decides, what it passes on, and its failures in one line. Nothing here installs anything."""

import ast
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from django.core.management import get_commands

SOURCE = Path(__file__).resolve().parents[2] / "run.py"
SET_BY_THE_USER = ("DATABASE_URL", "IDEALIST_HOSTS", "IDEALIST_DEMO")
SET_BY_THE_USER += ("STORAGE_URL", "IDEALIST_BACKUPS")
MANAGE = """
import json, os, sqlite3, sys
from pathlib import Path

data = Path(os.environ["IDEALIST_DATA"])
with open(data / "calls", "a") as calls:
    calls.write(sys.argv[1] + "\\n")
if sys.argv[1] == "migrate":
    sys.stdin.read()
    print("Applying ratings.0001 ... OK")
    sqlite3.connect(data / "db.sqlite3").execute("CREATE TABLE t (a)")
else:
    print(json.dumps([sys.argv[1:], os.getcwd(), sys.stdin.read()]))
    sys.exit(7)
"""


def loaded(source: Path, name: str = "run") -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A folder with run.py, requirements, a stand-in for manage.py, and no .venv."""
    for name in SET_BY_THE_USER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("IDEALIST_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    shutil.copy(SOURCE, tmp_path)
    (tmp_path / "requirements.lock").write_text("Django==5.2\n")
    (tmp_path / "requirements-machines.lock").write_text("Django==5.2\nboto3==1.4\n")
    (tmp_path / "requirements-dev.lock").write_text("Django==5.2\npytest==9.2\n")
    (tmp_path / "manage.py").write_text(MANAGE)
    return tmp_path


@pytest.fixture
def run(project) -> ModuleType:
    return loaded(project / "run.py")


@pytest.fixture
def installed(project, run) -> Path:
    """The project with an environment that looks finished."""
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to(sys.executable)
    stamp(run, "requirements.lock")
    return project


def stamp(run: ModuleType, requirements: str, venv: str = ".venv") -> None:
    (run.ROOT / venv / run.STAMP_FILE).write_text(run.fingerprint(requirements) + "\n")


def started(project: Path, *arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, str(project / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, **{"input": "", **options})


def refused_in_one_line(done: subprocess.CompletedProcess) -> str:
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    return line


def calls(project: Path) -> list[str]:
    return (project / "data" / "calls").read_text().split()


# An unsuitable machine


def test_python_3_8_can_read_the_file_and_has_all_that_it_imports():
    tree = ast.parse(SOURCE.read_text(), feature_version=(3, 8))
    modules = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {module.split(".")[0] for module in modules} <= sys.stdlib_module_names


def test_an_old_python_is_named_and_the_needed_one_too(run, monkeypatch, capsys):
    monkeypatch.setattr(run.sys, "version_info", (3, 10, 13, "final", 0))
    monkeypatch.setattr(run.sys, "version", "3.10.13 (main)")
    assert run.main([]) == 1
    assert "3.11 or newer and this is 3.10.13." in capsys.readouterr().err


def test_without_ensurepip_the_cure_is_named(run, monkeypatch):
    monkeypatch.setattr(run.shutil, "which", lambda name: None)
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: None if name == "ensurepip" else "found")
    with pytest.raises(run.Refusal, match="apt install python3-venv"):
        run.set_up("requirements.lock")
    assert not run.VENV.exists()


def test_a_busy_port_is_refused_before_anything_is_installed(project):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refused_in_one_line(started(project, "--port", str(port)))
    assert f"Cannot listen on port {port} of 127.0.0.1" in line
    assert line.endswith(f"python3 run.py --port {port + 1}")
    assert not (project / ".venv").exists()


@pytest.mark.parametrize("arguments", [["--port", "eighty"], ["--port", "65536"], ["--host", "::bad"], ["srve"]])
def test_a_wrong_argument_is_refused(project, arguments):
    done = started(project, *arguments)
    assert done.returncode and arguments[-1] in done.stderr.splitlines()[-1]


def test_help_shows_the_commands(project):
    done = started(project, "bench", "--help")
    assert done.returncode == 0
    assert "python3 run.py manage COMMAND" in done.stdout
    assert not (project / ".venv").exists()


def test_the_version_is_printed_without_an_install(project):
    (project / "pyproject.toml").write_text('[project]\nname = "idealist"\nversion = "1.2.3"\n')
    assert started(project, "--version").stdout == "Idealist 1.2.3\n"


# The environment


def test_an_install_counts_until_the_requirements_or_python_change(installed, run, monkeypatch):
    assert run.is_installed("requirements.lock")
    with monkeypatch.context() as patch:
        patch.setattr(run.sys, "version_info", (3, 99, 0, "final", 0))
        assert not run.is_installed("requirements.lock")
    (installed / "requirements.lock").write_text("Django==5.3\n")
    assert not run.is_installed("requirements.lock")


@pytest.mark.parametrize(
    ("lock", "counts_as"),
    [
        ("requirements.lock", {"requirements.lock"}),
        ("requirements-machines.lock", {"requirements.lock", "requirements-machines.lock"}),
        ("requirements-dev.lock", {"requirements.lock", "requirements-machines.lock", "requirements-dev.lock"}),
    ],
)
def test_a_larger_install_counts_as_the_smaller_ones_and_is_left_alone(installed, run, lock, counts_as):
    """As of a service with STORAGE_URL, before which root runs the doctor without that setting."""
    stamp(run, lock)
    locks = run.RUNTIME_LOCK, run.MACHINES_LOCK, run.DEVELOPMENT_LOCK
    assert {name for name in locks if run.is_installed(name)} == counts_as
    before = (run.VENV / run.STAMP_FILE).stat()
    assert started(installed, "manage", "doctor").returncode == 7
    assert (run.VENV / run.STAMP_FILE).stat() == before


def test_a_failed_install_takes_the_old_stamp_away(installed, run, monkeypatch):
    def fail(*arguments, **options) -> None:
        raise run.Refusal("no network")

    before = (installed / "requirements.lock").read_text()
    (installed / "requirements.lock").write_text("Django==5.3\n")
    monkeypatch.setattr(run, "run_quietly", fail)
    with pytest.raises(run.Refusal, match="no network"):
        run.set_up("requirements.lock")
    (installed / "requirements.lock").write_text(before)
    assert not run.is_installed("requirements.lock")


@pytest.mark.parametrize("same", [True, False])
def test_the_environment_of_another_python_is_made_anew(project, run, monkeypatch, same):
    """As one that Debian's Python made, where another of the same version is the first in the path."""
    made = []
    monkeypatch.setattr(run, "install", lambda make, venv, requirements: made.append("--clear" in make))
    (run.VENV / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages").mkdir(parents=True)
    run.PYTHON.parent.mkdir(exist_ok=True)
    run.PYTHON.unlink(missing_ok=True)
    run.PYTHON.symlink_to(sys.executable if same else "/opt/other/python")
    run.set_up("requirements.lock")
    assert made == [not same]


def test_where_uv_fails_pip_is_asked(project, run, monkeypatch):
    asked = []

    def only_pip_works(command, *rest, **options) -> None:
        asked.append(command[0])
        assert "install" not in command or {"--require-hashes", str(project / "requirements.lock")} <= set(command)
        if command[0] == "/bin/uv":
            raise run.Refusal("uv failed")
        run.VENV.mkdir(exist_ok=True)

    monkeypatch.setattr(run.shutil, "which", lambda name: "/bin/uv")
    monkeypatch.setattr(run, "run_quietly", only_pip_works)
    run.set_up("requirements.lock")
    assert asked == [sys.executable, "/bin/uv", sys.executable, str(run.PYTHON)]
    assert (run.VENV / run.STAMP_FILE).read_text().split() == run.fingerprint("requirements.lock").split()


@pytest.mark.parametrize(
    ("terminal", "shown"), [(True, "\r\x1b[KCollecting numpy\r\x1b[KInstalling\r\x1b[K"), (False, "")]
)
def test_an_install_shows_its_latest_line_on_a_terminal_alone(run, monkeypatch, capsys, terminal, shown):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    run.run_quietly([sys.executable, "-c", r"print('Collecting numpy\n\nInstalling')"], "Installing failed")
    assert capsys.readouterr().err == shown


# Serving


@pytest.mark.parametrize(
    ("host", "given", "before", "after"),
    [
        ("127.0.0.1", {}, None, "1"),
        ("::1", {}, None, "1"),
        ("127.0.0.1", {}, "0", "0"),
        ("127.0.0.1", {"IDEALIST_HOSTS": "ratings.example.org"}, None, None),
        ("127.0.0.1", {"DATABASE_URL": "postgres://db.example.org/idealist"}, "1", None),
        ("0.0.0.0", {}, "1", None),
        ("192.0.2.7", {}, None, None),
    ],
)
def test_the_sample_is_for_this_machine_and_its_own_database_only(run, monkeypatch, host, given, before, after):
    monkeypatch.setenv("IDEALIST_DEMO", before or "")
    if before is None:
        monkeypatch.delenv("IDEALIST_DEMO")
    for name in ("IDEALIST_HOSTS", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    run.offer_demo(host)
    assert os.environ.get("IDEALIST_DEMO") == after


def test_ctrl_c_is_no_traceback(run, monkeypatch, capsys):
    def interrupted(host: str, port: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "serve", interrupted)
    assert run.main([]) == 130
    assert capsys.readouterr().err.split() == ["Stopped."]


@pytest.mark.parametrize("command", [["--port", "0"], ["manage", "doctor"]])
def test_a_relative_path_in_a_setting_means_the_same_to_every_command(installed, tmp_path_factory, command):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "config.py").write_text("")  # must not be taken for the project's
    (elsewhere / "data").mkdir()
    shows = "import os; print(os.getcwd(), os.path.realpath(os.environ['IDEALIST_DATA']))"
    for name in ("manage.py", "config/server.py", "config/health/doctor.py"):
        (installed / name).parent.mkdir(parents=True, exist_ok=True)
        (installed / name).write_text(shows)
    done = started(installed, *command, cwd=elsewhere, env=os.environ | {"IDEALIST_DATA": "data"})
    shown = [line for line in done.stdout.splitlines() if line.startswith(str(elsewhere))]
    assert set(shown) == {f"{elsewhere} {elsewhere / 'data'}"}, done.stderr


# manage


def test_manage_passes_arguments_streams_folder_and_exit_status_unchanged(installed, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    arguments = ["import_run", "--port", "-", "two words", "test"]
    done = started(installed, "manage", *arguments, input="q1 Q0 d1 1 0.5 tag\n", cwd=elsewhere)
    assert done.returncode == 7
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout) == [arguments, str(elsewhere), "q1 Q0 d1 1 0.5 tag\n"]
    assert done.stderr == ""


def test_manage_makes_the_database_in_silence_and_only_once(installed):
    started(installed, "manage", "create_collection")
    started(installed, "manage", "compare")
    assert calls(installed) == ["migrate", "create_collection", "compare"]


@pytest.mark.parametrize("left", [None, b""])
@pytest.mark.slow
def test_what_only_reads_makes_no_database_and_names_the_folder(installed, run, left):
    if left is not None:
        (installed / "data" / "db.sqlite3").write_bytes(left)
    for name in run.READING_COMMANDS:
        line = refused_in_one_line(started(installed, "manage", name))
        assert str(installed / "data") in line and "IDEALIST_DATA" in line
    assert not (installed / "data" / "calls").exists()


def test_every_command_that_only_reads_exists_and_every_export_is_among_them(run):
    commands = get_commands()
    exports = {name for name, app in commands.items() if name.startswith("export_") and app != "ninja"}
    assert exports <= run.READING_COMMANDS <= commands.keys()


def test_manage_leaves_a_database_that_has_an_address_alone(installed, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://db.example.org/idealist")
    started(installed, "manage", "evaluate")
    assert calls(installed) == ["evaluate"]


@pytest.mark.parametrize("command", ["restore", "doctor", "evaluate_files"])
def test_a_restore_makes_its_own_database_and_the_doctor_needs_none(installed, command):
    started(installed, "manage", command)
    assert calls(installed) == [command]


def test_a_database_that_cannot_be_made_is_one_line(installed):
    (installed / "manage.py").write_text("raise OSError('read-only file system')")
    line = refused_in_one_line(started(installed, "manage", "create_collection"))
    assert "Making the database failed: OSError: read-only file system" in line


def test_some_commands_need_no_manage_before_them(installed, run):
    (installed / "data" / "db.sqlite3").write_bytes(b"x")
    for name in run.SHORT_COMMANDS:
        assert json.loads(started(installed, name, "--port", "8001").stdout)[0] == [name, "--port", "8001"]


# The wheel: the same file as `idealist.run`


@pytest.fixture
def wheel(project) -> ModuleType:
    return loaded(project / "run.py", "idealist.run")


@pytest.mark.parametrize(
    ("platform", "given", "folder"),
    [
        ("linux", {}, "home/.local/share/idealist"),
        ("linux", {"XDG_DATA_HOME": "xdg"}, "xdg/idealist"),
        ("darwin", {}, "home/Library/Application Support/idealist"),
        ("linux", {"XDG_DATA_HOME": "xdg", "IDEALIST_DATA": "mine"}, "mine"),
    ],
)
def test_data_of_the_wheel_are_where_the_system_keeps_those_of_a_user(wheel, monkeypatch, platform, given, folder):
    monkeypatch.chdir(wheel.ROOT)
    monkeypatch.setattr(wheel.sys, "platform", platform)
    for name, value in {"HOME": "home", "XDG_DATA_HOME": "", "IDEALIST_DATA": " ", **given}.items():
        monkeypatch.setenv(name, value)
    assert wheel.data_folder() == wheel.ROOT / folder


def test_a_clone_keeps_its_data_beside_itself(run, monkeypatch):
    monkeypatch.setenv("IDEALIST_DATA", "")
    assert run.data_folder() == run.ROOT / "var"


def of_wheel(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """The program `idealist`, for which the project is the package of that name."""
    (project / "idealist").mkdir(exist_ok=True)
    for name in ("run.py", "manage.py"):
        shutil.copy(project / name, project / "idealist")
    code = "import sys; from idealist.run import main; sys.exit(main())"
    own = {"PYTHONPATH": str(project), "IDEALIST_DATA": "", "XDG_DATA_HOME": str(project / "xdg"), **environment}
    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(command, env=os.environ | own, input="", capture_output=True, text=True, timeout=30)


def test_the_wheel_needs_no_environment_of_its_own_and_gives_its_folder_to_every_command(project):
    (project / "xdg" / "idealist").mkdir(parents=True)
    done = of_wheel(project, "manage", "create_collection", "shop")
    assert (done.returncode, json.loads(done.stdout)[0]) == (7, ["create_collection", "shop"])
    assert (project / "xdg/idealist/calls").read_text().split() == ["migrate", "create_collection"]
    assert not (project / "idealist" / ".venv").exists()


def test_the_wheel_says_which_extra_has_what_a_bucket_needs(wheel, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(wheel.Refusal, match=r"\[machines\]"):
        patch.setattr(wheel.importlib.util, "find_spec", lambda name: None)
        wheel.set_up(wheel.MACHINES_LOCK)


def test_the_wheel_names_itself_and_only_what_it_can_do(project):
    told = of_wheel(project, "--help").stdout
    assert "idealist manage COMMAND" in told and f"{project}/xdg/idealist" in told
    assert "run.py" not in told and "bench" not in told and " test" not in told
    for command in ("test", "bench"):
        assert "needs a clone" in refused_in_one_line(of_wheel(project, command))


# test


def test_the_tests_run_in_the_environment_with_all_locks_and_get_the_arguments(installed, run):
    stamp(run, "requirements-dev.lock")
    (installed / "config" / "tests").mkdir(parents=True)
    (installed / "config" / "tests" / "suite.py").write_text("import sys; print(sys.argv[1:]); sys.exit(3)")
    done = started(installed, "test", "--all", "-k", "two words")
    assert (done.returncode, done.stdout) == (3, "['--all', '-k', 'two words']\n")


@pytest.mark.parametrize(
    ("setting", "lock"),
    [
        ("", "requirements.lock"),
        ("STORAGE_URL", "requirements-machines.lock"),
    ],
)
def test_the_settings_say_what_is_installed(run, monkeypatch, setting, lock):
    if setting:
        monkeypatch.setenv(setting, "something")
    assert run.runtime() == lock


# bench


@pytest.fixture
def benches(installed, run) -> Path:
    """The project with a bench, a shared part beside it, and an environment that looks finished."""
    (installed / "bench").mkdir()
    (installed / "bench" / "requirements.lock").write_text("Django==5.2\nduckdb==2.0\n")
    (installed / "bench" / "sorting.py").write_text(
        '"""Sorted side by side.\n\nAt length."""\nimport sys\nfrom bench._clock import now\n'
        "print(now(), sys.argv[1:])\nprint(sys.executable)\nsys.exit(5)\n"
    )
    (installed / "bench" / "_clock.py").write_text('"""The time."""\ndef now():\n    return 42\n')
    (installed / ".venv-bench" / "bin").mkdir(parents=True)
    (installed / ".venv-bench" / "bin" / "python").symlink_to(sys.executable)
    stamp(run, "bench/requirements.lock", venv=".venv-bench")
    return installed


def test_without_a_name_the_benches_are_listed_and_nothing_is_installed(benches):
    shutil.rmtree(benches / ".venv-bench")
    done = started(benches, "bench")
    assert (done.returncode, done.stdout) == (0, "sorting\n")
    assert not (benches / ".venv-bench").exists()


def test_a_bench_runs_in_its_own_environment_wherever_it_is_called_from(benches, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "bench").mkdir()  # must not be taken for the project's
    (elsewhere / "bench" / "sorting.py").write_text("print('another')")
    done = started(benches, "bench", "sorting", "--rounds", "3", cwd=elsewhere)
    assert (done.returncode, done.stderr) == (5, "")
    shown, executable = done.stdout.splitlines()
    assert shown == "42 ['--rounds', '3']"
    assert executable == str(benches / ".venv-bench" / "bin" / "python")


def test_an_unknown_bench_is_refused_with_the_known_ones(benches):
    assert refused_in_one_line(started(benches, "bench", "sort")).endswith("no bench 'sort'; there are sorting")
