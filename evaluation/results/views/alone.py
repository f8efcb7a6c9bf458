"""Scores of systems by the grades of a machine alone: a part of other pages, and files."""

from django.http import HttpRequest

from ratings.models import Collection

from ...page.asked import Asked, CannotAnswer
from ...page.downloads import Files, files
from .. import machine_only as alone
from ..machine_only import Alone


def alone_in(collection: Collection, asked: Asked) -> list[Alone]:
    """The scores by each machine, in the measure and options of the address. Raises CannotAnswer."""
    try:
        return alone.alone_of(collection, (asked.measure,), asked.options)
    except ValueError as error:
        raise CannotAnswer(f"By the grades of a machine alone: {error}") from error


def table_of(every: list[Alone], systems: list[str], asked: Asked) -> dict:
    """The context of a table: a column for each machine, a row for each system."""
    rows = [
        (name, [(each.mean(name, asked.measure), each.queries(name, asked.measure)) for each in every])
        for name in systems
    ]
    return {"alone": every, "alone_rows": rows}


def differences_of(every: list[Alone], pairs: list[tuple[str, str]], asked: Asked) -> dict:
    """The context of a table: a column for each machine, a row for each pair of systems."""
    rows = [
        (f"{second} less {first}", [each.difference(first, second, asked.measure) for each in every])
        for first, second in pairs
    ]
    return {"alone": every, "alone_rows": rows}


@files()
def alone_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    whole = alone.document(collection, asked.profile, alone_in(collection, asked))
    return Files(
        f"{collection.slug}-machine-only-{asked.measure}", table=lambda: alone.table(whole), json=lambda: whole
    )
