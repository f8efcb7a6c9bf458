"""Base classes of the commands that export from a collection or print about it."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from django.core.management.base import BaseCommand, CommandParser

from ratings.database.snapshot import snapshot
from ratings.formats.refusal import Refusal
from ratings.formats.registry import BY_NAME, writable
from ratings.management.refusals import Refused, line_of
from ratings.management.whole_file import whole_file
from ratings.models import Collection, System
from ratings.people import audit
from ratings.words import as_sentence, counted

if TYPE_CHECKING:  # what imports takes as long to load as all of these
    from ratings.importing.intake import Report

MOST_REFUSALS_PRINTED = 20
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

    def systems(self, collection: Collection, names: Sequence[str]) -> list[System]:
        """The systems of these names; all if none is named. Raises Refused for unknown names and for no system."""
        systems = list(collection.systems.filter(name__in=names) if names else collection.systems.all())
        unknown_names = sorted(set(names) - {system.name for system in systems})
        if unknown_names or not systems:
            present = ", ".join(collection.systems.values_list("name", flat=True)) or "none; use import_run first"
            raise Refused(f"No such system: {', '.join(unknown_names) or '(none)'}. Systems here: {present}.")
        return systems


class ReportingCommand(BaseCommand):
    """Prints the report of an import: facts to standard output, warnings and refusals to standard error."""

    requires_system_checks = NO_CHECKS
    option_names: frozenset[str] = frozenset()

    def create_parser(self, *args, **kwargs) -> CommandParser:
        parser = super().create_parser(*args, **kwargs)
        self.option_names = frozenset(action.dest for action in parser._actions)
        return parser

    def print_report(self, report: "Report") -> None:
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
        for refusal in refusals[:MOST_REFUSALS_PRINTED]:
            self.stderr.write(line_of(refusal, self.option_names))
        if total > MOST_REFUSALS_PRINTED:
            self.stderr.write(f"and {total - MOST_REFUSALS_PRINTED:,} more")


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
        except ValueError as error:  # of `lines`, which are made one by one as they are written
            raise Refused(as_sentence(error)) from error
        except BrokenPipeError:
            # The reader, such as head, has closed the pipe. Python flushes standard output once more at its exit,
            # and would print an error if that were the pipe still.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            raise Refused(f"{output}: {error.strerror or error}.") from error


class ExportCommand(OutputCommand, CollectionCommand):
    """Writes something of a collection, and notes it in the audit."""

    def execute(self, *args, **options) -> str | None:
        printed = super().execute(*args, **options)
        # The audit names what is exported by the command: "run" for export_run.
        what = type(self).__module__.rpartition(".")[2].removeprefix("export_")
        collection = self.collection(options["slug"])
        audit.note(audit.Act.EXPORTED, collection, about=what)
        if collection.left_out:
            raters = counted(collection.left_out, "rater is", "raters are")
            self.stderr.write(f"{raters} left out, and their ratings do not count")
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
        with snapshot():
            self.put_out(self.written(rows, format, output, raw=raw), output)

    def written(self, rows: Iterable, format: str, output: str | None, *, raw: bool) -> Iterable[str | bytes]:
        """What `put_out` is to write. Raises Refused for a binary format without a file."""
        chosen = BY_NAME[format]
        if chosen.binary and not output:
            raise Refused(f"{chosen.title} is not text. Give --output FILE.")
        return chosen.written(self.kind, rows, raw=raw)
