"""Logs as jobs of a worker: counted at first, and read again for the draw, after which they are deleted."""

from contextlib import ExitStack

from ...models import Job
from .. import uploads
from ..intake import opening
from ..signs import Progress
from .samples import Design, LogReport, sample_log

READING = opening.READING | {"format"}  # the options of reading a log


def work(job: Job, progress: Progress) -> LogReport:
    """The report of counting the log or, once somebody has chosen a design, of drawing from it.

    With the option "more", queries are drawn in addition to the last sample.
    """
    with ExitStack() as stack:
        files = [(file["name"], stack.enter_context(uploads.opened(file))) for file in job.files]
        sources = stack.enter_context(opening.sources(files, opening.reading(job.options)))
        return sample_log(
            job.destination,
            sources,
            None if job.checking else Design(**job.options["design"]),
            format=job.options.get("format", ""),
            more=job.options.get("more", False),
            progress=progress,
            job=job,
        )
