"""What is expected of the systems while judgments are missing, for pages; or why nothing is."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import HttpRequest

from ratings.models import Collection

from ..decisive import Aim, Expected, expected_of, systems_of, with_expected
from ..decisive.report import MOST_PAIRS, TooLarge
from ..expected.scope import refuse
from ..measures import effective
from ..record import InUse
from ..scores import Evaluation
from .asked import Asked, CannotAnswer

TOO_LARGE = "The pool is too large for expected values on a page. The command evaluate --expected computes them."


@dataclass(frozen=True, eq=False)
class Expecting:
    """What a page knows of expected values."""

    rounds: int  # how many were drawn
    decisive: bool  # whether the order of rating is that of the rounds
    told: Expected | None = None
    why: str = ""  # why there are none

    @property
    def too_large(self) -> bool:
        return self.why == TOO_LARGE

    @property
    def ordered(self) -> str:
        """The name of the order whose rounds tell most."""
        return Collection.Order.DECISIVE.label

    @property
    def interval(self) -> Expected | None:
        """What was told with intervals."""
        return self.told if self.told and not self.told.without else None

    @property
    def headline(self) -> Expected | None:
        """The expected values where they stand above the plain ones: while the order makes those misleading."""
        return self.interval if self.decisive and self.rounds and self.interval and not self.told.final else None

    def misleads(self, asked: Asked, judged: Iterable[float | None]) -> bool:
        """Whether plain means mislead; `judged`: the judged shares of the systems."""
        open_ = any(share is not None and share < 1 for share in judged)
        return self.decisive and bool(self.rounds) and open_ and asked.options.unjudged == "zero"

    @property
    def model(self) -> Expected | None:
        """What was told without intervals."""
        return self.told if self.told and self.told.without else None


def wanted_in(request: HttpRequest) -> bool:
    """Whether the address asks for expected values also where no round was drawn."""
    return request.GET.get("expected") == "1"


def key_of(collection: Collection, rounds: int, used: tuple[InUse, ...], wanted: bool) -> tuple:
    """What besides the record decides what a page expects, for the key of a cache."""
    return rounds, used, wanted, collection.order, systems_of(collection)


def expecting(
    collection: Collection,
    asked: Asked,
    rounds: int,
    wanted: bool = False,
    used: tuple[InUse, ...] | None = None,
) -> Expecting:
    """What is expected in the asked measure after so many rounds; without any nothing, unless it is `wanted`.

    `used`: the machines in use, if they are known already.
    """
    decisive = collection.order == Collection.Order.DECISIVE
    if not rounds and not wanted:
        return Expecting(0, decisive)
    how = {"rule": asked.rule, "adjudications": asked.adjudications, "systems": systems_of(collection)}
    try:
        aim = Aim(asked.measure, asked.options, **how)
        return Expecting(rounds, decisive, expected_of(collection, aim, MOST_PAIRS, used))
    except TooLarge:
        return Expecting(rounds, decisive, why=TOO_LARGE)
    except ValueError as error:
        return Expecting(rounds, decisive, why=f"No expected values: {error}")


def with_expected_in(
    request: HttpRequest, collection: Collection, asked: Asked, evaluation: Evaluation
) -> Evaluation:
    """The evaluation, with expected values where the address asks for them. Raises CannotAnswer."""
    if not wanted_in(request):
        return evaluation
    try:
        return with_expected(collection, evaluation, [asked.measure], MOST_PAIRS)
    except ValueError as error:
        raise CannotAnswer(str(error)) from error


def is_defined(asked: Asked) -> bool:
    """Whether there are expected values of such a measure at all. Costs nothing."""
    try:
        refuse(asked.measure, effective(asked.measure, asked.options))
    except ValueError:
        return False
    return True
