"""Archives and copies of collections as jobs of a worker."""

from ..importing import uploads
from ..importing.intake.report import Report
from ..importing.jobs import store_queued
from ..importing.signs import Progress
from ..models import Collection, Job
from . import restoring
from .package import Unreadable


def copy(source: Collection, slug: str, name: str, by) -> Job:
    """A new job that copies a collection without what people did in it. `by` becomes the admin of the copy."""
    options = {"source": source.pk, "of": source.name, "slug": slug, "name": name}
    return store_queued(Job(kind=Job.Kind.COPY, options=options, by=by))


def restore(job: Job, progress: Progress) -> Report:
    (file,) = job.files
    try:
        with uploads.opened(file) as stored, restoring.unpacked(stored, file["name"]) as opened:
            return restoring.restore(opened, job.options["slug"], progress=progress, job=job)
    except Unreadable as unreadable:
        report = Report()
        report.refuse(unreadable.refusal)
        return report


def copy_now(job: Job, progress: Progress) -> Report:
    try:
        source = Collection.objects.get(pk=job.options["source"])
        return restoring.copy(source, progress=progress, job=job)
    except Collection.DoesNotExist as error:
        raise ValueError("The collection was deleted meanwhile") from error
