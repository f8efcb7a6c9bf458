"""The expected values of a page, or the reason why there are none."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.http import HttpRequest

from ratings.models import Collection

from ..apps import estimators
from ..expected import scope
from ..record import InUse
from ..scores import Asked, Evaluation
from ..scores.expected import MOST_PAIRS, Expected, TooLarge, estimator, systems_of, with_expected
from .address import CannotAnswer, told_to_reader

TOO_LARGE = "The pool is too large for expected values on a page. The command evaluate --expected computes them."


@dataclass(frozen=True, eq=False)
class Expecting:
    """The expected values of a page."""

    rounds: int  # number of rounds drawn
    decisive: bool  # whether the order of rating is the decisive one
    expected: Expected | None = None
    why: str = ""  # the reason why there are none

    @property
    def too_large(self) -> bool:
        return self.why == TOO_LARGE

    @property
    def interval(self) -> Expected | None:
        """The expected values if they have intervals."""
        return self.expected if self.expected and not self.expected.without else None

    @property
    def headline(self) -> Expected | None:
        """The expected values if a page shows them first, since the decisive order biases the plain ones."""
        expected = self.interval
        return expected if self.decisive and self.rounds and expected and not expected.final else None

    def misleads(self, asked: Asked, judged: Iterable[float | None]) -> bool:
        """Whether plain means are biased by the decisive order. judged: the judged shares of the systems.

        They are not once all of the pool is judged, even if systems return documents outside of it.
        """
        if not asked.reads_judgments or (self.expected and not self.expected.predicted):
            return False
        open_ = any(share is not None and share < 1 for share in judged)
        return self.decisive and bool(self.rounds) and open_ and asked.options.unjudged == "zero"

    @property
    def model(self) -> Expected | None:
        """The expected values if a model alone predicts missing judgments, so that they have no intervals."""
        return self.expected if self.expected and self.expected.without and self.expected.predicted else None


def wanted_in(request: HttpRequest) -> bool:
    """Whether the address asks for expected values even if no round was drawn. Raises CannotAnswer."""
    value = request.GET.get("expected") or "0"
    if value not in ("0", "1"):
        raise CannotAnswer(f"expected must be 1, or be left out, not {value[:40]!r}.")
    return value == "1"


def expecting(
    collection: Collection, asked: Asked, rounds: int, wanted: bool = False, used: tuple[InUse, ...] | None = None
) -> Expecting:
    """The expected values in the asked measure. Without rounds there are none, unless they are `wanted`.

    There are none either where the room that computes them was taken out. used: the machines in use, if the caller
    has read them.
    """
    decisive = collection.order == Collection.Order.DECISIVE
    if not estimators or not (rounds or wanted):
        return Expecting(0, decisive)
    try:
        aim = replace(asked, systems=systems_of(collection))
        return Expecting(rounds, decisive, estimator().expected_of(collection, aim, MOST_PAIRS, used))
    except TooLarge:
        return Expecting(rounds, decisive, why=TOO_LARGE)
    except ValueError as error:
        return Expecting(rounds, decisive, why=f"No expected values: {error}")


def with_expected_in(
    request: HttpRequest, collection: Collection, asked: Asked, evaluation: Evaluation
) -> Evaluation:
    """The evaluation, with expected values if the address asks for them. Raises CannotAnswer."""
    if not wanted_in(request):
        return evaluation
    with told_to_reader():
        return with_expected(collection, evaluation, [asked.measure], MOST_PAIRS)


def is_defined(asked: Asked) -> bool:
    """Whether expected values are defined for the asked measure and options, and computed here."""
    return bool(estimators) and scope.is_defined(asked.measure, asked.options)
