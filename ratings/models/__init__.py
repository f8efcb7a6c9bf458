"""The record: what was ranked, who graded what."""

from .collection import Collection, Grade, Guidelines, Membership, Rater, Role, plain_value, short_value
from .content import Document, Query
from .ranking import Ranking, System
from .rating import LOTS, UNRANKED, Adjudication, Assignment, Pair, Rating, RatingEvent, Reason

__all__ = [
    "LOTS",
    "UNRANKED",
    "Adjudication",
    "Assignment",
    "Collection",
    "Document",
    "Grade",
    "Guidelines",
    "Membership",
    "Pair",
    "Query",
    "Ranking",
    "Rater",
    "Rating",
    "RatingEvent",
    "Reason",
    "Role",
    "System",
    "plain_value",
    "short_value",
]
