"""Pairs, their assignments, ratings, adjudications, and the events of all of them.

Only `ratings.desk.queue` writes these tables; `ratings.pool.adjudication` writes adjudications and their events.
"""

import random
from datetime import datetime
from typing import Self
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils.translation import gettext_lazy

from .append_only import AppendOnly, AppendOnlyQuerySet
from .collection import Collection, Grade, Rater
from .content import Document, Query
from .job import Job, import_of


class Reason(models.TextChoices):
    """Why a pair could not be judged."""

    BROKEN = "broken", gettext_lazy("The text is missing or broken")
    LANGUAGE = "language", gettext_lazy("I do not read this language")
    KNOWLEDGE = "knowledge", gettext_lazy("I do not know the subject")
    UNCLEAR = "unclear", gettext_lazy("The query is unclear")
    OTHER = "other", gettext_lazy("Another reason")
    PICTURE = "picture", gettext_lazy("The picture is missing")


class Shown(models.TextChoices):
    """How a document was shown when it was rated."""

    ALONE = "one", "alone"
    LIST = "list", "in a list"


UNDRAWN = 2**31 - 1  # the round of an assignment whose pair is in none: after all rounds
UNRANKED = 2**31 - 1  # the depth of a document that no system of the pool ranks: greater than any rank


class Pair(models.Model):
    """One (query, document) that wants ratings. The pool is all pairs of a collection."""

    query = models.ForeignKey(Query, models.CASCADE, db_index=False, related_name="pairs")
    document = models.ForeignKey(Document, models.RESTRICT, related_name="pairs")
    # The id in addresses that raters see: random, so that it reveals neither rank nor order of import.
    token = models.UUIDField(default=uuid4, unique=True, editable=False)
    wanted = models.PositiveSmallIntegerField(default=0, help_text="How many grades this pair should get.")
    # The depth of its assignments, kept for when it is retired and has none.
    depth = models.PositiveIntegerField(default=UNRANKED, editable=False)
    # How many rounds there were when the pair came to the pool, or came back: only later ones could draw it.
    born = models.PositiveIntegerField(default=0, editable=False)
    # For a pair that was judged outside rounds: how many rounds there were before. None for all other pairs, and
    # until the next round is stored.
    known = models.PositiveIntegerField(null=True, editable=False)
    # If set, nobody gets the pair any more and no pool wants it again. Its ratings stay and count.
    retired_at = models.DateTimeField(null=True, blank=True, editable=False)

    own_rating: int | None  # of a rater; these are set by `desk.queue.tasks.with_own`
    last_comment: str | None

    class Meta:
        constraints = [models.UniqueConstraint(fields=["query", "document"], name="one_pair")]

    def __str__(self) -> str:
        return f"{self.query.key} and {self.document.key}"


LOTS = 2**31 - 1  # how many lots there are to draw from

# Without `state`: SQLite uses a partial index only where the query has its condition literally, and Django would
# pass the state as a parameter.
WAITING = Q(rater__isnull=True) | Q(leased_until__isnull=False)
# Always true. SQLite uses a partial index only for queries that have its condition. Queries without this one are
# planned better without the index.
HAS_ROUND = Q(round__isnull=False)


def drawn_lot() -> int:
    return random.randrange(LOTS)


class AssignmentQuerySet(models.QuerySet):
    def waiting(self) -> "AssignmentQuerySet":
        """The assignments that are open or leased, which the partial indexes contain."""
        return self.filter(WAITING)


