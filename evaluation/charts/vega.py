"""The Vega script that draws the charts, taken from the vl-convert wheel: nothing is downloaded."""

import os
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

NAME = "vega.js"


def bundle_folder() -> Path:
    """Folder that holds vega.js, named by the wheel's version. Takes about 1.5 s to make, once."""
    folder = Path(settings.DATA_DIR) / f"vega-{version('vl-convert-python')}"
    if not (folder / NAME).exists():
        import vl_convert

        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{NAME}.{os.getpid()}.part"
        part.write_text(vl_convert.javascript_bundle(), encoding="utf-8")
        part.replace(folder / NAME)
    return folder


class VegaBundleFinder(BaseFinder):
    def check(self, **kwargs) -> list:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs):
        if path != NAME:
            return []
        found = str(bundle_folder() / NAME)
        return [found] if find_all else found

    def list(self, ignore_patterns):
        # Storage.listdir would also offer half-written files of another process, so the one name is given.
        yield NAME, FileSystemStorage(location=bundle_folder())
