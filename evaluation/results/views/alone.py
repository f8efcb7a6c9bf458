"""Scores of systems by the grades of a machine alone: a part of other pages, and files."""

from django.http import HttpRequest

from ratings.models import Collection

from ...page.downloads import Files, files
from ...scores import Asked
from .. import machine_only as alone


@files()
def alone_files(request: HttpRequest, collection: Collection, asked: Asked) -> Files:
    whole = alone.document(collection, asked, alone.scores_by_machine(collection, asked))
    return Files(
        f"{collection.slug}-machine-only-{asked.measure}", table=lambda: alone.table(whole), json=lambda: whole
    )
