"""The record: what was ranked, who graded what.

A foreign key of a large table has no index of its own if another index begins with it: each written row would pay
for both.
"""

from .allowed_host import AllowedHost, hosts_allowed_for
from .anchor import Anchor, Check
from .answers import UNANSWERED, probe_results
from .audit import AuditEvent
from .baseline import Baseline
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
from .engine import Engine, EngineAnswer
from .job import LEASE, MAKERS, Job
from .judge import Judge, JudgeRun, JudgeSample, JudgeUse, JudgeVersion, MachineGrade, Probe, SampledPair
from .notice import Delivery, Notice, Receiver
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
from .session import AccountLanguage, Session, SuperuserByGroup
from .token import SCOPES_OF, ApiToken, Receipt, Scope
