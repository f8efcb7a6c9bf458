"""What every test may use. The cast and the browser live beside the tests of `config`."""

import gc
import os
import re
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache
from django.db import connection, transaction
from django.test import TransactionTestCase
from hypothesis import settings as hypothesis_settings

from config.tests import programs
from ratings.tests.fake_engine import FakeEngine
from ratings.tests.thorough import MORE

hypothesis_settings.register_profile("idealist", deadline=None, derandomize=True, max_examples=30)
hypothesis_settings.register_profile("thorough", deadline=None, max_examples=100 * MORE, print_blob=True)


def pytest_addoption(parser) -> None:
    parser.addoption("--thorough", action="store_true", help="many more random examples, others each time")


def pytest_configure(config) -> None:
    if connection.vendor == "sqlite":  # each process has a cache of its own: beside SQLite it is files
        folder = tempfile.TemporaryDirectory(prefix="idealist-cache-")
        settings.CACHES["default"]["LOCATION"] = folder.name
        config.add_cleanup(folder.cleanup)
    thorough = config.getoption("--thorough")
    hypothesis_settings.load_profile("thorough" if thorough else "idealist")
    if thorough:
        os.environ["IDEALIST_THOROUGH"] = "1"


def pytest_ignore_collect(collection_path: Path, config) -> bool | None:
    """Where marks choose the tests of PostgreSQL, leave out the files that have none: most take long to import."""
    if connection.vendor != "postgresql" or not config.option.markexpr or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if re.search(r"mark\.(both_databases|postgresql)\b", text) else True


def pytest_collection_modifyitems(items: list) -> None:
    """Run long tests first, so that at the end no process waits long for another."""
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("slow", "browser"))))
    if connection.vendor != "postgresql":
        for item in items:
            if item.get_closest_marker("postgresql"):
                item.add_marker(pytest.mark.skip(reason="PostgreSQL alone can show it"))


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


def needed(program: str) -> str:
    """The path of a program. Where it is missing, the test is skipped, and fails in CI."""
    if reason := programs.absent(program):
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return programs.path_of(program)


def program(name: str):
    """A fixture: the path of a program."""
    return pytest.fixture(lambda: needed(name), scope="session")


chromium, curl, gettext = map(program, ("chromium", "curl", "gettext"))


@pytest.fixture(scope="session", autouse=True)
def priority() -> Iterator[None]:
    """Keep the priority of the process: a backup lowers that of its thread, which is the one of all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "setpriority", lambda *arguments: None)
        yield


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    """What is in files, or was written by another connection, outlives the transaction of a test."""
    yield
    if connection.vendor == "sqlite":
        cache.clear()


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


@pytest.fixture
def engine():
    """Start a search engine on this machine that answers so: see `ratings/tests/fake_engine.py`."""
    running = []

    def start(answer) -> FakeEngine:
        fake = FakeEngine(answer)
        threading.Thread(target=fake.serve_forever, args=(0.01,), daemon=True).start()
        running.append(fake)
        return fake

    yield start
    for fake in running:
        fake.shutdown()
        fake.server_close()
