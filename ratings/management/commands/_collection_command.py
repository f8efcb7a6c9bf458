"""What the commands that import into a collection, export from it or print have in common."""

import csv
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from django.core.management.base import BaseCommand, CommandError

from ratings.formats import values
from ratings.formats.known import BY_NAME, KEY, TEXT, readable, writable
from ratings.formats.source import ENCODINGS, Source, opened
from ratings.formats.tables import NAMES as COLUMNS
from ratings.intake import Report
from ratings.models import Collection, Job
from ratings.snapshot import snapshot

PRINTED = 20  # refusals
EMPTY = MappingProxyType({})
RAW = "of a table: cells as they are, without the apostrophe that keeps a spreadsheet from computing them"
EVERY = 0.2  # seconds between two updates of the progress line


class Refused(CommandError):
    """Django prints the name of the class before the message: "Refused: nothing was written."."""


class CollectionCommand(BaseCommand):
    def add_arguments(self, parser) -> None:
        parser.add_argument("slug", help="the collection")

    def collection(self, slug: str) -> Collection:
        found = Collection.objects.filter(slug=slug).first()
        if found is None:
            raise Refused(f"There is no collection {slug!r}. Make it with create_collection.")
        return found


class TellingCommand(BaseCommand):
    """Prints what an import reports: facts to standard output, warnings and refusals to standard error."""

    def tell(self, report: Report) -> None:
        for warning in report.warnings:
            self.stderr.write(f"Warning: {warning}", self.style.WARNING)
        for refusal in sorted(report.refusals, key=lambda refusal: (refusal.file, refusal.line))[:PRINTED]:
            self.stderr.write(str(refusal))
        if report.refused > PRINTED:
            self.stderr.write(f"and {report.refused - PRINTED:,} more")
        if report.refused:
            raise Refused("Nothing was written.")
        for fact in report.facts:
            self.stdout.write(fact)


class ImportCommand(TellingCommand, CollectionCommand):
    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("files", nargs="+", metavar="FILE", help="plain or gzipped; - is standard input")

    def take_in(
        self, intake: Callable[..., Report], slug: str, files: Sequence[str], said: Mapping = EMPTY, **options
    ) -> None:
        """`said` is what was said about reading the files."""
        collection = self.collection(slug)
        progress = ProgressLine(self.stderr)
        try:
            with ExitStack() as stack:
                sources: list[Source] = [stack.enter_context(opened(path, **said)) for path in files]
                report = intake(collection, sources, progress=progress, **options)
        except OSError as error:
            raise Refused(
                f"{error.filename or 'a file'}: {error.strerror or error}. Nothing was written."
            ) from error
        except ValueError as error:
            raise Refused(f"{str(error).rstrip('.')}. Nothing was written.") from error
        finally:
            progress.clear()
        # What is told after it was published belongs to it, too.
        Job.objects.filter(pk=report.job).update(report=report.as_json())
        self.tell(report)


class ImportRowsCommand(ImportCommand):
    """Takes files in every format that holds rows of its kind."""

    kind = ""  # of rows, as the formats name it

    def add_arguments(self, parser) -> None:
        # A map may begin with a negative grade; argparse would take "-1=0" for an option.
        parser._negative_number_matcher = re.compile(r"^-[\d.]")
        super().add_arguments(parser)
        names = [format.name for format in readable(self.kind)]
        said = f"{', '.join(names)}; seen from the file where it is not given"
        parser.add_argument("--format", choices=names, metavar="NAME", help=said)
        said = f"which column of a table holds what: {', '.join(COLUMNS[self.kind])}"
        parser.add_argument("--columns", metavar="WHAT=COLUMN,…", default="", help=said)
        said = f"{', '.join(ENCODINGS)} (utf-8, or utf-16 where the file begins with its mark)"
        parser.add_argument("--encoding", choices=ENCODINGS, metavar="NAME", help=said)
        said = "of a table: an apostrophe before = + - @ is a part of its cell, and not there for spreadsheets"
        parser.add_argument("--raw", action="store_true", help=said)
        if self.kind in ("results", "ratings"):
            said = "what a file calls the queries by, where it could be either"
            parser.add_argument("--queries-by", choices=[KEY, TEXT], help=said)
        if self.kind == "ratings":
            said = "the grades that words in a table stand for: bad=0,good=2"
            parser.add_argument("--map", metavar="WORD=GRADE,…", default="", help=said)

    def take_in_rows(
        self, intake: Callable[..., Report], slug: str, files: Sequence[str], options: dict, **more
    ) -> None:
        """`options` are those of the command line, `more` what the import takes besides."""
        try:
            said = {"encoding": options["encoding"], "columns": pairs(options["columns"], "--columns")}
            words = pairs(options.get("map", ""), "--map")
            said["raw"] = options["raw"]
            said["grades"] = {word: values.grade(grade) for word, grade in words.items()}
        except ValueError as error:
            raise Refused(f"{error}. Nothing was written.") from error
        if "queries_by" in options:
            more["queries_by"] = options["queries_by"]
        self.take_in(intake, slug, files, said, format=options["format"], **more)


