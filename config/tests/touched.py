"""Which tests a change touches: how many steps lead from each file of tests to the nearest file that changed.

A step leads from a file to what it imports or names: a name that a package passes on leads to where it is made; a
test leads to the views of the addresses in it; a view to its template, a template to its scripts. A test is also
one step from what it is named for: test_desk_keys.py from all of static/desk. The nearest tests run, as many as
take most of a minute; a change of what everything rests on touches more than that, and its farther tests are left
to the whole suite. Only the standard library: files are read, nothing is imported.

    python -m config.tests.touched  # for the change since main, as run.py test --changed asks
"""

import ast
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath

SUFFIXES = {".html", ".js", ".css", ".md", ".py", ".toml", ".txt", ".json"}
NAMED = re.compile(r"[\w./-]+\.(?:html|js|css|md|py|toml|txt|json)")
DOTTED = re.compile(r"[a-z_]+(\.\w+)+")
QUOTED = re.compile(r"""["']([^"'\s]+)["']""")
LOADED = re.compile(r"{% load ([\w ]+?) %}")
# What reads the files themselves, so that any change concerns it. It takes a second.
ALWAYS = ("config/tests/test_arrows.py", "config/tests/test_docs.py")
SECONDS = 30  # of tests, beside what it takes to begin
# Measured, of those whose few tests take long. They stay within reach of a change that is near enough.
LONG = {
    "config/tests/test_access.py": 25,
    "config/tests/test_api_description.py": 11,
    "ratings/tests/test_data_files.py": 29,
    "ratings/tests/test_imports_fuzz.py": 5,
    "ratings/tests/test_kills.py": 20,
    "ratings/tests/test_ledger.py": 20,
    "ratings/tests/test_queue_machine.py": 8,
    "ratings/tests/test_queue_mixing.py": 11,
}


def chosen(house: "House", changed: set[str], seconds: float = SECONDS) -> list[str]:
    """The files of tests to run, nearest first. One that changed itself runs, whatever it takes."""
    steps = house.nearest(changed)
    costs = {file: LONG.get(file) or cost((house.root / file).read_text(encoding="utf-8")) for file in steps}

    def far(file: str) -> tuple:
        """Of files as many steps away first those that are named most for what changed, then the quickest."""
        return steps[file], -named_for(file, changed), costs[file], file

    found, spent = [file for file in ALWAYS if changed and file in house.files], 0.0
    for file in sorted(steps.keys() - set(found), key=far):
        spent += costs[file]
        if spent <= seconds or file in changed:
            found.append(file)
    return found


def cost(tests: str) -> float:
    """About the seconds that a file of tests takes, told from its text."""
    each = 2 if "mark.browser" in tests else 0.5 if "transaction=True" in tests[:2000] else 0.1
    return each * (len(re.findall("^def test_", tests, re.M)) + 4 * tests.count("\n@pytest.mark.parametrize"))


def named_for(test: str, changed: set[str]) -> int:
    """How many words of a test's name are in the path of one changed file: of test_formats_trec.py and
    ratings/formats/trec.py two.
    """
    words = set(PurePosixPath(test).stem.split("_")[1:])
    return max((len(words & set(re.split(r"[/_.]", path))) for path in changed), default=0)


