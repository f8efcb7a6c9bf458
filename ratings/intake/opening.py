"""The files of one import as sources: of an archive each file in it, within the limits of the settings."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from typing import Any, BinaryIO

from django.conf import settings

from ..formats import values
from ..formats.archives import files_of
from ..formats.budget import Budget
from ..formats.source import HEADERS, Reading, Source

File = tuple[str, BinaryIO]  # its name in messages, and its bytes
READING = {field.name for field in fields(Reading)}


def reading(options: Mapping[str, Any]) -> Reading:
    """How files are to be read, by the options of a command or a job. Raises ValueError for no grade."""
    given = {name: options[name] for name in READING & options.keys()}
    grades = {word: values.grade(value) for word, value in options.get("grades", {}).items()}
    return Reading(**given | {"grades": grades, "header": HEADERS[options.get("header")]})


def budget() -> Budget:
    """The budget of files that were sent together."""
    return Budget(settings.LARGEST_UNPACKED, settings.LARGEST_RATIO)


@contextmanager
def sources(files: Iterable[File], reading: Reading | None = None) -> Iterator[list[Source]]:
    """All sources of the files, to be read in any order."""
    with ExitStack() as stack:
        whole = budget()
        yield [each for file in files for each in files_of(Source(*file, reading, whole=whole), stack)]


@contextmanager
def one_by_one(files: Iterable[File], reading: Reading | None = None) -> Iterator[Iterator[Source]]:
    """The same sources, each to be read before the next is taken. Nothing is read ahead."""
    with ExitStack() as stack:
        whole = budget()
        opened = (Source(*file, reading, whole=whole) for file in files)
        yield (each for source in opened for each in files_of(source, stack, in_turn=True))
