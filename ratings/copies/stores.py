"""The files that rows refer to, in the stores of pictures and uploads."""

from collections.abc import Iterator

from django.apps.registry import Apps
from django.core.files.storage import storages

from ..importing.pictures.store import name_of

STORES = ("pictures", "uploads")
UNFINISHED_STATES = ("queued", "running")  # the states of jobs that still need their files
BLOCK_BYTES = 1 << 20


def referenced(apps: Apps, store: str) -> dict[str, bool]:
    """{name of a file to which rows refer: whether a row needs the file}"""
    is_needed: dict[str, bool] = {}
    if store == "pictures":
        rows = apps.get_model("ratings", "picture")._base_manager.filter(state="ready")
        for digests in rows.values_list("small", "large").iterator():
            is_needed |= {name_of(digest): True for digest in digests}
    else:
        jobs = apps.get_model("ratings", "job")._base_manager.exclude(files=[])
        for state, files in jobs.order_by("pk").values_list("state", "files").iterator():
            for name in (file["stored"] for file in files if "stored" in file):
                is_needed[name] = is_needed.get(name, False) or state in UNFINISHED_STATES
    return is_needed


def blocks(store: str, name: str) -> Iterator[bytes]:
    """The content of a file, piece by piece. Raises FileNotFoundError."""
    with storages[store].open(name) as file:
        yield from file.chunks(BLOCK_BYTES)
