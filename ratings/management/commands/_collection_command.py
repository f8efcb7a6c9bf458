"""Base classes of the commands that import into a collection, export from it or print about it."""

import csv
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from django.core.management.base import BaseCommand, CommandParser

from ratings.database.snapshot import snapshot
from ratings.formats.columns import NAMES as COLUMNS
from ratings.formats.columns import SEVERAL
from ratings.formats.refusal import Refusal
from ratings.formats.registry import BY_NAME, KEY, TEXT, readable, writable
from ratings.formats.source import LAST_HEADER, Reading, stream_at
from ratings.importing import jobs
from ratings.importing.intake import Report, opening
from ratings.importing.intake.ratings import REPEATS
from ratings.management.progress import ProgressLine
from ratings.management.refusals import Refused, line_of, refusing
from ratings.management.whole_file import whole_file
from ratings.models import Collection
from ratings.people import audit
from ratings.words import as_sentence

PRINTED = 20  # refusals
NO_CHECKS: list[str] = []  # Django's checks load every page, which takes half the time of a short command
RAW = "of a table: write cells as they are, without the apostrophe that keeps a spreadsheet from computing them"


class CollectionCommand(BaseCommand):
    requires_system_checks = NO_CHECKS

    def add_arguments(self, parser) -> None:
        parser.add_argument("slug", help="the collection")

    def collection(self, slug: str, *, to_change: bool = False) -> Collection:
        """The collection. Raises Refused for an unknown one and, if `to_change`, for one that is put away."""
        collection = Collection.objects.filter(slug=slug).first()
        if collection is None:
            raise Refused(f"There is no collection {slug!r}. Make it with create_collection.")
        if to_change and collection.put_away_at:
            raise Refused(f"{slug} is put away. Take it out again on its page Collection. Nothing was written.")
        return collection


class ReportingCommand(BaseCommand):
    """Prints the report of an import: facts to standard output, warnings and refusals to standard error."""

    requires_system_checks = NO_CHECKS
    options: frozenset[str] = frozenset()  # the names of its options

    def create_parser(self, *args, **kwargs) -> CommandParser:
        parser = super().create_parser(*args, **kwargs)
        self.options = frozenset(action.dest for action in parser._actions)
        return parser

    def print_report(self, report: Report) -> None:
        """Print the report. Raises Refused if it has refusals."""
        for warning in report.warnings:
            self.stderr.write(f"Warning: {warning}", self.style.WARNING)
        in_order = sorted(report.refusals, key=lambda refusal: (refusal.file, refusal.line))
        self.print_refusals(in_order, report.refused)
        if report.refused:
            raise Refused("Nothing was written.")
        for fact in report.facts:
            self.stdout.write(fact)

    def print_refusals(self, refusals: Sequence[Refusal], total: int) -> None:
        """Print the first refusals, and the number of the others."""
        for refusal in refusals[:PRINTED]:
            self.stderr.write(line_of(refusal, self.options))
        if total > PRINTED:
            self.stderr.write(f"and {total - PRINTED:,} more")


class ImportCommand(ReportingCommand, CollectionCommand):
    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        text = "uncompressed, compressed (gzip, Zstandard), or a ZIP or tar of such; - is standard input"
        parser.add_argument("files", nargs="+", metavar="FILE", help=text)

    def run_import(
        self,
        intake: Callable[..., Report],
        slug: str,
        files: Sequence[str],
        reading: Reading | None = None,
        **choices,
    ) -> None:
        """Run one of the imports with its own `choices`. Raises Refused."""
        collection = self.collection(slug, to_change=True)
        with refusing(), ProgressLine(self.stderr) as progress, ExitStack() as stack:
            streams = [stack.enter_context(stream_at(path)) for path in files]
            sources = stack.enter_context(opening.sources(streams, reading))
            report = intake(collection, sources, progress=progress, **choices)
        self.print_report(report)
        jobs.fetch_pictures(collection, None)


