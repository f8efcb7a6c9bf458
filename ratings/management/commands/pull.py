import os
import re
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from ratings import pull
from ratings.formats import strict_json
from ratings.formats.refusal import as_sentence
from ratings.management.progress import ProgressLine

from ._collection_command import CollectionCommand, Refused, TellingCommand

AUTHORIZATION = "IDEALIST_PULL_AUTHORIZATION"
PATHS = {"hits": "the list of results", "id": "of a result: its id", "score": "its score", "title": "its title"}
PATHS |= {"text": "its text", "link": "its URL"}
DEEPEST = 10_000


class Command(TellingCommand, CollectionCommand):
    help = "Ask a search engine every query over HTTP, and import the top of its answers as a system."

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--system", required=True, metavar="NAME", help="what the engine is called here")
        parser.add_argument(
            "--url", required=True, help="where queries go, such as https://host:9200/shop/_search"
        )
        parser.add_argument("--preset", choices=list(pull.PRESETS), help="how to ask and to read the answers")
        parser.add_argument("--depth", type=int, default=100, metavar="K", help="results of each query (100)")
        parser.add_argument(
            "--query", action="append", default=[], metavar="KEY", help="only this; may be repeated"
        )
        said = "the body to send, JSON in which {query}, {need}, {key} and {depth} stand for what is asked"
        parser.add_argument("--body", metavar="FILE", help=said)
        said = "a parameter of the URL, with the same; may be repeated"
        parser.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE", help=said)
        for name, said in PATHS.items():
            path = f"where answers have {said}, as names with dots between them"
            parser.add_argument(f"--{name}", metavar="PATH", help=path)
        said = f"the variable of the environment with the Authorization header ({AUTHORIZATION})"
        parser.add_argument("--authorization-from", default=AUTHORIZATION, metavar="VARIABLE", help=said)
        parser.add_argument("--keep-first", action="store_true", help="of a document that an answer has twice")
        parser.add_argument("--seconds", type=float, default=30, help="that an answer may take (30)")
        parser.add_argument("--size", type=float, default=20, metavar="MB", help="that an answer may have (20)")
        parser.add_argument("--total-seconds", type=float, default=3_600, help="that all may take (3600)")

    def handle(self, *, slug: str, system: str, url: str, depth: int, query: list[str], **options) -> None:
        collection, progress = self.collection(slug, to_change=True), ProgressLine(self.stderr)
        if not 1 <= depth <= DEEPEST:
            raise Refused(f"--depth must be from 1 to {DEEPEST:,}, not {depth}.")
        try:
            report = pull.pull(
                collection,
                system=system,
                engine=pull.Engine(
                    pull.checked_place(url, settings.PULL_HOSTS),
                    dialect_of(options),
                    authorization(options["authorization_from"]),
                    pull.Limits(options["seconds"], int(options["size"] * 1e6), options["total_seconds"]),
                ),
                depth=depth,
                queries=query,
                keep_first=options["keep_first"],
                progress=progress,
            )
        except OSError as error:
            raise Refused(f"{error.filename or slug}: {error.strerror or error}. Nothing was written.") from error
        except ValueError as error:
            raise Refused(f"{as_sentence(error)} Nothing was written.") from error
        except KeyboardInterrupt:
            raise Refused("Stopped. Nothing was written.") from None
        finally:
            progress.clear()
        self.tell(report)


def dialect_of(options: dict) -> pull.Dialect:
    """The preset, changed by the other options. Raises ValueError and OSError."""
    changes = {name: options[name] for name in PATHS if options[name]}
    if "link" in changes:
        changes["url"] = changes.pop("link")
    if options["body"]:
        try:
            changes["body"] = strict_json.loaded(Path(options["body"]).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{options['body']}: {error}") from error
    if options["parameter"]:
        changes["parameters"] = dict(parameter(text) for text in options["parameter"])
    if options["preset"]:
        return replace(pull.PRESETS[options["preset"]], **changes)
    if not {"hits", "id"} <= changes.keys() or not {"body", "parameters"} & changes.keys():
        known = ", ".join(pull.PRESETS)
        raise ValueError(f"Give --preset ({known}), or --hits and --id with --body or --parameter")
    return pull.Dialect(**changes)


def parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError(f"--parameter {text!r} is not NAME=VALUE, such as q={{query}}")
    return name, value


def authorization(variable: str) -> dict[str, str]:
    """The header in that environment variable, which is never printed; {} where the default one is not set."""
    value = os.environ.get(variable, "").strip()
    if not value and variable != AUTHORIZATION:
        raise ValueError(f"The environment has no {variable}")
    if value and not re.fullmatch(r"[\x20-\x7e]+", value):
        raise ValueError(f"{variable} has a character that no header can have")
    return {"Authorization": value} if value else {}
