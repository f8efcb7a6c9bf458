"""The files of one import as sources. An archive gives each file in it. The settings limit their size."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from typing import Any, BinaryIO

from django.conf import settings

from ...formats import values
from ...formats.archives import files_of
from ...formats.budget import Budget
from ...formats.source import HEADERS, Reading, Source, checked_encoding
from ...models import Collection

File = tuple[str, BinaryIO]  # its name in messages, and its bytes
READING = {field.name for field in fields(Reading)}


def reading(options: Mapping[str, Any]) -> Reading:
    """The options of reading, from those of a command or a job. Raises ValueError."""
    chosen = {name: options[name] for name in READING & options.keys()}
    if chosen.get("encoding"):
        checked_encoding(chosen["encoding"])
    grades = {word: values.meant(value) for word, value in options.get("grades", {}).items()}
    header = options.get("header")
    named = {"header": HEADERS[header]} if header in HEADERS else {"header": True, "header_line": int(str(header))}
    return Reading(**chosen | named | {"grades": grades})


def with_raters(reading: Reading, collection: Collection) -> Reading:
    """The reading of ratings for a collection: columns may be named for its raters."""
    return replace(reading, raters=frozenset(collection.raters.values_list("name", flat=True)))


def budget() -> Budget:
    """The budget of files that were sent together."""
    return Budget(settings.LARGEST_UNPACKED, settings.LARGEST_RATIO)


@contextmanager
def sources(files: Iterable[File], reading: Reading | None = None) -> Iterator[list[Source]]:
    """All sources of the files, to be read in any order."""
    with one_by_one(files, reading) as all_sources:
        yield list(all_sources)


@contextmanager
def one_by_one(files: Iterable[File], reading: Reading | None = None) -> Iterator[Iterator[Source]]:
    """The sources of the files one by one. Nothing is read ahead: no file is opened before its turn."""
    with ExitStack() as stack:
        whole = budget()
        file_sources = (Source(*file, reading, whole=whole) for file in files)
        yield (source for file_source in file_sources for source in files_of(file_source, stack))
