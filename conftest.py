"""What every test may use. The cast and the browser live beside the tests of `config`."""

import gc
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.test import TransactionTestCase, override_settings
from hypothesis import settings as hypothesis_settings

from ratings.tests.thorough import MORE

hypothesis_settings.register_profile("idealist", deadline=None, derandomize=True, max_examples=50)
hypothesis_settings.register_profile("thorough", deadline=None, max_examples=100 * MORE, print_blob=True)


ROOT = Path(__file__).resolve().parent
DATABASE = {"db", "transactional_db", "live_server"}
EDGES = ("_page", "_pages", "_command", "_commands", "_browser")
# Files of tests that only call what other files test on both databases: in `evaluation` those that show what was
# computed from arrays, and in `ratings` those of accounts, texts and the API. Pages and commands are told by name.
CALLING = {"asked", "bundle", "overview", "panel", "pictures", "report"}
CALLING |= {"decisive", "expected_numbers", "frozen_expected", "machine_only", "machines_expected"}
CALLING |= {"api", "cache", "export_qrels", "real_collections", "scores", "step_by_step", "worked_files"}
CALLING |= {"acts", "api_bring", "api_reading", "archive_judges", "archive_pieces", "cost", "failures"}
CALLING |= {"guidelines", "hostile_pictures", "import_formats", "limits", "mail", "presentation", "progress"}
CALLING |= {"provider_sign_out", "rate", "rate_list", "sessions", "throttle", "tokens", "uploads", "visits"}
CALLING |= {"api_access", "metrics", "server"}


def pytest_addoption(parser) -> None:
    parser.addoption("--part", choices=list(PARTS), help="only the tests of one part, as run.py runs them")
    parser.addoption("--thorough", action="store_true", help="many more random examples, others each time")


def pytest_configure(config) -> None:
    thorough = config.getoption("--thorough")
    hypothesis_settings.load_profile("thorough" if thorough else "idealist")
    if thorough:
        os.environ["IDEALIST_THOROUGH"] = "1"


def needs_database(item) -> bool:
    return bool(item.get_closest_marker("django_db") or DATABASE & set(item.fixturenames))


def looks(item) -> bool:
    return item.get_closest_marker("looks") is not None


def depends_on_engine(item) -> bool:
    """Whether PostgreSQL could answer otherwise than SQLite.

    What `ratings` writes, locks, sorts or refuses could; in `evaluation`, the one door that reads its tables, and
    frozen evaluations. Pages, commands, browsers and the files in CALLING only use those. They run on SQLite, but
    for tests with a statement that no other test on PostgreSQL runs (`both_databases`), those that need
    transactions of their own, and the first test of each file. Every page for every kind of visitor runs on both:
    see config/tests/test_access.py.
    """
    if item.get_closest_marker("same_everywhere") or item.get_closest_marker("browser"):
        return False
    name = item.path.stem.removeprefix("test_")
    mark = item.get_closest_marker("django_db")
    alone = mark is not None and mark.kwargs.get("transaction")
    calling = name.endswith(EDGES) or name in CALLING
    return not calling or bool(alone or item.get_closest_marker("both_databases"))


def on_database(item) -> bool:
    return needs_database(item) and not looks(item)


def tests_of(folder: str, item) -> bool:
    return item.path.is_relative_to(ROOT / folder)


def of_desk(item) -> bool:
    return item.path.stem.startswith("test_desk")


# Folders without tests of a part. Only parts that are told by folder stand here.
ELSEWHERE = {
    "SQLite, ratings": {"config", "evaluation"},
    "SQLite, evaluation": {"config", "ratings"},
    "SQLite, config": {"ratings", "evaluation"},
}
PARTS = {
    "SQLite, ratings": lambda item: on_database(item) and tests_of("ratings", item),
    "SQLite, evaluation": lambda item: on_database(item) and tests_of("evaluation", item),
    "SQLite, config": lambda item: on_database(item) and tests_of("config", item),
    "PostgreSQL": lambda item: on_database(item) and depends_on_engine(item),
    "looks, desk": lambda item: looks(item) and of_desk(item),
    "looks, pages": lambda item: looks(item) and not of_desk(item),
    "no database": lambda item: not needs_database(item) and not looks(item),
}


