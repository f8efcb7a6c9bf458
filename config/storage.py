"""How static files are served: compressed, under names that change with their content, scripts without comments.

The modules that a page of the desk needs are sent as one script: that compresses better than many small ones, and
none waits for another. A page that is open while a new version is installed goes on with the old names: nothing
here deletes a file.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from django.contrib.staticfiles import finders
from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

OWN_MODULES = "desk/"
PAGES = {f"desk/{name}.js" for name in ("desk", "list", "settings", "unsent")}  # the modules that a page names
IMPORT = re.compile(r'^import \{ (.*) \} from "\./(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:const|class|function) (\w+))", re.MULTILINE)
COMMENT = re.compile(r"^[ ]*(?://[^\n]*|/\*\*.*?\*/)[ ]*\n", re.MULTILINE | re.DOTALL)
INDENT = re.compile(r"^[ ]+", re.MULTILINE)


def lean(script: str) -> str:
    """The script without comments and indentation: a fifth less to send. No string of ours spans lines."""
    return INDENT.sub("", COMMENT.sub("", script))


def bundled(page: str, read: Callable[[str], str]) -> str:
    """The module of a page and before it all that it imports, each once and in a scope of its own.

    It knows imports and exports as ours are written: by name, one a line.
    """
    scopes: dict[str, str] = {}

    def inlined(name: str) -> tuple[str, str]:
        """The module with its imports out of scopes, and the names that it exports."""
        source = read(f"{OWN_MODULES}{name}.js")
        for _, other in IMPORT.findall(source):
            if other not in scopes:
                body, exported = inlined(other)
                scopes[other] = f"const _{other} = (() => {{\n{body}return {{ {exported} }};\n}})();\n"
        names = ", ".join(EXPORT.findall(source))
        return EXPORT.sub("", IMPORT.sub(r"const { \1 } = _\2;\n", source)), names

    last, _ = inlined(page.removeprefix(OWN_MODULES).removesuffix(".js"))
    return "".join(scopes.values()) + last


def source_of(name: str) -> str:
    with open(finders.find(name), encoding="utf-8") as file:
        return file.read()


class Storage(CompressedManifestStaticFilesStorage):
    def _save(self, name, content):
        if name in PAGES:
            content = ContentFile(lean(bundled(name, source_of)).encode())
        return super()._save(name, content)

    def post_process(self, paths, dry_run=False, **options):
        # What it gives new names to would be read where it was found, each module by itself.
        made = {name: (self, name) for name in paths if name in PAGES}
        yield from super().post_process({**paths, **made}, dry_run, **options)

    def get_modified_time(self, name):
        # Its own file may be older than what it imports: collectstatic would then keep the old script.
        return datetime.fromtimestamp(0, UTC) if name in PAGES else super().get_modified_time(name)
