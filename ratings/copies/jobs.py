"""Archives as jobs of a worker."""

from ..importing import uploads
from ..importing.intake.report import Report
from ..importing.signs import Progress
from ..models import Job
from . import restoring
from .package import Unreadable


def restore(job: Job, progress: Progress) -> Report:
    (file,) = job.files
    bare = job.options.get("bare", False)
    try:
        with uploads.opened(file) as stored, restoring.unpacked(stored, file["name"]) as opened:
            return restoring.restore(opened, job.options["slug"], bare=bare, progress=progress, job=job)
    except Unreadable as unreadable:
        report = Report()
        report.refuse(unreadable.refusal)
        return report
