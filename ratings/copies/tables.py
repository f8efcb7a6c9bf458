"""One description of all tables: their natural keys, and which columns are in archives.

A column is in no archive until it is named here, so that no secret leaks. A backup has all columns of all tables
that LEFT_OUT does not name. Rows refer only to tables before their own, and to rows of their own. `evaluation`
registers its tables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet

from ..models import (
    MAKERS,
    Adjudication,
    Anchor,
    ApiToken,
    Assignment,
    Baseline,
    Check,
    Collection,
    Delivery,
    Document,
    Drawn,
    Engine,
    EngineAnswer,
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
    Notice,
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
    Receiver,
    Round,
    Sample,
    SampledPair,
    SampledQuery,
    System,
)

# Whoever has a backup must not be able to use open sessions. A worker enqueues lost tasks again. Staged ratings go
# before their transaction ends.
LEFT_OUT = ("ratings.Session", "django_tasks_database.DBTaskResult", "ratings.StagedRating")


@dataclass(frozen=True)
class Table:
    """What an archive has of a table of a collection. It names rows by natural keys, and backups by their ids."""

    model: type[Model]
    archive: Sequence[str]  # columns in archives; none for a table that only backups have
    key: Sequence[str]  # the fields that name a row; without any it is named by the number of its line
    collection: str = "collection"  # lookup of the collection whose rows go with it
    copied: bool = False  # whether a copy of a collection has its rows
    judges: bool = False  # whether archives have its rows only with the judges
    samples: bool = False  # whether only archives of collections with a sample from a log have its file

    @property
    def member(self) -> str:
        """Its file in an archive."""
        return f"{self.model._meta.model_name}.jsonl"


TABLES: dict[type[Model], Table] = {}


def register(model: type[Model], archive: str = "", key: str = "", **facts: Any) -> None:
    """Describe a table, which other apps do when they are loaded. `facts`: other fields of Table.

    Names of columns are separated by blanks.
    """
    TABLES[model] = Table(model, archive.split(), key.split(), **facts)


def in_archive(*, judges: bool, samples: bool) -> list[Table]:
    """The tables of an archive. Without samples it has the members that archives had before there were any."""
    tables = [table for table in TABLES.values() if table.archive]
    return [each for each in tables if (judges or not each.judges) and (samples or not each.samples)]


def rows_to_delete(collection: Collection) -> Iterator[QuerySet]:
    """The rows of each table, in an order in which they can be deleted."""
    for table in reversed(TABLES.values()):
        if table.model is not Collection:
            rows = table.model._base_manager.filter(**{table.collection: collection.pk})
            # The job that made the collection tells what became of it.
            yield rows.exclude(kind__in=MAKERS) if table.model is Job else rows


# Tables of a collection

OF_PAIR = "pair__query__collection"
OF_VERSION = "version__judge__collection"
ANSWER = "state value problem detail answer model tokens_in tokens_out cost seconds tries at"

register(
    Collection,
    "name description relevant_from order gold_share repeat_share break_after aim default_options scale_version"
    " created_at",
    collection="pk",
    copied=True,
)
register(Grade, "value label meaning", key="value", copied=True)
register(Guidelines, "version text created_at", key="version", copied=True)
register(Presentation, "version content created_at", key="version", copied=True)
register(Query, "key text need tags fields weight", key="key", copied=True)
register(
    Sample,
    "number former method seed size log days digest searches queries head_searches head_queries strata created_at",
    key="number",
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
register(Document, "key title body url fields", key="key", copied=True)
register(Picture, "digest source named_by token state problem small large width height", key="digest", copied=True)
register(System, "name description created_at gaps", key="name", copied=True)
# The ids of documents are packed, the one exception to foreign keys. An archive has their keys in place of ids.
register(
    Ranking, "system query documents scores", key="system query", collection="system__collection", copied=True
)
register(Rater, "name kind weight active left_out_at limit guidelines_read warmed_up_at", key="name")
register(Rater.queries.through, "rater query", key="rater query", collection="rater__collection")
register(
    Pair,
    "query document token wanted depth born known retired_at",
    key="query document",
    collection="query__collection",
)
register(Round, "number method seed aim seen threshold precision frame judged version created_at", key="number")
register(
    Drawn, "round pair place kind unit key rate within born chances", key="pair", collection="round__collection"
)
register(Anchor, "pair use grade explanation created_at", key="pair", collection=OF_PAIR)
register(Assignment, "pair rater state extra depth lot", key="pair rater", collection=OF_PAIR)
register(
    Rating,
    "pair rater grade reason comment revision created_at changed_at set_aside_at",
    key="pair rater",
    collection="rater__collection",
)
register(Adjudication, "pair grade reason created_at", key="pair", collection=OF_PAIR)
# Imports of ratings, so that they can be undone in the collection that an archive makes.
register(Job, "files state created_at ended_at")
register(
    RatingEvent,
    "pair rater kind value reason comment undoes job scale_version guidelines_version presentation_version opened"
    " seconds shown client_key created_at",
    collection=OF_PAIR,
)
register(Check, "rater pair kind token event created_at", key="rater pair kind", collection=OF_PAIR)
register(Judge, "name created_at", key="name", judges=True)
register(
    JudgeVersion,
    "judge number created_at template prompt parts scale scale_version guidelines_version presentation_version"
    " prompt_sha256 guidelines_sha256 presentation_sha256 endpoint model sampling schema structured parser seed"
    " price_in price_out fingerprint",
    key="judge number",
    collection="judge__collection",
    judges=True,
)
register(JudgeUse, "judge version use created_at", key="judge use", collection="judge__collection", judges=True)
register(
    JudgeRun,
    "version choice options concurrency per_minute most_calls most_cost state message pairs graded ungraded calls"
    " tokens_in tokens_out cost created_at started_at ended_at",
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
register(JudgeSample, "judge drawn seed options created_at", collection="judge__collection", judges=True)
register(
    SampledPair,
    "sample query document stratum probability",
    key="sample query document",
    collection="sample__judge__collection",
    judges=True,
)

# Tables of a collection that only backups have

register(Baseline)
register(Engine)
register(EngineAnswer, collection="job__collection")
register(Notice)
register(Receiver)
register(Delivery, collection="receiver__collection")
register(LostLease, collection=OF_PAIR)
register(FormerText, collection="job__collection")
register(Membership)
register(Invitation)
register(ApiToken)
register(Receipt)
