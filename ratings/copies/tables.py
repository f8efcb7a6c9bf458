"""One description of all tables: their natural keys, and which columns leave in which copy.

A column leaves in no copy until it is named here, so that no secret leaks; a test compares this with all models.
Rows refer only to tables before their own, and to rows of their own. `evaluation` registers its tables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Field, Model, QuerySet

from ..models import (
    MAKERS,
    Adjudication,
    Anchor,
    ApiToken,
    Assignment,
    AuditEvent,
    Check,
    Collection,
    Deletion,
    Document,
    Drawn,
    FormerText,
    Grade,
    Guidelines,
    Invitation,
    Job,
    Judge,
    JudgeRun,
    JudgeSample,
    JudgeUse,
    JudgeVersion,
    LostLease,
    MachineGrade,
    Membership,
    Pair,
    Picture,
    Presentation,
    Probe,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    Receipt,
    Round,
    Sample,
    SampledPair,
    SampledQuery,
    SuperuserByGroup,
    System,
)

# Whoever has a backup must not be able to use open sessions. A worker enqueues lost tasks again. Staged ratings go
# before their transaction ends.
LEFT_OUT = ("ratings.Session", "django_tasks_database.DBTaskResult", "ratings.StagedRating")


@dataclass(frozen=True)
class Table:
    """What leaves of a table. Backups name rows by their ids, archives by natural keys."""

    model: type[Model]
    archive: Sequence[str]  # columns in archives of a collection
    backup: Sequence[str]  # columns in backups alone
    key: Sequence[str]  # the fields that name a row; without any it is named by the number of its line
    collection: str  # lookup of the collection whose rows go with it; "" for a table of the server
    copied: bool  # whether a copy of a collection has its rows
    judges: bool  # whether archives have its rows only with the judges
    samples: bool  # whether only archives of collections with a sample from a log have its file

    @property
    def name(self) -> str:
        return self.model._meta.label_lower

    @property
    def relations(self) -> list[Field]:
        """The columns of archives that refer to rows."""
        columns = map(self.model._meta.get_field, self.archive)
        return [column for column in columns if column.is_relation]

    @property
    def member(self) -> str:
        """Its file in an archive."""
        return f"{self.model._meta.model_name}.jsonl"


TABLES: dict[type[Model], Table] = {}


def register(
    model: type[Model],
    archive: str = "",
    *,
    backup: str = "",
    key: str = "",
    collection: str = "",
    copied: bool = False,
    judges: bool = False,
    samples: bool = False,
) -> None:
    """Describe a table, which other apps do when they are loaded. Names of columns are separated by blanks."""
    names = archive.split(), backup.split(), key.split()
    TABLES[model] = Table(model, *names, collection, copied, judges, samples)


def in_archive(*, judges: bool, samples: bool) -> list[Table]:
    """The tables of an archive. Without samples it has the members that archives had before there were any."""
    tables = [table for table in TABLES.values() if table.archive]
    return [each for each in tables if (judges or not each.judges) and (samples or not each.samples)]


def rows_to_delete(collection: Collection) -> Iterator[QuerySet]:
    """The rows of each table, in an order in which they can be deleted."""
    for table in reversed(TABLES.values()):
        if table.collection and table.model is not Collection:
            rows = table.model._base_manager.filter(**{table.collection: collection.pk})
            # The job that made the collection tells what became of it.
            yield rows.exclude(kind__in=MAKERS) if table.model is Job else rows


# Tables of a collection

OF_PAIR = "pair__query__collection"
OF_VERSION = "version__judge__collection"
ANSWER = "state value problem detail answer model tokens_in tokens_out cost seconds tries at"

register(
    Collection,
    "name description relevant_from order gold_share repeat_share break_after aim scale_version created_at",
    backup="slug version decided put_away_at",
    collection="pk",
    copied=True,
)
register(Grade, "value label meaning", backup="collection", key="value", collection="collection", copied=True)
register(
    Guidelines,
    "version text created_at",
    backup="collection",
    key="version",
    collection="collection",
    copied=True,
)
register(
    Presentation,
    "version content created_at",
    backup="collection",
    key="version",
    collection="collection",
    copied=True,
)
register(
    Query,
    "key text need tags fields weight",
    backup="collection job",
    key="key",
    collection="collection",
    copied=True,
)
register(
    Sample,
    "number former method seed size log days digest searches queries head_searches head_queries"
    " strata created_at",
    backup="collection job",
    key="number",
    collection="collection",
    copied=True,
    samples=True,
)
register(
    SampledQuery,
    "sample query place text count chance stratum left_out",
    key="sample place",
    collection="sample__collection",
    copied=True,
    samples=True,
)
register(
    Document,
    "key title body url fields",
    backup="collection job",
    key="key",
    collection="collection",
    copied=True,
)
register(
    Picture,
    "digest source named_by token state problem small large width height",
    backup="collection",
    key="digest",
    collection="collection",
    copied=True,
)
register(
    System,
    "name description created_at",
    backup="collection job",
    key="name",
    collection="collection",
    copied=True,
)
# The ids of documents are packed, the one exception to foreign keys. An archive has their keys in place of ids.
register(
    Ranking,
    "system query documents scores",
    backup="job",
    key="system query",
    collection="system__collection",
    copied=True,
)
register(
    Rater,
    "name kind weight active limit guidelines_read warmed_up_at",
    backup="collection user",
    key="name",
    collection="collection",
)
register(Rater.queries.through, "rater query", key="rater query", collection="rater__collection")
register(
    Pair,
    "query document token wanted depth born known retired_at",
    key="query document",
    collection="query__collection",
)
register(
    Round,
    "number method seed aim seen threshold precision frame judged version created_at",
    backup="collection",
    key="number",
    collection="collection",
)
register(
    Drawn,
    "round pair place kind unit key rate within born chances",
    key="pair",
    collection="round__collection",
)
register(Anchor, "pair use grade explanation created_at", key="pair", collection=OF_PAIR)
register(
    Assignment,
    "pair rater state extra depth lot",
    backup="leased_until collection query round turn",
    key="pair rater",
    collection=OF_PAIR,
)
register(
    Rating,
    "pair rater grade reason comment revision created_at changed_at",
    backup="query document",
    key="pair rater",
    collection="rater__collection",
)
register(Adjudication, "pair grade reason created_at", backup="actor", key="pair", collection=OF_PAIR)
# Imports of ratings, so that they can be undone in the collection that an archive makes.
register(
    Job,
    "files state created_at ended_at",
    backup="collection by kind options checking attempt deaths beat_at message report former started_at",
    collection="collection",
)
register(
    RatingEvent,
    "pair rater kind value reason comment undoes job scale_version guidelines_version presentation_version opened"
    " seconds shown client_key created_at",
    backup="actor",
    collection=OF_PAIR,
)
register(
    Check, "rater pair kind token event created_at", backup="turn place", key="rater pair kind", collection=OF_PAIR
)
register(Judge, "name created_at", backup="collection by", key="name", collection="collection", judges=True)
register(
    JudgeVersion,
    "judge number created_at template prompt parts scale scale_version guidelines_version presentation_version"
    " prompt_sha256 guidelines_sha256 presentation_sha256 endpoint model sampling schema structured parser seed"
    " price_in price_out fingerprint",
    backup="by",
    key="judge number",
    collection="judge__collection",
    judges=True,
)
register(
    JudgeUse,
    "judge version use created_at",
    backup="by",
    key="judge use",
    collection="judge__collection",
    judges=True,
)
register(
    JudgeRun,
    "version choice options concurrency per_minute most_calls most_cost state message pairs graded ungraded calls"
    " tokens_in tokens_out cost created_at started_at ended_at",
    backup="by attempt beat_at",
    collection=OF_VERSION,
    judges=True,
)
register(
    MachineGrade,
    f"run version query document repeat {ANSWER}",
    key="version query document repeat",
    collection=OF_VERSION,
    judges=True,
)
register(Probe, f"run version query kind {ANSWER}", key="version query kind", collection=OF_VERSION, judges=True)
register(
    JudgeSample,
    "judge drawn seed options created_at",
    backup="by",
    collection="judge__collection",
    judges=True,
)
register(
    SampledPair,
    "sample query document stratum probability",
    key="sample query document",
    collection="sample__judge__collection",
    judges=True,
)

# Tables that are in backups alone

register(LostLease, backup="pair rater act", collection=OF_PAIR)
register(FormerText, backup="job document title body url fields", collection="job__collection")
register(Deletion, backup="collection slug by deleted_at remove_at removing")
register(Membership, backup="collection user role by_group", collection="collection")
register(
    Invitation,
    backup="collection role name mailed key_hash created_by created_at expires_at accepted_by accepted_at"
    " withdrawn_at",
    collection="collection",
)
register(AuditEvent, backup="at act way account name token address collection slug about detail")
register(SuperuserByGroup, backup="user")
register(
    ApiToken,
    backup="user collection name key_hash scopes created_at expires_at revoked_at last_used_at",
    collection="collection",
)
register(Receipt, backup="user collection key digest answer created_at", collection="collection")
register(
    User,
    backup="password last_login is_superuser username first_name last_name email is_staff is_active date_joined",
)
register(User.groups.through, backup="user group")
register(User.user_permissions.through, backup="user permission")
register(Group, backup="name")
register(Group.permissions.through, backup="group permission")
register(Permission, backup="name content_type codename")
register(ContentType, backup="app_label model")
register(
    LogEntry,
    backup="action_time user content_type object_id object_repr action_flag change_message",
)
register(EmailAddress, backup="user email verified primary")
register(EmailConfirmation, backup="email_address created sent key")
register(SocialApp, backup="provider provider_id name client_id secret key settings")
register(SocialAccount, backup="user provider uid last_login date_joined extra_data")
register(SocialToken, backup="app account token token_secret expires_at")
register(Authenticator, backup="user type data created_at last_used_at")
