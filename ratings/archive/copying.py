"""Copy a collection, without what people did in it: write it as an archive, and restore that as a new one."""

import tempfile

from django.contrib.auth.models import AbstractBaseUser

from ..intake.report import Report
from ..intake.stage import Progress
from ..models import Collection, Job
from .reading import unpacked
from .restoring import restore
from .writing import write

COPIED = {"collection", "grades", "guidelines", "presentations", "queries", "documents", "pictures"}
COPIED |= {"systems", "rankings"}


def copy(
    source: Collection, slug: str, name: str, *, maker: AbstractBaseUser | None, progress: Progress, job: Job
) -> Report:
    """The report of copying a collection, with all versions of guidelines and presentation; `maker` is its admin.

    Raises ValueError for a slug that is taken or invalid, and Collection.DoesNotExist for a deleted source.
    """
    with tempfile.TemporaryFile() as file:
        progress(f"reading {source}", None, 0)  # the only report, since nothing can be stored within a snapshot
        write(source, file, members=COPIED)
        with unpacked(file, source.name, ours=True) as archive:
            return restore(archive, slug, name=name, maker=maker, progress=progress, job=job)
