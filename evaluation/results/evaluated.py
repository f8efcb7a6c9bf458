"""The evaluation of a page or file, by the options in its address."""

from collections.abc import Iterable

from ratings.models import Collection

from .. import scores
from ..measures import Measure
from ..page.address import told_to_reader
from ..scores import Asked, Evaluation

MOST_BOUNDED = 1_000_000  # queries x systems x cutoff: the bounds of more take too long for a page


@told_to_reader()
def evaluated(
    collection: Collection, asked: Asked, beside: Iterable[Measure] = (), bounds: Iterable[Measure] = ()
) -> Evaluation:
    """The evaluation by the asked options. Raises CannotAnswer where they do not fit the collection."""
    return scores.evaluate(collection, asked, beside, bounds)


@told_to_reader()
def with_judgments(
    collection: Collection, asked: Asked, beside: Iterable[Measure] = (), bounds: Iterable[Measure] = ()
) -> Evaluation:
    """As `evaluated`, with the judgments, on which holes and neutral points rest."""
    return scores.evaluate(collection, asked, beside, bounds, judgments=True)


def bounded_in(collection: Collection, asked: Asked) -> list[Measure]:
    """[the asked measure] where its bounds are defined and can be computed fast enough for a page, else []."""
    cutoff = asked.measure.cutoff
    if cutoff is None or not scores.has_bounds(asked.measure):
        return []
    size = collection.queries.count() * collection.systems.count() * cutoff
    return [asked.measure] if size <= MOST_BOUNDED else []
