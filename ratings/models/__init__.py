"""The record: what was ranked, who graded what.

In the tables that grow with imports and ratings, a reference that is the first column of another index has none of
its own: every row written would pay for both.
"""

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
from .content import Document, OtherText, Query
from .job import LEASE, Job
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
    StagedRating,
)
from .token import SCOPES_OF, ApiToken, Receipt, Scope

__all__ = [
    "LEASE",
    "LOTS",
    "SCOPES_OF",
    "UNRANKED",
    "Adjudication",
    "Anchor",
    "ApiToken",
    "Assignment",
    "Check",
    "Collection",
    "Document",
    "Grade",
    "Guidelines",
    "Invitation",
    "Job",
    "LostLease",
    "Membership",
    "OtherText",
    "Pair",
    "Query",
    "Ranking",
    "Rater",
    "Rating",
    "RatingEvent",
    "Reason",
    "Receipt",
    "Role",
    "Scope",
    "Shown",
    "StagedRating",
    "System",
    "plain_value",
    "short_value",
]
