"""The arrays of a collection, as read from the database."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ratings.models import Collection, Grade, Rater

from ..judgments.rules import Ratings
from ..measures import Rankings


@dataclass(frozen=True, eq=False)
class Record:
    """A collection as arrays. A query's number is its row in `queries`; a document's number is its pk."""

    collection: str  # slug
    # pk, key, text, weight, tags, in the natural order of keys: q2 before q10. Queries drawn from a log have count
    # (in the log), chance (1: taken for certain) and stratum, others nan, nan and "". Files and frozen evaluations
    # have fewer columns.
    queries: pd.DataFrame
    systems: tuple[str, ...]  # in the order of names
    ratings: Ratings | None  # None where they were dropped
    values: "GradeValues"
    rankings: dict[str, Rankings]  # by system
    system_pks: dict[str, int] = field(default_factory=dict)  # by name; empty where there is no collection
    # {"count", "chance", "stratum"} of each query of the sample that is not in `queries`: left out, or held back.
    left_out_queries: Sequence[dict] = ()

    @cached_property
    def without_ratings(self) -> "Record":
        """The record with ratings=None, for the cache: ratings change most often."""
        return replace(self, ratings=None)

    def places(self, queries: Iterable[int]) -> np.ndarray:
        """The rows in `queries` of these pks; unknown pks are left out."""
        pk = self.queries["pk"].to_numpy()
        return np.flatnonzero(np.isin(pk, list(queries), kind="sort"))  # the quickest kind for a few


@dataclass(frozen=True, eq=False)
class Opinions:
    """All ratings by people, "cannot judge" included, a row each."""

    collection: str  # slug
    queries: pd.DataFrame  # as in Record
    scale: list[float]  # the grades, lowest first
    raters: dict[int, str]  # names by pk, in the order of names; also raters without a rating
    query: np.ndarray  # int64[n], a row in `queries`
    document: np.ndarray  # int64[n], pks
    rater: np.ndarray  # int64[n], pks
    grade: np.ndarray  # float64[n], nan for "cannot judge"
    moment: np.ndarray  # int64[n], when the pair was first rated, in seconds since 1970
    left_out: int = 0  # how many raters are left out, whose ratings are not here


class Terms(NamedTuple):
    """The versions of scale, guidelines and presentation (0: there are none), and the grades."""

    scale_version: int
    guidelines_version: int
    presentation_version: int
    grades: list[tuple[str, str]]  # value and label, lowest first


@dataclass(frozen=True)
class GradeValues:
    """Values of the grades and weights of the raters, by pk."""

    grades: dict[int, float]
    weights: dict[int, float]  # of raters

    @classmethod
    def of(cls, collection: Collection) -> "GradeValues":
        grades = Grade.objects.filter(collection=collection).values_list("pk", "value")
        raters = Rater.objects.filter(collection=collection).values_list("pk", "weight")
        weights = {pk: float(weight) for pk, weight in raters}
        return cls({pk: float(value) for pk, value in grades}, weights)