class ImportRowsCommand(ImportCommand):
    """Imports files in every format that holds rows of its kind."""

    kind = ""  # of rows, as the formats name it

    def add_arguments(self, parser) -> None:
        # A map may begin with a negative grade; argparse would take "-1=0" for an option.
        parser._negative_number_matcher = re.compile(r"^-[\d.]")
        super().add_arguments(parser)
        names = [format.name for format in readable(self.kind)]
        text = f"{', '.join(names)}; by default it is recognized by the file"
        parser.add_argument("--format", choices=names, metavar="NAME", help=text)
        roles = ", ".join([*COLUMNS[self.kind], *filter(None, [SEVERAL.get(self.kind)])])
        text = f"which column of a table holds what: {roles}; WHAT= alone says that there is none"
        parser.add_argument("--columns", metavar="WHAT=COLUMN,…", action="append", default=[], help=text)
        text = "an encoding of Python, such as windows-1252; by default utf-8, or utf-16 with its mark"
        parser.add_argument("--encoding", metavar="NAME", help=text)
        text = (
            "of a table: whether its first line names the columns, or the line that does; without they are 1, 2, 3"
        )
        lines = map(str, range(2, LAST_HEADER + 1))
        parser.add_argument("--header", choices=["yes", "no", *lines], metavar="yes|no|LINE", help=text)
        text = "of a table: quotation marks are text, and no signs around cells"
        parser.add_argument("--quoting", choices=["none"], help=text)
        text = "of a table: an empty cell of the query is that of the line above, as below merged cells"
        parser.add_argument("--fill-down", action="store_true", help=text)
        text = "ids may have blanks, of which each becomes %%20, in every file that is imported so"
        parser.add_argument("--spaced-ids", action="store_true", help=text)
        parser.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook that has several")
        text = "of a table: keep an apostrophe before = + - @ in a cell; by default it goes, as exports add it"
        parser.add_argument("--raw", action="store_true", help=text)
        if self.kind in ("results", "ratings"):
            text = "what identifies queries in a file, if it could be either"
            parser.add_argument("--queries-by", choices=[KEY, TEXT], help=text)
        if self.kind == "ratings":
            text = "the grades that words in a table stand for: bad=0,good=2"
            parser.add_argument("--map", metavar="WORD=GRADE,…", action="append", default=[], help=text)
            text = "a pair that is rated again: raters, each line without a name is of another rater; last, the"
            text += " later one counts; by default it is refused"
            parser.add_argument("--repeats", choices=REPEATS, help=text)

    def run_row_import(
        self, intake: Callable[..., Report], slug: str, files: Sequence[str], options: dict, *own: str
    ) -> None:
        """Run one of the imports with the options of the command. `own` names those that only it has."""
        with refusing():
            # Each may be given again, as a refusal that names one asks for it beside those given before.
            lists = {"columns": pairs(",".join(options["columns"]), "--columns", none=True)}
            lists["grades"] = pairs(",".join(options.get("map", [])), "--map")
            reading = opening.reading(options | lists)
        choices = {name: options[name] for name in ("format", "queries_by", *own) if name in options}
        self.run_import(intake, slug, files, reading, **choices)


def pairs(text: str, option: str, *, none: bool = False) -> dict[str, str]:
    """The pairs of a list such as `query=Q,"document=doc, id"`. Raises ValueError.

    If `none`, a value may be empty.
    """
    values = {}
    for step in next(csv.reader(text.splitlines()), []):
        name, equals, value = step.partition("=")
        if not (name.strip() and equals and (value.strip() or none)):
            raise ValueError(f"cannot read {step!r} of {option}: it is a list such as name=value,name=value")
        if name.strip() in values:
            raise ValueError(f"{option} says twice what {name.strip()} is")
        values[name.strip()] = value.strip()
    return values


class OutputCommand(BaseCommand):
    requires_system_checks = NO_CHECKS

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("-o", "--output", metavar="FILE", help="write here instead of to standard output")

    def put_out(self, lines: Iterable[str | bytes], output: str | None) -> None:
        """Write the lines one by one, bytes only to a file, which appears when it is complete. Raises Refused."""
        try:
            if output:
                with whole_file(Path(output)) as file:
                    file.writelines(line if isinstance(line, bytes) else line.encode() for line in lines)
            else:
                for line in lines:
                    self.stdout.write(line, ending="")
        except ValueError as error:
            raise Refused(as_sentence(error)) from error
        except BrokenPipeError:
            # The reader, such as head, has closed the pipe. Without this Python would print an error at its exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            raise Refused(f"{output}: {error.strerror or error}.") from error


class ExportCommand(OutputCommand, CollectionCommand):
    """Writes something of a collection, and notes it in the audit."""

    def execute(self, *args, **options) -> str | None:
        printed = super().execute(*args, **options)
        what = type(self).__module__.rpartition(".")[2].removeprefix("export_")
        audit.note(audit.Act.EXPORTED, self.collection(options["slug"]), about=what)
        return printed


class ExportRowsCommand(ExportCommand):
    """Writes rows of its kind in every format that can hold them."""

    kind = ""  # of rows, as the formats name it
    default = ""  # format

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        names = [format.name for format in writable(self.kind)]
        parser.add_argument("--raw", action="store_true", help=RAW)
        text = f"{', '.join(names)} ({self.default})"
        parser.add_argument("--format", choices=names, metavar="FORMAT", default=self.default, help=text)

    def write(self, rows: Iterable, format: str, output: str | None, *, raw: bool) -> None:
        """Write rows of the command's kind in the format of that name. Raises Refused."""
        chosen = BY_NAME[format]
        if chosen.binary and not output:
            raise Refused(f"{chosen.title} is not text. Give --output FILE.")
        with snapshot():
            self.put_out(chosen.written(self.kind, rows, raw=raw), output)
