"""The record: what was ranked, who graded what.

A foreign key of a large table has no index of its own if another index begins with it: each written row would pay
for both.
"""

from .anchor import Anchor, Check
from .answers import UNANSWERED, probe_results
from .audit import AuditEvent
from .collection import (
    Collection,
    Deletion,
    Grade,
    Guidelines,
    Invitation,
    Membership,
    Presentation,
    Rater,
    Role,
    plain_value,
    short_value,
)
from .content import Document, FormerText, Query
from .job import LEASE, MAKERS, Job
from .judge import Judge, JudgeRun, JudgeSample, JudgeUse, JudgeVersion, MachineGrade, Probe, SampledPair
from .picture import Picture, digest_of
from .ranking import Ranking, System
from .rating import (
    HAS_ROUND,
    LOTS,
    UNDRAWN,
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
from .rounds import Drawn, Round
from .sample import Sample, SampledQuery
from .session import Session, SuperuserByGroup
from .token import SCOPES_OF, ApiToken, Receipt, Scope

__all__ = [
    "LEASE",
    "HAS_ROUND",
    "LOTS",
    "MAKERS",
    "SCOPES_OF",
    "UNANSWERED",
    "UNDRAWN",
    "UNRANKED",
    "Adjudication",
    "Anchor",
    "ApiToken",
    "Assignment",
    "AuditEvent",
    "Check",
    "Collection",
    "Deletion",
    "Document",
    "Drawn",
    "Grade",
    "Guidelines",
    "Invitation",
    "Job",
    "Judge",
    "JudgeRun",
    "JudgeSample",
    "JudgeUse",
    "JudgeVersion",
    "LostLease",
    "MachineGrade",
    "Membership",
    "FormerText",
    "Pair",
    "Picture",
    "Presentation",
    "Probe",
    "Query",
    "Ranking",
    "Rater",
    "Rating",
    "RatingEvent",
    "Reason",
    "Receipt",
    "Role",
    "Round",
    "Sample",
    "SampledPair",
    "SampledQuery",
    "Scope",
    "Session",
    "Shown",
    "StagedRating",
    "SuperuserByGroup",
    "System",
    "digest_of",
    "plain_value",
    "probe_results",
    "short_value",
]
