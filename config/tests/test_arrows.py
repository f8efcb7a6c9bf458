"""The house keeps its arrows: config -> both apps, evaluation -> ratings, rooms down, pure code to no Django."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = [f"evaluation/{room}" for room in ("measures", "judgments", "expected", "significance", "agreement")]
PURE = [
    *NUMBERS,
    *(
        f"evaluation/charts/{name}.py"
        for name in ("spec", "systems", "queries", "raters", "over_time", "expected")
    ),
]
PURE += [
    "evaluation/significance/draws.py",
    "evaluation/files",
    "ratings/formats",
    "ratings/importing/sampling/drawing.py",
]
# The rooms of each app, the lowest first: a room imports only rooms below it. What joins rooms is none.
FLOORS = {
    "ratings": (
        *("words", "models", "formats", "database", "web", "people", "presentation"),
        *("desk", "pool", "importing", "notices", "copies", "collection", "judges", "api"),
    ),
    "evaluation": (
        *("models", "measures", "judgments", "significance", "agreement", "expected", "charts", "files", "record"),
        *("scores", "page", "results", "comparing", "agreeing", "frozen", "watching"),
        *("deciding", "api"),
    ),
}
JOINS = {"__init__", "admin", "apps", "management", "urls"}
MOST_IMPORTS = {"ratings": 75, "evaluation": 72}  # between rooms; a new one needs a reason
# Rooms that can be taken out, and what is tested without them.
CAN_GO = {
    "evaluation/deciding": "evaluation/results/tests/test_overview.py evaluation/frozen/tests",
    "ratings/judges": "ratings/desk/tests/test_acts.py ratings/copies evaluation/results/tests/test_overview.py",
}
QUEUE = "ratings/desk/queue"
WRITERS = {
    "Assignment": {f"{QUEUE}/wanting.py", f"{QUEUE}/mixing.py", f"{QUEUE}/importing.py"},
    "Rating": {f"{QUEUE}/saving.py", f"{QUEUE}/importing.py", f"{QUEUE}/tasks.py"},
    "RatingEvent": {
        f"{QUEUE}/acts.py",
        f"{QUEUE}/importing.py",
        f"{QUEUE}/asking_again.py",
        "ratings/pool/adjudication.py",
    },
    "LostLease": {f"{QUEUE}/leases.py"},
    "Check": {f"{QUEUE}/mixing.py"},
    "Anchor": {"ratings/pool/anchors.py"},
    "Adjudication": {"ratings/pool/adjudication.py"},
}


def modules_under(place: str) -> list[Path]:
    path = ROOT / place
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    return [f for f in files if "tests" not in f.parts and "migrations" not in f.parts]


def imports_of(file: Path) -> set[str]:
    """Absolute names of what a file imports; relative imports are resolved against its package."""
    package = file.relative_to(ROOT).with_suffix("").parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            # What an app itself gives are its rooms.
            found |= {name} if "." in name else {f"{name}.{alias.name}" for alias in node.names}
    return found


def between_rooms(app: str) -> set[tuple[str, str]]:
    """Pairs of a room of an app and another that it imports, also within a function."""
    found = set()
    for file in modules_under(app):
        room = file.relative_to(ROOT / app).with_suffix("").parts[0]
        names = [] if room in JOINS else [name.split(".") for name in imports_of(file)]
        found |= {(room, name[1]) for name in names if name[0] == app and name[1] not in {room, *JOINS}}
    return found


def upwards(app: str, floors: Sequence[str]) -> list[str]:
    pairs = sorted(between_rooms(app))
    return [f"{room} imports {other}" for room, other in pairs if floors.index(other) > floors.index(room)]


def between_views(app: str) -> list[str]:
    return sorted(
        f"{file.relative_to(ROOT)} imports {name}"
        for file in modules_under(app)
        if "views" in file.with_suffix("").parts
        for name in imports_of(file)
        if name.split(".")[0] == app and "views" in name.split(".")
    )


def imported_from(place: str, top: str) -> list[str]:
    return [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in modules_under(place)
        for name in imports_of(file)
        if name.split(".")[0] == top
    ]


def test_ratings_never_imports_evaluation_or_config():
    assert imported_from("ratings", "evaluation") + imported_from("ratings", "config") == []


def test_evaluation_never_imports_config():
    assert imported_from("evaluation", "config") == []


@pytest.mark.parametrize("app", FLOORS)
def test_rooms_import_only_rooms_below_them_and_few(app):
    """So no two rooms import each other, not even by way of others."""
    rooms = {path.stem for path in (ROOT / app).iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}
    assert rooms - JOINS - {"migrations", "tests", "__pycache__"} == {*FLOORS[app]}
    assert upwards(app, FLOORS[app]) == []
    assert len(between_rooms(app)) <= MOST_IMPORTS[app]


def users_of(room: str) -> set[str]:
    """The modules outside a room, such as "ratings/judges", that import it."""
    files = [file for app in ("config", *FLOORS) for file in modules_under(app)]
    return {
        str(file.relative_to(ROOT))
        for file in files
        if not file.is_relative_to(ROOT / room)
        and any(name.startswith(room.replace("/", ".")) for name in imports_of(file))
    }


def test_rooms_that_can_be_taken_out_are_imported_by_nobody():
    """Only the import of grades made elsewhere needs the judges, for a kind that it offers if they are there."""
    assert users_of("evaluation/deciding") == set()
    assert users_of("ratings/judges") == {"ratings/management/commands/import_ratings.py"}


@pytest.mark.slow
@pytest.mark.parametrize("room", CAN_GO)
def test_a_room_can_be_taken_out(tmp_path, room):
    """Without its folder and its line in the settings, a copy checks, and those tests pass."""
    for name in ("config", "ratings", "evaluation", "bench", "templates", "static", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("manage.py", "run.py", "conftest.py", "pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.rmtree(tmp_path / room)
    settings = tmp_path / "config/settings.py"
    lines = settings.read_text().splitlines(keepends=True)
    kept = [line for line in lines if room.replace("/", ".") not in line]
    assert len(kept) == len(lines) - 1
    settings.write_text("".join(kept))
    pytest_here = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *CAN_GO[room].split()]
    for command in (["manage.py", "check"], pytest_here):
        done = subprocess.run([sys.executable, *command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("app", FLOORS)
def test_no_view_imports_a_view(app):
    assert between_views(app) == []


@pytest.mark.parametrize("place", PURE)
def test_pure_code_knows_no_django_and_no_models(place):
    assert imported_from(place, "django") == []
    known = () if place in NUMBERS else ("ratings.formats", "ratings.words")
    assert [i for i in imported_from(place, "ratings") if not any(name in i for name in known)] == []


def test_the_module_of_words_imports_nothing_of_the_project():
    imported = {name.split(".")[0] for name in imports_of(ROOT / "ratings" / "words.py")}
    assert imported == {"collections", "difflib", "re"}


def test_only_record_reads_the_tables_of_ratings_for_numbers():
    """scores, judgments and the measures get arrays; the one door to the tables is record/."""
    doors = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for place in ("evaluation/scores", "evaluation/judgments", "evaluation/measures")
        for file in modules_under(place)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in {"objects", "values_list", "filter"}
    ]
    assert doors == []


def test_only_the_queue_and_adjudication_write_what_people_said():
    written = []
    for file in modules_under("ratings") + modules_under("evaluation"):
        others = {model for model, writers in WRITERS.items() if str(file.relative_to(ROOT)) not in writers}
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in others:
                written.append(f"{file.relative_to(ROOT)}:{node.lineno} makes a {node.func.id}")
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                tables = {f"ratings_{model.lower()}" for model in others}
                found = re.findall(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)", node.value)
                written += [
                    f"{file.relative_to(ROOT)}:{node.lineno} writes {table}" for table in tables & {*found}
                ]
            if isinstance(node, ast.Attribute) and node.attr in {"create", "bulk_create", "get_or_create"}:
                owner = ast.unparse(node.value)
                if owner in {f"{model}.objects" for model in others}:
                    written.append(f"{file.relative_to(ROOT)}:{node.lineno} writes {owner}")
    assert written == []


def test_the_walk_sees_an_arrow_that_runs_back(tmp_path, monkeypatch):
    """The twin of the tests above: planted wrong imports are found, absolute and relative."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "ratings").mkdir()
    (tmp_path / "ratings" / "views.py").write_text(
        "from evaluation.scores import evaluate\nfrom .models import X\n"
    )
    assert imported_from("ratings", "evaluation") == ["ratings/views.py imports evaluation.scores"]
    assert "ratings.models" in imports_of(tmp_path / "ratings" / "views.py")


def test_the_walk_sees_an_import_of_a_higher_room_and_of_a_view(tmp_path, monkeypatch):
    """The twin of the tests of rooms: wrong imports are found, absolute and relative, also within a function."""
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    for place, text in {
        "people/members.py": "from ..models import Rater\ndef stop():\n    from ..desk.queue import stop\n",
        "desk/queue.py": "from ratings import people\n",
        "desk/views/acts.py": "from ..forms import RatingForm\nfrom .rate import frame\n",
        "urls.py": "from .desk import urls\n",
    }.items():
        (tmp_path / "ratings" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ratings" / place).write_text(text)
    assert between_rooms("ratings") == {("people", "models"), ("people", "desk"), ("desk", "people")}
    assert upwards("ratings", ("models", "people", "desk")) == ["people imports desk"]
    assert between_views("ratings") == ["ratings/desk/views/acts.py imports ratings.desk.views.rate"]
