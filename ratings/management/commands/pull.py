import os
import re
from pathlib import Path

from django.conf import settings

from ratings.formats import strict_json
from ratings.importing import pull
from ratings.management.progress import ProgressLine
from ratings.management.refusals import refusing

from ._collection_command import CollectionCommand, Refused, ReportingCommand

AUTHORIZATION = "IDEALIST_PULL_AUTHORIZATION"
PATHS = {"hits": "the list of results", "id": "of a result: its id", "score": "its score", "title": "its title"}
PATHS |= {"text": "its text", "link": "its URL"}
DEEPEST = 10_000


class Command(ReportingCommand, CollectionCommand):
    help = (
        "Send every query to a search engine over HTTP, and import the first results as the rankings of a system."
    )

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--system", required=True, metavar="NAME", help="the name of the system")
        parser.add_argument(
            "--url", required=True, help="the address for queries, such as https://host:9200/shop/_search"
        )
        parser.add_argument(
            "--depth", type=int, default=100, metavar="K", help="number of results of each query (100)"
        )
        parser.add_argument(
            "--query", action="append", default=[], metavar="KEY", help="send only this query; may be repeated"
        )
        text = "the body of requests: JSON in which {query}, {need}, {key} and {depth} are filled in; without it"
        parser.add_argument("--body", metavar="FILE", help=f"{text} and parameters, one for Elasticsearch")
        text = "a parameter of the URL, which may contain the same placeholders as --body; may be repeated"
        parser.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE", help=text)
        for name, meaning in PATHS.items():
            path = f"where answers have {meaning}, as names and places in lists with dots between them; as a rule"
            path += " where those of Elasticsearch have it"
            parser.add_argument(f"--{name}", metavar="PATH", help=path)
        parser.add_argument(
            "--keep-first", action="store_true", help="if an answer has a document twice, keep its better rank"
        )
        parser.add_argument("--seconds", type=float, default=30, help="limit of the time of one answer (30)")
        parser.add_argument(
            "--size", type=float, default=20, metavar="MB", help="limit of the size of one answer (20)"
        )
        parser.add_argument(
            "--total-seconds", type=float, default=3_600, help="limit of the time of all answers (3600)"
        )

    def handle(self, *, slug: str, system: str, url: str, depth: int, query: list[str], **options) -> None:
        collection = self.collection(slug, to_change=True)
        if not 1 <= depth <= DEEPEST:
            raise Refused(f"--depth must be from 1 to {DEEPEST:,}, not {depth}.")
        limits = pull.Limits(options["seconds"], int(options["size"] * 1e6), options["total_seconds"])
        try:
            with refusing(), ProgressLine(self.stderr) as progress:
                place = pull.checked_place(url, settings.PULL_HOSTS)
                report = pull.pull(
                    collection,
                    system=system,
                    engine=pull.Engine(place, dialect_of(options), authorization(), limits),
                    depth=depth,
                    queries=query,
                    keep_first=options["keep_first"],
                    progress=progress,
                )
        except KeyboardInterrupt:
            raise Refused("Stopped. Nothing was written.") from None
        self.print_report(report)


def dialect_of(options: dict) -> pull.Dialect:
    """The dialect of Elasticsearch, changed by the options. Raises ValueError and OSError."""
    changes = {name: options[name] for name in PATHS if options[name]}
    if "link" in changes:
        changes["url"] = changes.pop("link")
    if options["parameter"]:
        changes |= {"parameters": dict(parameter(text) for text in options["parameter"]), "body": None}
    if options["body"]:
        try:
            changes["body"] = strict_json.loaded(Path(options["body"]).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{options['body']}: {error}") from error
    return pull.Dialect(**changes)


def parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError(f"--parameter {text!r} is not NAME=VALUE, such as q={{query}}")
    return name, value


def authorization() -> dict[str, str]:
    """The header in the environment, which is never printed; {} if there is none."""
    value = os.environ.get(AUTHORIZATION, "").strip()
    if value and not re.fullmatch(r"[\x20-\x7e]+", value):
        raise ValueError(f"{AUTHORIZATION} has a character that no header can have")
    return {"Authorization": value} if value else {}
