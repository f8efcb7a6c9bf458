from django.utils import timezone

from evaluation.models import Night, Watch
from evaluation.page.documents import as_text
from evaluation.watching import nights, telling, trend
from ratings.formats import spreadsheet
from ratings.management.commands._collection_command import ExportCommand, Refused

FORMATS = ("table", "csv", "json")


class Command(ExportCommand):
    help = (
        "Print the nights of a watch and what they told. With --system, first add a night from the rankings of a"
        " system that was imported."
    )

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", metavar="WATCH", help="as it is called on its page")
        parser.add_argument("--system", metavar="NAME", help="the system whose rankings are this night's")
        parser.add_argument("--format", default="table", choices=FORMATS, help="(table)")

    def handle(
        self, *, slug: str, name: str, system: str | None, format: str, output: str | None, **options
    ) -> None:
        collection = self.collection(slug, to_change=system is not None)
        watches = {watch.name: watch for watch in collection.watches.all()}
        if name not in watches:
            known = f"It has {', '.join(watches)}." if watches else "It has none. Make one on its page Watch."
            raise Refused(f"There is no watch {name!r} in {slug}. {known}")
        watch = watches[name]
        if system:
            add_night(watch, system)
        points = trend.points(watch)
        if format == "json":
            self.put_out([as_text(trend.document(watch, points))], output)
        elif format == "csv":
            header, rows = trend.table(points)
            self.put_out(spreadsheet.download([header, *rows], raw=False), output)
        else:
            self.put_out(["\n".join([*map(line_of, points), ""])], output)


def add_night(watch: Watch, system: str) -> None:
    """A night from this system, told at once. Raises Refused."""
    try:
        night = nights.after_call(watch, system, timezone.now())
    except ValueError as error:
        raise Refused(f"{error}.") from error
    telling.tell(night)


def line_of(point: trend.Point) -> str:
    """The night, its mean, and what was told of each baseline."""
    at = trend.named(point.night.due_at)
    if point.night.state == Night.State.GAP or point.means is None:
        return f"{at}  gap: {point.night.problem}"
    told = [f"{verdict.kind} ({verdict.name}, {said_of(verdict)})" for verdict in point.verdicts.values()]
    mean = "no mean" if point.means.mean is None else f"{point.means.mean:.4f}"
    return "  ".join([at, mean, f"n = {point.means.queries}", *told])


def said_of(verdict) -> str:
    difference = verdict.numbers["difference"]
    return "no query counts for both" if difference is None else f"{difference:+.4f}"
