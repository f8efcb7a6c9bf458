"""Refusals as commands print them: one line each, whose cures are options of the command."""

import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError

from ..database import disk
from ..formats.columns import SEVERAL
from ..formats.refusal import Option, Refusal
from ..formats.values import listed_pair
from ..words import as_sentence

IMPORT_COMMANDS = {"results": "import_run"}
IMPORT_OPTIONS = {"kind", "before"}  # options that name another import command


class Refused(CommandError):
    """The command did nothing. Django prints the name of the class: "Refused: Nothing was written."."""


@contextmanager
def refusing(last_sentence: str = "Nothing was written.") -> Iterator[None]:
    """Raises Refused for errors that the operator can cure, such as a ValueError for an argument.

    `last_sentence`: the end of its message, such as what was not done; "": the error alone.
    """
    try:
        yield
    except DatabaseError as error:
        raise Refused(f"The database refused: {' '.join(str(error).split())}. {last_sentence}".rstrip()) from error
    except OSError as error:
        raise Refused(f"{error.filename or ''}: {error.strerror or error}. {last_sentence}".strip(": ")) from error
    except ValueError as error:
        raise Refused(f"{as_sentence(error)} {last_sentence}".rstrip()) from error


def refuse_unwritable() -> None:
    """Raises Refused where the data folder cannot be written, before a command that runs for long."""
    try:
        disk.try_out(settings.DATA_DIR)
    except OSError as error:
        cure = "Free space there, make it writable, or name another folder in IDEALIST_DATA."
        raise Refused(f"Nothing can be written into {settings.DATA_DIR}: {error.strerror}. {cure}") from error


def line_of(refusal: Refusal, option_names: Collection[str]) -> str:
    """The refusal as a line, with cures for a command that has these options."""
    # A cure for a command that imports files may also name another import command.
    known = {*option_names, *(IMPORT_OPTIONS if "files" in option_names else ())}
    return refusal.message(lambda option: words(option) if option.name in known else "")


def words(option: Option) -> str:
    """The option in an imperative: "give --order score"."""
    if option.name in IMPORT_OPTIONS:
        command = IMPORT_COMMANDS.get(option.value, f"import_{option.value}")
        return f"use {command}" if option.name == "kind" else f"import {option.value} first, with {command}"
    name = f"--{option.name.replace('_', '-')}"
    if option.value == "":
        return f"leave {name} out"
    return f"give {name}" if option.value is True else f"give {name} {_value(option)}"


def _value(option: Option) -> str:
    """The value of the option as one types it: a word, or for a dict a list such as query=NAME,document=Doc.

    A value that the person has to fill in is None, as the whole or in the dict. It becomes a word in capitals.
    """
    is_map = option.name == "map"  # of words to grades; any other dict is of roles to columns
    if option.value is None:
        return "WORD=GRADE" if is_map else "NAME"
    if isinstance(option.value, str):
        return shlex.quote(option.value)
    pairs = []
    for name, value in option.value.items():
        # The role may be one that several columns have: raters or fields.
        column = "NAME|NAME" if name in SEVERAL.values() else "NAME"
        placeholder = "GRADE" if is_map else column
        pairs.append(listed_pair(name, placeholder if value is None else value))
    return shlex.quote(",".join(pairs))
