import math
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.utils import timezone

from ratings.importing import signs
from ratings.importing.intake.stage import Progress
from ratings.importing.pull import turns
from ratings.importing.pull.engines import connection_to
from ratings.management.progress import ProgressLine
from ratings.management.refusals import Refused, refusing
from ratings.models import Collection, Engine, Job

from ._collection_command import CollectionCommand, ReportingCommand


class Command(ReportingCommand, CollectionCommand):
    help = (
        "Send every query to a search engine over HTTP, and import the first results as the rankings of a system."
    )

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--system", required=True, metavar="NAME", help="the name of the system")
        text = "an engine that was connected on a page"
        parser.add_argument("--engine", required=True, metavar="NAME", help=text)
        text = "number of results of each query (100)"
        parser.add_argument("--depth", type=int, default=100, metavar="K", help=text)
        parser.add_argument("--pause", type=float, default=0.0, metavar="SECONDS", help="between two queries (0)")
        text = "ask for a tenth of the queries a second time, and say how far the engine differs from itself"
        parser.add_argument("--twice", action="store_true", help=text)
        text = "if an answer has a document twice, keep its better rank"
        parser.add_argument("--keep-first", action="store_true", help=text)

    def handle(self, *, slug: str, system: str, engine: str, **options) -> None:
        collection = self.collection(slug, to_change=True)
        with refusing():
            search_engine = connected_engine(collection, engine)
            choices = {name: options[name] for name in ("depth", "pause", "twice", "keep_first")}
            settings = turns.options(search_engine, system, **choices)
            connection = connection_to(search_engine)
        try:
            with (
                refusing(),
                ProgressLine(self.stderr) as line,
                running_job(search_engine, settings, line) as (job, progress),
            ):
                report = turns.fetch(job, connection, progress, seconds=math.inf)  # all in one turn
        except KeyboardInterrupt:
            raise Refused("Stopped. Nothing was written.") from None
        for query, problem in report.failed:  # queries without a usable answer
            self.stderr.write(f"Query {query} is a gap: {problem}.", self.style.WARNING)
        self.print_report(report)


@contextmanager
def running_job(engine: Engine, settings: dict, line: ProgressLine) -> Iterator[tuple[Job, Progress]]:
    """A running job for this command, and the function that stores its progress and shows it in the line.

    The stored progress keeps workers from taking up the job. The job is deleted afterwards, unless its import was
    published.
    """
    now = timezone.now()
    job = Job.objects.create(
        collection=engine.collection, kind=Job.Kind.ENGINE, files=[{"name": engine.name}], options=settings,
        state=Job.State.RUNNING, started_at=now, beat_at=now,
    )  # fmt: skip
    try:
        with signs.shown(job) as store:

            def progress(name: str, share: float | None, rows: int) -> None:
                store(name, share, rows)
                line(name, share, rows)

            yield job, progress
    finally:  # a published job is not RUNNING any more
        with transaction.atomic():
            Job.objects.filter(pk=job.pk, state=Job.State.RUNNING).delete()


def connected_engine(collection: Collection, name: str) -> Engine:
    """The connected engine of this name. Raises ValueError."""
    engines = {engine.name: engine for engine in collection.engines.all()}
    if name not in engines:
        known = f"it has {', '.join(engines)}" if engines else "none is connected"
        raise ValueError(f"There is no engine {name!r} in {collection.slug}: {known}")
    return engines[name]