class Assignment(models.Model):
    """One wanted rating of one pair. A pair has as many rows as ratings are wanted."""

    class State(models.TextChoices):
        OPEN = "open", "open"
        LEASED = "leased", "leased"
        DONE = "done", "done"

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="assignments")
    rater = models.ForeignKey(
        Rater, models.RESTRICT, null=True, blank=True, db_index=False, related_name="assignments"
    )
    state = models.CharField(max_length=6, choices=State.choices, default=State.OPEN)
    leased_until = models.DateTimeField(null=True, blank=True)
    extra = models.BooleanField(default=False, help_text="Beyond the number wanted: a gold pair for this rater.")
    # Copied from the pair, so that one index leads to the next assignment. They are deleted with the pair.
    collection = models.ForeignKey(
        Collection, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    query = models.ForeignKey(Query, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    depth = models.PositiveIntegerField(
        default=UNRANKED, help_text="The best place that a system of the pool gives the document."
    )
    lot = models.PositiveIntegerField(
        default=drawn_lot, help_text="Drawn once: the order of pairs that are otherwise equal."
    )
    # The round of its pair, copied for the index. If the pair could not be drawn, the round with which raters get
    # it. Of an extra assignment: before which of the rater's wanted pairs it came; 0: none (queue.mixing).
    round = models.PositiveIntegerField(default=UNDRAWN, editable=False)
    # While it is leased: its position among the tasks of its rater.
    turn = models.IntegerField(default=0, editable=False)

    own_rating: int | None  # of a rater; these are set by `desk.queue.tasks.with_own`
    last_comment: str | None
    retired: datetime | None  # when its pair was retired; these are set by `desk.queue.leases.to_give_back`
    has_surplus: bool

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["collection", "round", "lot"], condition=WAITING & HAS_ROUND, name="assignment_by_lot"
            ),
            models.Index(fields=["query", "lot"], condition=WAITING, name="assignment_by_query"),
            models.Index(fields=["collection", "depth", "lot"], condition=WAITING, name="assignment_by_depth"),
            models.Index(
                fields=["collection", "round", "query", "lot"],
                condition=WAITING & HAS_ROUND,
                name="assignment_by_round",
            ),
            models.Index(
                fields=["collection", "leased_until"],
                condition=Q(leased_until__isnull=False),
                name="assignment_leased",
            ),
            models.Index(fields=["rater", "state"], condition=Q(rater__isnull=False), name="assignment_of_rater"),
            models.Index(fields=["collection", "state"], condition=Q(extra=True), name="assignment_extra"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["pair", "rater"], condition=Q(rater__isnull=False), name="one_assignment_per_rater"
            ),
            models.CheckConstraint(
                condition=Q(state="open", rater__isnull=True, leased_until__isnull=True)
                | Q(state="leased", rater__isnull=False, leased_until__isnull=False)
                | Q(state="done", rater__isnull=False, leased_until__isnull=True),
                name="assignment_state_is_whole",
            ),
            models.CheckConstraint(
                condition=Q(extra=False) | Q(rater__isnull=False), name="extra_assignment_has_a_rater"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pair}, {self.state}"


class LostLease(models.Model):
    """A pair that a rater held and lost or gave back. What they still send for it is kept."""

    pair = models.ForeignKey(Pair, models.CASCADE, related_name="+")
    rater = models.ForeignKey(Rater, models.CASCADE, db_index=False, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rater", "pair"], name="one_lost_lease")]

    def __str__(self) -> str:
        return f"{self.pair}, lost by {self.rater}"


class RatingQuerySet(models.QuerySet):
    def counted(self) -> Self:
        """The ratings that count: not those of raters who are left out, nor those that are set aside.

        Numbers and exports read only these.
        """
        return self.filter(rater__left_out_at=None, set_aside_at=None)


class Rating(models.Model):
    """The present rating of a pair by one rater: a grade, or a reason why it cannot be judged."""

    pair = models.ForeignKey(Pair, models.CASCADE, db_index=False, related_name="ratings")
    rater = models.ForeignKey(Rater, models.RESTRICT, related_name="ratings")
    grade = models.ForeignKey(Grade, models.RESTRICT, null=True, blank=True, related_name="ratings")
    reason = models.CharField(max_length=10, choices=Reason.choices, blank=True)
    comment = models.TextField(blank=True)
    # The form sends the revision that it showed, so that an old tab cannot overwrite a newer grade.
    revision = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    # If set, other raters are asked for the pair in place of this one, whose rating does not count.
    set_aside_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Copied from the pair: an evaluation reads all ratings, and the join would take most of its time. They are
    # deleted with the pair.
    query = models.ForeignKey(
        Query, models.DO_NOTHING, db_constraint=False, db_index=False, editable=False, related_name="+"
    )
    document = models.ForeignKey(
        Document, models.DO_NOTHING, db_constraint=False, db_index=False, editable=False, related_name="+"
    )

    objects = RatingQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pair", "rater"], name="one_rating_per_rater"),
            models.CheckConstraint(
                condition=Q(grade__isnull=False, reason="") | Q(grade__isnull=True, reason__in=Reason.values),
                name="grade_or_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.pair}: {self.grade or self.get_reason_display()}"

    def save(self, *args, **kwargs) -> None:
        """Copy query and document from the pair. Bulk inserts have to set them."""
        self.query_id, self.document_id = self.pair.query_id, self.pair.document_id
        super().save(*args, **kwargs)


class StagedRating(models.Model):
    """A rating of an import. Rows are here only within its transaction, before SQL makes ratings of them."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="staged_ratings")
    rater = models.CharField(max_length=150)  # by name: a new one is made with the ratings
    query = models.ForeignKey(Query, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    document = models.ForeignKey(
        Document, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    token = models.UUIDField(default=uuid4)  # of the pair, if there is none yet
    value = models.DecimalField(max_digits=15, decimal_places=9, null=True)
    reason = models.CharField(max_length=10)
    comment = models.TextField()
    seconds = models.FloatField(null=True)
    rated_at = models.DateTimeField(null=True)
    # The rating that it changes, and the revision that was read. None: it is new.
    rating = models.ForeignKey(
        Rating, models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="+"
    )
    revision = models.PositiveIntegerField(null=True)


class Adjudication(models.Model):
    """The grade that an admin decided for a pair. It overrules the ratings and changes none of them."""

    pair = models.OneToOneField(Pair, models.CASCADE, related_name="adjudication")
    grade = models.ForeignKey(Grade, models.RESTRICT, related_name="adjudications")
    reason = models.TextField(blank=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.pair}: {self.grade}"


class RatingEventQuerySet(AppendOnlyQuerySet):
    def standing(self) -> Self:
        """Those that are not undone.

        By a subquery: for a join, after an ANALYZE, SQLite indexes the events of all collections in each
        statement.
        """
        return self.filter(~Exists(RatingEvent.objects.filter(undoes=OuterRef("pk"))))

    def of_work(self) -> Self:
        """Without what admins did: they asked again for ratings, and let those count again."""
        kinds = RatingEvent.Kind
        by_another = Q(actor__isnull=False, rater__user__isnull=False) & ~Q(actor=F("rater__user"))
        # Of a rater without an account, only imports are work that has an actor.
        for_nobody = Q(actor__isnull=False, rater__user__isnull=True) & ~Q(kind=kinds.IMPORT)
        return self.exclude(kind=kinds.ASK_AGAIN).exclude(by_another).exclude(for_nobody)

    def forget_person(self, *, comments: bool = False) -> int:
        """The number of rows that lost their actor and, with `comments`, their comments. Grades and times stay."""
        forgotten = {"actor": None, "comment": ""} if comments else {"actor": None}
        return self.permitted_update(**forgotten)


class RatingEvent(AppendOnly):
    """One act on ratings. Append-only: the present ratings can be rebuilt from the events."""

    class Kind(models.TextChoices):
        GRADE = "grade", "graded"
        CANNOT = "cannot", "could not judge"
        SKIP = "skip", "put off"
        UNDO = "undo", "undid"
        IMPORT = "import", "imported"
        ADJUDICATE = "adjudicate", "adjudicated"
        WARM_UP = "warm_up", "warmed up"
        REPEAT = "repeat", "graded again"
        ASK_AGAIN = "ask_again", "asked again"  # an admin, for what the event that it undoes had said

    pair = models.ForeignKey(Pair, models.CASCADE, db_index=False, related_name="events")
    # None for an adjudication or its withdrawal.
    rater = models.ForeignKey(Rater, models.RESTRICT, null=True, db_index=False, related_name="events")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    # The number and not the row of the scale, which may change later.
    value = models.DecimalField(max_digits=15, decimal_places=9, null=True)
    reason = models.CharField(max_length=10, choices=Reason.choices, blank=True)
    comment = models.TextField(blank=True)
    undoes = models.OneToOneField("self", models.RESTRICT, null=True, related_name="undone_by")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    scale_version = models.PositiveIntegerField()
    guidelines_version = models.PositiveIntegerField(default=0)
    presentation_version = models.PositiveIntegerField(default=0, help_text="How the document was shown.")
    opened = models.BooleanField(default=False, help_text="Whether the rater opened a link of the document.")
    seconds = models.FloatField(null=True, help_text="Time spent on the pair.")
    shown = models.CharField(
        max_length=4,
        choices=Shown.choices,
        blank=True,
        help_text="How the document was shown: alone or in a list.",
    )
    client_key = models.UUIDField(
        null=True, help_text="Made by the client: a retry has the same key and is the same act."
    )
    job = import_of("events", db_index=False)
    created_at = models.DateTimeField()

    objects = RatingEventQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]
        indexes = [
            models.Index(fields=["rater", "-id"], name="event_latest_of_rater"),
            models.Index(fields=["pair", "rater"], name="event_of_rater_on_pair"),
            models.Index(fields=["job"], condition=Q(job__isnull=False), name="event_of_import"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["rater", "client_key"], name="one_event_per_client_key"),
            models.CheckConstraint(
                condition=Q(seconds__isnull=True) | Q(seconds__gte=0), name="seconds_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["undo", "ask_again"], undoes__isnull=False)
                | (~Q(kind__in=["undo", "ask_again"]) & Q(undoes__isnull=True)),
                name="an_undo_undoes_one_event",
            ),
            models.CheckConstraint(
                condition=Q(rater__isnull=False) | Q(kind__in=["adjudicate", "undo"]), name="event_has_a_rater"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rater or self.actor or 'somebody'} {self.get_kind_display()} {self.pair}"
