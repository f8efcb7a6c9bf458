import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage

from config.storage import PAGE_MODULES, Storage, bundled, minified

STATIC = Path(__file__).resolve().parents[2] / "static"
IMPORTED = re.compile(r'^import .* from "\./(\w+)\.js";$', re.MULTILINE)


def collected(folder: Path) -> Storage:
    """The desk's scripts as `collectstatic` would leave them."""
    storage = Storage(location=folder, base_url="/static/")
    source = FileSystemStorage(location=STATIC)
    names = [f"desk/{file.name}" for file in sorted((STATIC / "desk").glob("*.js"))]
    for name in names:
        storage.delete(name)
        storage.save(name, ContentFile(source.open(name).read()))
    for _, _, processed in storage.post_process({name: (source, name) for name in names}):
        assert not isinstance(processed, Exception), processed
    return storage


def needed(page: str) -> set[str]:
    """The modules that a page's module imports, and those that these import."""
    found, todo = set(), [page]
    while todo:
        new = set(IMPORTED.findall((STATIC / todo.pop()).read_text())) - found
        found |= new
        todo += [f"desk/{name}.js" for name in new]
    return found


def code(text: str) -> list[str]:
    lines = [re.sub(r"(?<=[;,{}]) +// .*", "", line).strip().removeprefix("export ") for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(("//", "/**", "*", "import "))]


@pytest.mark.parametrize("page", sorted(PAGE_MODULES))
def test_a_page_gets_one_script_with_all_code_of_its_modules_once(tmp_path, page):
    served = (tmp_path / collected(tmp_path).hashed_files[page]).read_text()
    assert not re.search(r"^(import|export) ", served, re.MULTILINE)
    assert needed(page)
    for module in needed(page):
        assert served.count(f"const _{module} = ") == 1
        assert [one for one in code((STATIC / "desk" / f"{module}.js").read_text()) if one not in served] == []
    assert [one for one in code((STATIC / page).read_text()) if one not in served] == []


@pytest.mark.parametrize("page", sorted(PAGE_MODULES))
def test_a_script_defines_a_module_before_it_is_used(page):
    served = bundled(page, lambda name: (STATIC / name).read_text())
    for name in re.findall(r"^const \{ .* \} = (_\w+);$", served, re.MULTILINE):
        assert 0 <= served.index(f"const {name} = ") < served.index(f"}} = {name};")


def test_an_open_page_keeps_its_script_when_a_module_of_it_changes(tmp_path, monkeypatch):
    before = dict(collected(tmp_path).hashed_files)
    changed = tmp_path / "changed.js"
    changed.write_text((STATIC / "desk/wire.js").read_text() + "const added = 1;\n")
    found = finders.find
    monkeypatch.setattr(finders, "find", lambda name: changed if name == "desk/wire.js" else found(name))
    after = dict(collected(tmp_path).hashed_files)
    assert after["desk/desk.js"] != before["desk/desk.js"]
    assert all((tmp_path / hashed).exists() for hashed in before.values())


def test_a_script_is_made_again_although_its_own_file_is_older(tmp_path):
    storage = collected(tmp_path)
    written = storage.get_modified_time("desk/wire.js")
    assert all(storage.get_modified_time(page) < written for page in PAGE_MODULES)


def test_scripts_are_served_without_comments():
    script = '// Why.\n/** What.\n *  More. */\nconst a = "http://x"; // goes\n  /* in */ b(a);\n'
    assert minified(script) == 'const a = "http://x";\n/* in */ b(a);'
    assert minified("f(\n  a,\n  b,\n);\ng() // {\nh = {};\n") == "f(a,b,);g() // {\nh = {};"
    assert minified("f();\n\n// Why.\n\n  g();\n") == "f();g();"
    maybe_text = "const a = '; // text';\nf(`{ // ${b}`);\n"
    assert minified(maybe_text) == maybe_text


@pytest.mark.parametrize("page", sorted(PAGE_MODULES))
def test_the_script_of_a_page_stays_small(tmp_path, page):
    """The goal is 15 KB, compressed; where it is no more than a word on other pages, a tenth of it."""
    hashed = collected(tmp_path).hashed_files[page]
    assert (tmp_path / f"{hashed}.gz").stat().st_size <= (1_500 if page == "desk/unsent.js" else 15_000)