def pytest_ignore_collect(collection_path: Path, config) -> bool | None:
    """Skip folders without tests of the part: to read them takes seconds."""
    folders = ELSEWHERE.get(config.getoption("--part"), ())
    return True if collection_path in {ROOT / folder for folder in folders} else None


def pytest_collection_modifyitems(config, items: list) -> None:
    name = config.getoption("--part")
    if not name:
        return
    kept = [item for item in items if PARTS[name](item)]
    if name == "PostgreSQL":
        tried = [i for i in items if on_database(i) and not i.get_closest_marker("same_everywhere")]
        firsts = {item.path: item for item in reversed(tried)}
        chosen = {*kept, *firsts.values()}
        kept = [item for item in items if item in chosen]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what stays: it took a fifth of the time of tests of pages."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with real test collections, beside the project. Tests that need it skip where it is absent."""
    folder = Path(os.environ.get("IDEALIST_SHARED", Path(__file__).resolve().parent.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"real test collections not found at {folder}; name their folder in IDEALIST_SHARED")
    return folder


@pytest.fixture(scope="session", autouse=True)
def plain_settings(tmp_path_factory) -> Iterator[None]:
    """A fast password hasher, static files without the manifest that only collectstatic makes, and a folder of
    their own for pictures.

    For the session, because a change of settings makes Django forget what it has built from them.
    """
    plain = {
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
        "pictures": django_settings.STORAGES["pictures"]
        | {"OPTIONS": {"location": tmp_path_factory.mktemp("pictures")}},
    }
    with override_settings(
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        STORAGES={**django_settings.STORAGES, **plain},
    ):
        yield


def filled_tables(names: Iterable[str]) -> set[str]:
    """Those of the tables that have a row."""
    asks = (f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {connection.ops.quote_name(name)})" for name in names)
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(asks))
        return {name for (name,) in cursor.fetchall()}


def known_models() -> list[tuple]:
    """The models and permissions that Django wrote into their tables after it migrated."""
    permissions = Permission.objects.order_by("pk").values_list("pk", "content_type")
    return [*ContentType.objects.order_by("pk").values_list(), *permissions]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker) -> Iterator[None]:
    """After a test with transactions of its own, delete only the rows that it left.

    Django empties every table and then writes models and permissions anew: 30 ms of processor after each test.
    """
    django_flush = TransactionTestCase._fixture_teardown
    with django_db_blocker.unblock():
        known = known_models()
        tables = set(connection.introspection.django_table_names(only_existing=True))
        tables -= {ContentType._meta.db_table, Permission._meta.db_table}

    def delete_rows(case: TransactionTestCase) -> None:
        nonlocal known
        if known_models() != known:  # after a test that restored a backup
            django_flush(case)
            known = known_models()
            return
        # Each foreign key is checked only at the commit.
        with transaction.atomic(), connection.cursor() as cursor:
            for name in filled_tables(tables):
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(name)}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", delete_rows)
        yield


@pytest.fixture(scope="module")
def standing(django_db_setup, django_db_blocker) -> Iterator[None]:
    """A transaction around the tests of a module, for a world that they share.

    A fixture of the module that asks for it builds the world once. What a test does to the rows is taken back
    after the test. Objects in Python are not: give each test a copy, as `copy.deepcopy` makes it. No test of
    the module can have transactions of its own (`transaction=True`): they would wait for this one.

    What `evaluation` keeps of a state of the world is kept for the next test, and its changes count from the same
    number: tests that change judgments and then read what comes of them make a world each.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)
