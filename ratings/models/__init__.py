"""The record: what was ranked, who graded what."""

from .anchor import Anchor, Check
from .collection import (
    Collection,
    Grade,
    Guidelines,
    Invitation,
    Membership,
    Rater,
    Role,
    plain_value,
    short_value,
)
from .content import Document, Query
from .ranking import Ranking, System
from .rating import (
    LOTS,
    UNRANKED,
    Adjudication,
    Assignment,
    LostLease,
    Pair,
    Rating,
    RatingEvent,
    Reason,
    Shown,
)

__all__ = [
    "LOTS",
    "UNRANKED",
    "Adjudication",
    "Anchor",
    "Assignment",
    "Check",
    "Collection",
    "Document",
    "Grade",
    "Guidelines",
    "Invitation",
    "LostLease",
    "Membership",
    "Pair",
    "Query",
    "Ranking",
    "Rater",
    "Rating",
    "RatingEvent",
    "Reason",
    "Role",
    "Shown",
    "System",
    "plain_value",
    "short_value",
]
