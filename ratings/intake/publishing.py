"""The one transaction in which an import writes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import IntegrityError, transaction

from ..formats.source import Source
from ..models import Collection
from .report import Report


@contextmanager
def publishing(collection: Collection, sources: Sequence[Source], report: Report) -> Iterator[None]:
    """All or nothing. Touches the collection last, if anything changed; what the database refuses is reported."""
    try:
        with transaction.atomic():
            yield
            if report.changed:
                collection.touch()
    except IntegrityError as error:
        report.counts.clear()
        problem = f"the database refuses the rows ({error})".replace("\n", " ")
        cure = "If somebody else was importing at the same time, run the import again."
        report.refuse(sources[0].refusal(0, problem, cure))
