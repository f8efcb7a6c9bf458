"""The Vega script that draws charts in the browser, from the vl-convert wheel: nothing is downloaded."""

import os
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

NAME = "vega.js"


def bundle_folder() -> Path:
    """The folder with vega.js, named by the version of the wheel. Making it takes about 1.5 s, once."""
    folder = Path(settings.DATA_DIR) / f"vega-{version('vl-convert-python')}"
    if not (folder / NAME).exists():
        import vl_convert

        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{NAME}.{os.getpid()}.part"
        part.write_text(vl_convert.javascript_bundle(), encoding="utf-8")
        part.replace(folder / NAME)
    return folder


class VegaBundleFinder(BaseFinder):
    def find(self, path: str, find_all: bool = False, **kwargs):
        if path != NAME:
            return []
        file = str(bundle_folder() / NAME)
        return [file] if find_all else file

    def list(self, ignore_patterns):
        # Storage.listdir would also list half-written files of another process.
        yield NAME, FileSystemStorage(location=bundle_folder())
