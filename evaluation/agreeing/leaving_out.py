"""What it does to the numbers to leave out a rater, or to count them again: the numbers of both states."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.db.models import Q

from ratings.models import Assignment, Collection, Rater, Rating

from .. import record, scores
from ..agreement.coefficients import ordinal_alpha
from ..judgments.rules import Ratings
from ..record import Record
from ..scores import Asked, Standing


@dataclass(frozen=True)
class Numbers:
    """The numbers of a collection with the ratings of a rater, or without them."""

    standings: list[Standing]  # by mean, highest first
    judged: int  # pairs with a judgment
    alpha: Mapping  # the row of ordinal alpha; its value is None where no pair has two grades

    @classmethod
    def of(cls, data: Record, ratings: Ratings, scale: list[float], asked: Asked) -> "Numbers":
        evaluation = scores.of_ratings(data, ratings, asked)
        judged = int(evaluation.judgments.count.sum())
        return cls(evaluation.standings, judged, ordinal_alpha(ratings, scale))

    @property
    def places(self) -> dict[str, int]:
        """The place of each system, from 1."""
        return {row.system: place for place, row in enumerate(self.standings, 1)}


@dataclass(frozen=True)
class Effect:
    """The numbers with a rater and without, and what else depends on the rater."""

    with_rater: Numbers
    without: Numbers
    grades: int  # that the rater gave
    wanted: int  # how many wanted ratings the rater fills now, which are open again without them

    @property
    def unjudged(self) -> int:
        """How many pairs have a judgment only with the rater."""
        return self.with_rater.judged - self.without.judged

    @property
    def rows(self) -> list[dict]:
        """Each system, best first with the rater, with its standings and places of both states."""
        after = {row.system: row for row in self.without.standings}
        places = self.without.places
        return [
            {"before": row, "after": after[row.system], "place": place, "place_after": places[row.system]}
            for place, row in enumerate(self.with_rater.standings, 1)
        ]

    @property
    def reorders(self) -> bool:
        return self.with_rater.places != self.without.places


def effect_of(collection: Collection, rater: Rater, asked: Asked) -> Effect:
    """What leaving out the rater does, in the asked measure. Rankings come from the cache, ratings are read.

    ValueError for options that do not fit the collection.
    """
    data, _ = scores.read(collection, asked)
    scale = record.scale(collection)
    counted = Rating.objects.filter(Q(rater__left_out_at=None) | Q(rater=rater), set_aside_at=None)
    ratings = record.ratings_in(collection, data, counted)
    by_rater = ratings.rater == rater.pk
    without = ratings.subset(np.flatnonzero(~by_rater))
    filled = Assignment.objects.filter(rater=rater, state=Assignment.State.DONE, extra=False)
    return Effect(
        with_rater=Numbers.of(data, ratings, scale, asked),
        without=Numbers.of(data, without, scale, asked),
        grades=int(by_rater.sum()),
        wanted=filled.count(),
    )
