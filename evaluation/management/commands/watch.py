from typing import Any

from django.utils import timezone

from evaluation.models import Watch
from evaluation.page.documents import as_text
from evaluation.watching import nights, setting_up, telling, trend
from evaluation.watching.forms import WatchForm
from ratings.formats import spreadsheet
from ratings.management.commands._collection_command import ExportCommand, Refused
from ratings.management.refusals import refusing
from ratings.models import Collection

FORMATS = ("table", "csv", "json")
ACTS = ("make", "change", "pause", "resume", "run", "remove", "system")  # options that do more than print


class Command(ExportCommand):
    help = (
        "Print the nights of a watch and what they told. First make, change, pause or run it, or add a night from"
        " the rankings of a system that was imported."
    )

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", metavar="WATCH", help="as it is called on its page")
        # A watch scores a search again and again with the same queries. Each time is a night. Either its engine is
        # asked (--run) or the rankings of a system that was imported are taken (--system).
        acts = parser.add_mutually_exclusive_group()
        fields = ", ".join(name for name in WatchForm.base_fields if name != "name")
        text = f"make it: {fields} (days: 0 for Monday, with commas between)"
        acts.add_argument("--make", nargs="*", metavar="FIELD=VALUE", help=text)
        acts.add_argument("--change", nargs="+", metavar="FIELD=VALUE", help="change it: these fields, or name")
        acts.add_argument("--pause", action="store_true", help="no more nights")
        acts.add_argument("--resume", action="store_true", help="nights again")
        acts.add_argument("--run", action="store_true", help="begin a night now: a worker asks the engine")
        acts.add_argument("--remove", action="store_true", help="remove it with its nights")
        acts.add_argument("--system", metavar="NAME", help="the system whose rankings are this night's")
        parser.add_argument("--format", default="table", choices=FORMATS, help="(table)")

    def handle(self, *, slug: str, name: str, format: str, output: str | None, **options) -> None:
        # The act that was asked for, in a list of one or none: argparse refuses more. An option that was not given
        # is None, or False for a flag.
        asked = [act for act in ACTS if options[act] not in (None, False)]
        collection = self.collection(slug, to_change=bool(asked))
        watch = setting_up.blank(collection) if asked == ["make"] else watch_of(collection, name)
        for act in asked:
            do(act, watch, options[act], name)
        if asked == ["remove"]:
            return
        points = trend.points(watch)
        if format == "json":
            self.put_out([as_text(trend.document(watch, points))], output)
        elif format == "csv":
            header, rows = trend.table(points)
            self.put_out(spreadsheet.download([header, *rows], raw=False), output)
        else:
            self.put_out(["\n".join([*map(line_of, points), ""])], output)


def watch_of(collection: Collection, name: str) -> Watch:
    """The watch of this name. Raises Refused."""
    watches = {watch.name: watch for watch in collection.watches.all()}
    if name not in watches:
        known = f"It has {', '.join(watches)}." if watches else "It has none. Make one with --make."
        raise Refused(f"There is no watch {name!r} in {collection.slug}. {known}")
    return watches[name]


def do(act: str, watch: Watch, value: Any, name: str) -> None:
    """Do one of ACTS. Raises Refused.

    value: what its option was given: for `make` and `change` words such as at=03:00; for `system` the name of the
    system whose rankings become a new night; for the others True. name: of the watch that `make` makes.
    """
    with refusing(last_sentence=""):
        match act:
            case "make":
                setting_up.set_up(watch, facts_in(value) | {"name": name})
            case "change":
                setting_up.set_up(watch, facts_in(value))
            case "pause" | "resume":
                setting_up.set_up(watch, {"paused": act == "pause"})
            case "run":
                setting_up.run(watch)
            case "remove":
                setting_up.remove(watch)
            case "system":
                # To tell a night is to score it and to store its verdicts.
                telling.tell(nights.night_of_system(watch, value, timezone.now()))


def facts_in(words: list[str]) -> dict[str, Any]:
    """The fields of words such as at=03:00. Raises ValueError."""
    facts: dict[str, Any] = {}
    for word in words:
        field, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"{word!r} says no value: write FIELD=VALUE, such as at=03:00")
        if field == "paused":
            raise ValueError("Pause a watch with --pause, and go on with --resume")
        facts[field] = list(filter(None, value.split(","))) if field == "days" else value
    return facts


def line_of(point: trend.Point) -> str:
    """The line of a night: its mean, and what was told of each baseline; of a gap, why it has no scores."""
    at = trend.named(point.night.due_at)
    if point.means is None:  # a gap
        return f"{at}  gap: {point.night.problem}"
    mean = "no mean" if point.means.mean is None else f"{point.means.mean:.4f}"
    cells = [at, mean, f"n = {point.means.queries}"]
    for verdict in point.verdicts.values():
        difference = verdict.numbers["difference"]
        text = "no query counts for both" if difference is None else f"{difference:+.4f}"
        cells.append(f"{verdict.kind} ({verdict.name}, {text})")
    return "  ".join(cells)
