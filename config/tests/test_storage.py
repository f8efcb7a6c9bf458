"""Static files: each under a name with its hash, modules too, and small enough for a first load."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import RequestFactory
from whitenoise.middleware import WhiteNoiseMiddleware

PAGES = ["desk/desk.js", "desk/list.js", "desk/settings.js", "desk/unsent.js"]
IMPORTED = re.compile(r'^import .* from "\./(.+)";$', re.MULTILINE)


@pytest.fixture(scope="module")
def manifest(tmp_path_factory):
    from django.contrib.staticfiles.storage import staticfiles_storage
    from django.test.utils import override_settings

    folder = tmp_path_factory.mktemp("static")
    storages = {**settings.STORAGES, "staticfiles": {"BACKEND": "config.storage.Storage"}}
    with override_settings(STORAGES=storages, STATIC_ROOT=folder):
        call_command("collectstatic", interactive=False, verbosity=0)
        yield folder, staticfiles_storage.hashed_files


def loaded(folder: Path, page: str) -> set[Path]:
    """The script of a page and all modules that it imports, as they are served."""
    found, todo = set(), [folder / page]
    while todo:
        path = todo.pop()
        found.add(path)
        todo += {path.parent / name for name in IMPORTED.findall(path.read_text())} - found
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_each_module_under_a_name_with_its_hash(manifest, page):
    folder, hashed = manifest
    files = loaded(folder, hashed[page])
    assert len(files) > 1 and all(path.is_file() for path in files)
    assert {str(path.relative_to(folder)) for path in files} <= set(hashed.values())


def test_the_first_load_of_the_desk_stays_below_ninety_kilobytes(manifest):
    folder, hashed = manifest
    files = loaded(folder, hashed["desk/desk.js"]) | {folder / hashed[name] for name in ("site.css", "forms.js")}
    assert sum(Path(f"{path}.gz").stat().st_size for path in files) < 70_000  # the page itself has up to 20 KB


def test_the_page_of_the_api_comes_without_maps_and_without_the_second_page(manifest):
    folder, hashed = manifest
    assert "ninja/swagger-ui-bundle.js" in hashed
    assert not [path for path in folder.rglob("*") if ".map" in path.name or "redoc" in path.name]


def test_no_other_site_may_read_a_file(manifest):
    _, hashed = manifest
    answer = WhiteNoiseMiddleware(lambda request: None)(RequestFactory().get(f"/static/{hashed['site.css']}"))
    assert answer.status_code == 200 and answer["Content-Type"] == 'text/css; charset="utf-8"'
    assert "Access-Control-Allow-Origin" not in answer.headers
