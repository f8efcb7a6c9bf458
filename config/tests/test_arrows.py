"""The house keeps its arrows: config -> both apps, evaluation -> ratings, and pure code knows no Django."""

import ast
import re
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
PURE += ["evaluation/draws.py", "evaluation/files", "ratings/formats"]
WRITERS = {
    "Assignment": {
        "ratings/desk/queue/wanting.py",
        "ratings/desk/queue/mixing.py",
        "ratings/desk/queue/importing.py",
    },
    "Rating": {"ratings/desk/queue/saving.py", "ratings/desk/queue/importing.py", "ratings/desk/queue/tasks.py"},
    "RatingEvent": {
        "ratings/desk/queue/acts.py",
        "ratings/desk/queue/importing.py",
        "ratings/pool/adjudication.py",
    },
    "LostLease": {"ratings/desk/queue/leases.py"},
    "Check": {"ratings/desk/queue/mixing.py"},
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
            found.add(".".join([*base, *(node.module or "").split(".")]).strip("."))
    return found


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


@pytest.mark.parametrize("place", PURE)
def test_pure_code_knows_no_django_and_no_models(place):
    assert imported_from(place, "django") == []
    known = () if place in NUMBERS else ("ratings.formats", "ratings.words")
    assert [i for i in imported_from(place, "ratings") if not any(name in i for name in known)] == []


def test_the_module_of_words_imports_nothing_of_the_project():
    assert {name.split(".")[0] for name in imports_of(ROOT / "ratings" / "words.py")} == {"collections", "difflib"}


def test_only_record_reads_the_tables_of_ratings_for_numbers():
    """scores, judgments and the measures get arrays; the one door to the tables is record/."""
    doors = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for place in ("evaluation/scores.py", "evaluation/judgments", "evaluation/measures")
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