def changed_files(root: Path) -> set[str]:
    """What differs from where the branch left main, committed or not, by paths from the root."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
        return done.stdout.splitlines() if done.returncode == 0 else []

    base = git("merge-base", "HEAD", "main") or git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    return {*git("diff", "--name-only", base[0]), *git("ls-files", "--others", "--exclude-standard")}


def is_test(path: str) -> bool:
    return PurePosixPath(path).name.startswith("test_") and path.endswith(".py")


def is_support(path: str) -> bool:
    """What tests share. It imports half the house, so that a path through it would say nothing."""
    return "tests" in PurePosixPath(path).parts and not is_test(path)


class House:
    """The files of the project, and the steps between them."""

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self.root, self.files = root, set(files)

    @classmethod
    def at(cls, root: Path) -> "House":
        places = [path for path in root.iterdir() if path.is_dir() and path.name != "var" and path.name[0] != "."]
        found = [path for place in places for path in place.rglob("*.*")] + list(root.glob("*.*"))
        return cls(root, (path.relative_to(root).as_posix() for path in found if path.suffix in SUFFIXES))

    def nearest(self, changed: Iterable[str]) -> dict[str, int]:
        """Steps from each file of tests to the nearest changed file; those that no path leads to are left out."""
        steps = dict.fromkeys(changed, 0)
        todo = list(steps)
        for file in todo:  # grows: breadth first
            for before in self.leading_to[file]:
                if before not in steps:
                    steps[before] = steps[file] + 1
                    if not is_test(before) and not is_support(before):
                        todo.append(before)
        return {file: count for file, count in steps.items() if is_test(file) and file in self.files}

    @cached_property
    def leading_to(self) -> dict[str, set[str]]:
        leading = defaultdict(set)
        for file in self.files:
            for other in self.steps_of(file) - {file}:
                leading[other].add(file)
        return leading

    def steps_of(self, file: str) -> set[str]:
        if not file.endswith((".py", ".html", ".js")):
            return set()
        text = (self.root / file).read_text(encoding="utf-8")
        if file.endswith(".py"):
            return self.steps_of_python(file, ast.parse(text))
        found = {place for name in QUOTED.findall(text) for place in self.named(name, file)}
        tags = " ".join(LOADED.findall(text)).split()
        return found | {place for tag in tags for place in self.tails.get(f"templatetags/{tag}.py", ())}

    def steps_of_python(self, file: str, tree: ast.Module) -> set[str]:
        bound: dict[str, str] = {}  # packages and modules by the names that they have in the file
        found = set()
        for module, name, local in imported(file, tree):
            found |= self.made(module, name)
            if name and (inner := self.module(f"{module}.{name}")):
                bound[local] = inner
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound:
                found |= self.made(dotted(bound[node.value.id]), node.attr)
        for text in texts(tree):
            found |= self.named(text, file) | self.holding(text)
            if is_test(file):
                found |= self.behind(text) | self.commands.get(text, set())
        return found | self.namesakes(file) if is_test(file) else found

    def module(self, name: str) -> str | None:
        """The file of a module or package."""
        place = name.replace(".", "/")
        return next((path for path in (f"{place}.py", f"{place}/__init__.py") if path in self.files), None)

    def holding(self, name: str) -> set[str]:
        """The module that a dotted name in quotes leads into."""
        parts = name.split(".") if DOTTED.fullmatch(name) else []
        files = (self.module(".".join(parts[:count])) for count in range(len(parts), 0, -1))
        return {file for file in files if file and not file.endswith("__init__.py")}

    def made(self, module: str, name: str | None) -> set[str]:
        """Where that which `from module import name` gives is made."""
        if name and (inner := self.module(f"{module}.{name}")):
            return {inner}
        file = self.module(module)
        if file is None:
            return set()
        if name and file.endswith("__init__.py") and (origin := self.passed_on(file).get(name)):
            return {file} | self.made(*origin)
        return {file}

    def passed_on(self, package: str) -> dict[str, tuple[str, str]]:
        """What a package takes from its modules: module and name there, by the name that it passes on."""
        if package not in self._passed_on:
            tree = ast.parse((self.root / package).read_text(encoding="utf-8"))
            rows = imported(package, tree)
            self._passed_on[package] = {local: (module, name) for module, name, local in rows if name}
        return self._passed_on[package]

    @cached_property
    def _passed_on(self) -> dict[str, dict[str, tuple[str, str]]]:
        return {}

    def named(self, text: str, by: str) -> set[str]:
        """The files that a text in quotes is the name of."""
        if not NAMED.fullmatch(text):
            return set()
        if text.startswith("./"):
            text = (PurePosixPath(by).parent / text).as_posix()
        return set(self.tails.get(text, ()))

    @cached_property
    def tails(self) -> dict[str, list[str]]:
        """Files by each end of their path that begins with a folder or the name."""
        tails = defaultdict(list)
        for file in self.files:
            parts = file.split("/")
            for place in range(len(parts)):
                tails["/".join(parts[place:])].append(file)
        return tails

    @cached_property
    def commands(self) -> dict[str, set[str]]:
        return {PurePosixPath(file).stem: {file} for file in self.files if "/management/commands/" in file}

    def behind(self, text: str) -> set[str]:
        """The modules of the views that an address, or the name of one, leads to."""
        address = text.partition("?")[0]
        found = [view for pattern, _, view in self.routes if "/" in address and pattern.fullmatch(address)]
        return {view for view in found + [view for _, name, view in self.routes if name == text] if view}

    @cached_property
    def routes(self) -> list[tuple[re.Pattern, str | None, str | None]]:
        return [row for file in sorted(self.files) if file.endswith("/urls.py") for row in self.routes_in(file)]

    def routes_in(self, file: str) -> Iterator[tuple[re.Pattern, str | None, str | None]]:
        """Of each address: its pattern, its name, and the module of its view."""
        tree = ast.parse((self.root / file).read_text(encoding="utf-8"))
        assigned = ((node.targets[0], node.value) for node in tree.body if isinstance(node, ast.Assign))
        fixed = {target.id: value for target, value in assigned if isinstance(target, ast.Name)}
        modules = {local: self.made(module, name) for module, name, local in imported(file, tree) if name}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "path" and len(node.args) > 1:
                route, view = text_of(node.args[0], fixed), node.args[1]
                names = [part.id for part in ast.walk(view) if isinstance(part, ast.Name) and part.id in modules]
                name = next((word.value.value for word in node.keywords if word.arg == "name"), None)
                pattern = re.compile("/" + re.sub(r"<[^>]+>", "[^/]+", route))
                yield from ((pattern, name, module) for one in names[:1] for module in modules[one])

    def namesakes(self, test: str) -> set[str]:
        """The files whose name, or whose folder's, is the first word of a test's name."""
        word = PurePosixPath(test).stem.removeprefix("test_").partition("_")[0]
        return {file for file in self.by_word[word] if not is_test(file)}

    @cached_property
    def by_word(self) -> dict[str, set[str]]:
        found = defaultdict(set)
        for file in self.files:
            path = PurePosixPath(file)
            for word in {path.stem.removeprefix("_"), path.parent.name}:
                found[word].add(file)
        return found


def dotted(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported(file: str, tree: ast.Module) -> Iterator[tuple[str, str | None, str]]:
    """Of each name that a file imports: the module, the name in it or None, and what the file calls it."""
    package = PurePosixPath(file).parts[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None, alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((module, alias.name, alias.asname or alias.name) for alias in node.names)


def texts(tree: ast.Module) -> Iterator[str]:
    """What stands in quotes; where a value is put in, the letter x."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield text_of(node, {})


def text_of(node: ast.expr, fixed: dict[str, ast.expr]) -> str:
    """The text that an expression gives, with the values of fixed names and x for any other part."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part, fixed) for part in parts)
        case ast.FormattedValue(value=ast.Name(id=name)) | ast.Name(id=name) if name in fixed:
            return text_of(fixed[name], fixed)
    return "x"


if __name__ == "__main__":
    here = Path.cwd()
    print("\n".join(chosen(House.at(here), changed_files(here))))
