"""The files that rows refer to, in the stores of pictures and uploads."""

from collections.abc import Iterator

from django.apps.registry import Apps
from django.core.files.storage import storages

from ..importing.pictures.store import name_of

UNFINISHED_STATES = ("queued", "running")  # the states of jobs that still need their files
BLOCK_BYTES = 1 << 20


def _pictures(apps: Apps) -> dict[str, bool]:
    ready = apps.get_model("ratings", "picture")._base_manager.filter(state="ready")
    names: dict[str, bool] = {}
    for small, large in ready.values_list("small", "large").iterator():
        names |= {name_of(small): True, name_of(large): True}
    return names


def _uploads(apps: Apps) -> dict[str, bool]:
    """Uploaded files. Once a job is over, it needs its files no more, and they may be deleted."""
    jobs = apps.get_model("ratings", "job")._base_manager.exclude(files=[])
    names: dict[str, bool] = {}
    for state, files in jobs.order_by("pk").values_list("state", "files").iterator():
        for file in files:
            if name := file.get("stored"):
                names[name] = names.get(name, False) or state in UNFINISHED_STATES
    return names


# For each store the function that returns {name of a file to which rows refer: whether a row needs the file}.
REFERENCED = {"pictures": _pictures, "uploads": _uploads}


def blocks(store: str, name: str) -> Iterator[bytes]:
    """The content of a file, piece by piece. Raises FileNotFoundError."""
    with storages[store].open(name) as file:
        yield from file.chunks(BLOCK_BYTES)