def pairs(text: str, option: str) -> dict[str, str]:
    """{"query": "Q", "document": "doc, id"} of `query=Q,"document=doc, id"`. Raises ValueError."""
    found = {}
    for step in next(csv.reader(text.splitlines()), []):
        name, equals, value = step.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise ValueError(f"cannot read {step!r} of {option}: it is a list such as name=value,name=value")
        if name.strip() in found:
            raise ValueError(f"{option} says twice what {name.strip()} is")
        found[name.strip()] = value.strip()
    return found


class OutputCommand(BaseCommand):
    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", metavar="FILE", help="write here instead of to standard output")

    def put_out(self, lines: Iterable[str | bytes], output: str | None) -> None:
        """Write as the lines come; bytes only into a file, which appears whole or not at all. Raises Refused."""
        try:
            if output:
                self.put_into_file(lines, Path(output))
            else:
                for line in lines:
                    self.stdout.write(line, ending="")
        except ValueError as error:
            raise Refused(str(error)) from error
        except BrokenPipeError:
            # The reader, such as head, has what it wanted; Python must not complain when it closes the pipe.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            raise Refused(f"{output}: {error.strerror or error}.") from error

    def put_into_file(self, lines: Iterable[str | bytes], path: Path) -> None:
        with whole_file(path) as file:
            file.writelines(line if isinstance(line, bytes) else line.encode() for line in lines)


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """What is written appears at `path` whole or not at all. Raises OSError."""
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


class ExportCommand(OutputCommand, CollectionCommand):
    pass


class ExportRowsCommand(ExportCommand):
    """Writes rows of its kind in every format that can hold them."""

    kind = ""  # of rows, as the formats name it
    default = ""  # format

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        names = [format.name for format in writable(self.kind)]
        parser.add_argument("--raw", action="store_true", help=RAW)
        said = f"{', '.join(names)} ({self.default})"
        parser.add_argument("--format", choices=names, metavar="FORMAT", default=self.default, help=said)

    def write(self, rows: Iterable, format: str, output: str | None, *, raw: bool) -> None:
        """Rows of the command's kind in the format of that name."""
        found = BY_NAME[format]
        if found.binary and not output:
            raise Refused(f"{found.title} is no text: give --output FILE.")
        with snapshot():
            self.put_out(found.written(self.kind, rows, raw=raw), output)


class ProgressLine:
    """One line on a terminal that is written over and over; nothing where standard error is no terminal."""

    def __init__(self, stderr) -> None:
        self.stderr = stderr
        self.wanted = stderr.isatty()
        self.name, self.begun, self.told = "", 0.0, 0.0

    def __call__(self, name: str, share: float | None, rows: int) -> None:
        now = time.monotonic()
        if name != self.name:
            self.name, self.begun = name, now
        if not self.wanted or now - self.told < EVERY:
            return
        self.told = now
        percent = "" if share is None else f" {share:.0%}"
        speed = f", {rows / (now - self.begun):,.0f} a second" if now > self.begun else ""
        self.line(f"{name}:{percent} {rows:,} rows{speed}")

    def clear(self) -> None:
        if self.told:
            self.line("")

    def line(self, text: str) -> None:
        self.stderr.write(f"\r\x1b[K{text}", lambda plain: plain, ending="")
        self.stderr.flush()
