"""Storage of static files: compressed, with a hash of the content in the name, and scripts without comments.

The modules of a page of the desk are bundled into one script, which compresses better and needs one request. Old
files are not deleted, so that a page that is open during an upgrade still finds its files.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from django.contrib.staticfiles import finders
from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

OWN_MODULES = "desk/"
PAGE_MODULES = {
    f"desk/{name}.js" for name in ("desk", "list", "settings", "unsent")
}  # the modules that pages load
IMPORT = re.compile(r'^import \{ (.*) \} from "\./(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:const|class|function) (\w+))", re.MULTILINE)
COMMENT = re.compile(r"^[ ]*(?://[^\n]*|/\*\*.*?\*/)[ ]*\n", re.MULTILINE | re.DOTALL)
# A comment after code. One with a quotation mark is kept, since it might be part of a string.
TRAILING_COMMENT = re.compile(r"""(?<=[;,{}])[ ]+//[ ][^"'`\n]*$""", re.MULTILINE)
INDENT = re.compile(r"^\s+", re.MULTILINE)  # and blank lines
# A line whose end no statement needs: each of ours has its semicolon. One with what may be a comment keeps it.
OPEN_LINE = re.compile(r"^(?!.*//)(.*[;,{}(])\n", re.MULTILINE)


def minified(script: str) -> str:
    """The script without comments, indentation, blank lines and needless ends of lines, which saves a fifth.

    No string in our scripts spans lines.
    """
    return OPEN_LINE.sub(r"\1", INDENT.sub("", TRAILING_COMMENT.sub("", COMMENT.sub("", script))))


def bundled(page: str, read: Callable[[str], str]) -> str:
    """The module of a page, with the modules that it imports before it, each once and in its own function scope.

    Only imports and exports by name are supported, one a line. `read` returns the text of a file, by its name.
    """
    scopes: dict[str, str] = {}

    def module_and_exports(name: str) -> tuple[str, str]:
        """The module with its imports taken from `scopes`, and the names that it exports."""
        source = read(f"{OWN_MODULES}{name}.js")
        for _, other in IMPORT.findall(source):
            if other not in scopes:
                source_of_module, exported = module_and_exports(other)
                scopes[other] = f"const _{other} = (() => {{\n{source_of_module}return {{ {exported} }};\n}})();\n"
        names = ", ".join(EXPORT.findall(source))
        return EXPORT.sub("", IMPORT.sub(r"const { \1 } = _\2;\n", source)), names

    script, _ = module_and_exports(page.removeprefix(OWN_MODULES).removesuffix(".js"))
    return "".join(scopes.values()) + script


def source_of(name: str) -> str:
    with open(finders.find(name), encoding="utf-8") as file:
        return file.read()


class Storage(CompressedManifestStaticFilesStorage):
    def _save(self, name, content):
        if name in PAGE_MODULES:
            content = ContentFile(minified(bundled(name, source_of)).encode())
        return super()._save(name, content)

    def post_process(self, paths, dry_run=False, **options):
        # Otherwise the original modules would be hashed instead of the bundles.
        bundles = {name: (self, name) for name in paths if name in PAGE_MODULES}
        yield from super().post_process({**paths, **bundles}, dry_run, **options)

    def get_modified_time(self, name):
        # The module may be older than those it imports, and collectstatic would skip the bundle.
        return datetime.fromtimestamp(0, UTC) if name in PAGE_MODULES else super().get_modified_time(name)
