"""What every test may use. The cast and the browser live beside the tests of `config`."""

import os
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

hypothesis_settings.register_profile("idealist", deadline=None, derandomize=True)
hypothesis_settings.load_profile("idealist")


DATABASE = {"db", "transactional_db", "live_server"}


def pytest_addoption(parser) -> None:
    parser.addoption("--database-only", action="store_true", help="leave out what needs no database")


def pytest_collection_modifyitems(config, items: list) -> None:
    if not config.getoption("--database-only"):
        return
    kept, left = [], []
    for item in items:
        needs = item.get_closest_marker("django_db") or DATABASE & set(item.fixturenames)
        (kept if needs else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with real test collections, beside the project. Tests that need it skip where it is absent."""
    folder = Path(os.environ.get("IDEALIST_SHARED", Path(__file__).resolve().parent.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"real test collections not found at {folder}; name their folder in IDEALIST_SHARED")
    return folder


@pytest.fixture(autouse=True)
def plain_settings(settings) -> None:
    """A fast password hasher, and static files without the manifest that only collectstatic makes."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
