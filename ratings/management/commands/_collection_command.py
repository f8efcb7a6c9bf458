"""What the commands that import into a collection, export from it or print have in common."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from ratings.formats.source import Source, opened
from ratings.intake import Report
from ratings.models import Collection

PRINTED = 20  # refusals
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


class ImportCommand(CollectionCommand):
    """Prints what the import reports: facts to standard output, warnings and refusals to standard error."""

    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("files", nargs="+", metavar="FILE", help="plain or gzipped; - is standard input")

    def take_in(self, intake: Callable[..., Report], slug: str, files: Sequence[str], **options) -> None:
        collection = self.collection(slug)
        progress = ProgressLine(self.stderr)
        try:
            with ExitStack() as stack:
                sources: list[Source] = [stack.enter_context(opened(path)) for path in files]
                report = intake(collection, sources, progress=progress, **options)
        except OSError as error:
            raise Refused(
                f"{error.filename or 'a file'}: {error.strerror or error}. Nothing was written."
            ) from error
        except ValueError as error:
            raise Refused(f"{str(error).rstrip('.')}. Nothing was written.") from error
        finally:
            progress.clear()
        self.tell(report)

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


class OutputCommand(BaseCommand):
    def add_arguments(self, parser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--output", metavar="FILE", help="write here instead of to standard output")

    def put_out(self, lines: Iterable[str], output: str | None) -> None:
        """Write as the lines come. A file appears whole or not at all. Raises Refused."""
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

    def put_into_file(self, lines: Iterable[str], path: Path) -> None:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.writelines(lines)
            os.chmod(beside, 0o644)
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise


class ExportCommand(OutputCommand, CollectionCommand):
    pass


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
