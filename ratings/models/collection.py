"""A test collection: its scale, its guidelines, its people."""

from decimal import Decimal
from functools import cached_property
from typing import Self

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse

from .constraints import known_value


class Role(models.TextChoices):
    RATER = "rater", "rater"
    ANALYST = "analyst", "analyst"
    ADMIN = "admin", "admin"


# Fields that acts change by an update of their own: a save of the whole row could bring old values back, and with
# the slug a deleted collection.
FIELDS_OF_ACTS = ("version", "decided", "slug", "put_away_at")


class CollectionQuerySet(models.QuerySet):
    def visible_to(self, user, *roles: str) -> "CollectionQuerySet":
        """Collections where `user` has one of `roles`; any role, if none is named. Superusers are admins."""
        if not user.is_authenticated or not user.is_active:
            return self.none()
        if user.is_superuser:
            return self if not roles or Role.ADMIN in roles else self.none()
        memberships = Membership.objects.filter(user=user)
        if roles:
            memberships = memberships.filter(role__in=roles)
        return self.filter(pk__in=memberships.values("collection"))

    def with_left_out(self) -> "CollectionQuerySet":
        """The collections with `left_out` read in the same query."""
        left_out = Rater.objects.filter(collection=OuterRef("pk"), left_out_at__isnull=False).order_by()
        count = left_out.values("collection").annotate(n=Count("pk")).values("n")
        return self.annotate(left_out=Coalesce(Subquery(count), 0))


class VisibleManager(models.Manager.from_queryset(CollectionQuerySet)):
    """Leaves out collections without a slug: deleted ones, and those that are still being written."""

    def get_queryset(self) -> CollectionQuerySet:
        return super().get_queryset().filter(slug__isnull=False)


class Collection(models.Model):
    class Order(models.TextChoices):
        QUERY = "query", "query by query, in random order"
        DEPTH = "depth", "best ranked first"
        RANDOM = "random", "at random"
        DECISIVE = "decisive", "most useful first"

    # None while an import of an archive writes it, and once it is deleted: nobody sees it.
    slug = models.SlugField(max_length=80, unique=True, null=True, help_text="The name in addresses and commands.")
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    relevant_from = models.DecimalField(
        max_digits=15,
        decimal_places=9,
        default=Decimal(1),
        help_text="The lowest grade that counts as relevant for P, R, AP and RR.",
    )
    order = models.CharField(
        "order of rating",
        max_length=10,
        choices=Order.choices,
        default=Order.QUERY,
        help_text="In which order raters get documents. With the best first they can guess what ranks high.",
    )
    # What the decisive order is about: {"measure", "profile", "options", "rule", "adjudications", "systems"}.
    # Empty: nothing was chosen yet. The record stores it and does not read it.
    aim = models.JSONField(default=dict, blank=True, editable=False)
    # The measure and options that hold where nothing is asked, as text by the names of an address. Empty: the
    # usual ones. The record stores them and does not read them.
    default_options = models.JSONField(default=dict, blank=True, editable=False)
    gold_share = models.DecimalField(
        "share of gold pairs",
        max_digits=3,
        decimal_places=2,
        default=Decimal(0),
        validators=[MinValueValidator(0), MaxValueValidator(Decimal("0.5"))],
        help_text="Share of gold in a rater's work: 0.1 is one pair in ten.",
    )
    repeat_share = models.DecimalField(
        "share of repeats",
        max_digits=3,
        decimal_places=2,
        default=Decimal(0),
        validators=[MinValueValidator(0), MaxValueValidator(Decimal("0.5"))],
        help_text="Share of a rater's work that they graded before. It shows whether they agree with themselves.",
    )
    break_after = models.PositiveSmallIntegerField(
        "offer a break after",
        default=50,
        help_text="After how many ratings in a row a rater is offered a break. 0: never.",
    )
    reminds = models.BooleanField(
        "mail raters when work waits",
        default=False,
        help_text="At most one a day, and one a week to somebody who does nothing. Each has a link to end them.",
    )
    scale_version = models.PositiveIntegerField(default=1, editable=False)
    # Rises with every change of the record, except for single acts of raters and decisions, which are found by
    # their events: evaluation.record.versions.
    version = models.PositiveBigIntegerField(default=0, editable=False)
    # The id of the event of the latest decision: pool.adjudication.
    decided = models.PositiveBigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # If set, nobody rates in it and nothing is imported; its numbers can be read.
    put_away_at = models.DateTimeField(null=True, editable=False)

    role: str  # of the user who asks; set by `people.access.collection_for`

    objects = VisibleManager()
    written = CollectionQuerySet.as_manager()  # includes those without a slug

    class Meta:
        ordering = ["name"]
        constraints = [
            known_value("order", ["query", "depth", "random", "decisive"], "order_is_known"),
            models.CheckConstraint(
                condition=Q(gold_share__gte=0, gold_share__lte=Decimal("0.5"))
                & Q(repeat_share__gte=0, repeat_share__lte=Decimal("0.5")),
                name="shares_are_from_0_to_a_half",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args, **kwargs) -> None:
        """Save the row. An update leaves out FIELDS_OF_ACTS: others may have changed them since it was read."""
        if not self._state.adding and kwargs.get("update_fields") is None:
            fields = (field.name for field in self._meta.concrete_fields if not field.primary_key)
            kwargs["update_fields"] = [name for name in fields if not name.startswith(FIELDS_OF_ACTS)]
        super().save(*args, **kwargs)

    def get_absolute_url(self) -> str:
        return reverse("overview", args=[self.slug])

    def role_of(self, user) -> str:
        """The user's role; superusers are admins. Raises Membership.DoesNotExist for others. One query."""
        if user.is_superuser:
            return Role.ADMIN
        return self.memberships.get(user=user).role

    @cached_property
    def left_out(self) -> int:
        """How many raters are left out, so that none of their ratings counts. One query."""
        return self.raters.exclude(left_out_at=None).count()

    def touch(self) -> None:
        """Raise the version, after a change of more than one judgment.

        It locks the row: call it last in a transaction.
        """
        Collection.objects.filter(pk=self.pk).update(version=F("version") + 1)

    def latest_guidelines(self) -> "Guidelines | None":
        return self.guidelines.order_by("-version").first()

    def latest_presentation(self) -> "Presentation | None":
        return self.presentations.order_by("-version").first()


class DeletionQuerySet(models.QuerySet):
    def of_admin(self, user) -> "DeletionQuerySet":
        """Deletions that the user may undo: those of collections whose admin they are, or all for a superuser."""
        rows = self.select_related("collection", "by")
        if user.is_superuser:
            return rows
        admin = Membership.objects.filter(user=user, role=Role.ADMIN)
        return rows.filter(collection__in=admin.values("collection"))


class Deletion(models.Model):
    """A deleted collection: who deleted it, and until when it can be restored.

    `ratings.collection.deleting` writes this table.
    """

    collection = models.OneToOneField(Collection, models.CASCADE, related_name="deletion")
    slug = models.SlugField(max_length=80, help_text="What it had as its name in addresses.")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    deleted_at = models.DateTimeField()
    remove_at = models.DateTimeField()
    removing = models.BooleanField(default=False, help_text="A worker removes its rows: it cannot be restored.")

    objects = DeletionQuerySet.as_manager()

    class Meta:
        ordering = ["-deleted_at", "-pk"]


class Grade(models.Model):
    """One step of a collection's scale."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="grades")
    value = models.DecimalField(max_digits=15, decimal_places=9)
    label = models.CharField(max_length=60, blank=True)
    meaning = models.TextField(blank=True)

    class Meta:
        ordering = ["value"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "value"],
                name="one_grade_per_value",
                violation_error_message="The scale has this value already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.short} {self.label}".strip()

    @property
    def short(self) -> str:
        return short_value(self.value)

    @property
    def plain(self) -> str:
        return plain_value(self.value)


def plain_value(value: Decimal) -> str:
    """The value with a hyphen as minus, for files and programs: -1, 0, 0.5."""
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def short_value(value: Decimal) -> str:
    """The value with a minus sign, for pages: −1, 0, 0.5."""
    return plain_value(value).replace("-", "−")


class Guidelines(models.Model):
    """One version of the guidelines. A new text is a new version; versions are never changed."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    text = models.TextField(help_text="Markdown.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "guidelines"
        ordering = ["-version"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "version"], name="one_guidelines_per_version")
        ]

    def __str__(self) -> str:
        return f"version {self.version}"


class Presentation(models.Model):
    """One version of how documents and queries are shown. Versions are never changed."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="presentations")
    version = models.PositiveIntegerField()
    # {"document": [part, …], "query": [part, …]}: presentation.parts.Part.
    content = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-version"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "version"], name="one_presentation_per_version")
        ]

    def __str__(self) -> str:
        return f"version {self.version}"


class Membership(models.Model):
    """A person's only role in a collection. A second one could show results to a rater."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    by_group = models.BooleanField(
        default=False, help_text="Given by a group of the sign-in provider, and taken back with it."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "user"],
                name="one_role_per_person",
                violation_error_message="This person has a role in the collection already.",
            ),
            known_value("role", Role.values, "role_is_known"),
        ]

    def save(self, *args, **kwargs) -> None:
        """Save the role. A new rater also gets a `Rater`, so that they can rate at once."""
        super().save(*args, **kwargs)
        if self.role != Role.RATER or self.collection.raters.filter(user=self.user).exists():
            return
        name = self.user.get_full_name() or self.user.get_username()
        if self.collection.raters.filter(name=name).exists():
            name = f"{name} (account {self.user.pk})"
        Rater.objects.create(collection=self.collection, user=self.user, name=name)


class Invitation(models.Model):
    """A link by which one person can join a collection once. Only its hash is stored."""

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.RATER)
    name = models.CharField(max_length=150, help_text="Whom it is for: a name or an address, for the list only.")
    # Sent to the address in its name and shown to nobody else, so whoever has the link owns the address.
    mailed = models.BooleanField(default=False, editable=False)
    # Of the mail. The page of the link is in that of the browser.
    language = models.CharField(max_length=10, default=settings.LANGUAGE_CODE)
    key_hash = models.CharField(max_length=64, unique=True, editable=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    accepted_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            known_value("role", Role.values, "invitation_role_is_known"),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(withdrawn_at__isnull=True),
                name="accepted_or_withdrawn",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.role}"


class RaterQuerySet(models.QuerySet):
    """Who may open the desk, and who can rate now. Every part of Idealist asks here."""

    def members(self) -> Self:
        """Those who may open the desk, and whose ratings are saved: see `_is_member`."""
        return self.filter(_is_member())

    def able(self) -> Self:
        """Those who can rate now, so that they get pairs: members whom no admin has deactivated or left out."""
        return self.members().filter(active=True, left_out_at=None)

    def counted(self) -> Self:
        """Those whose ratings count."""
        return self.filter(left_out_at=None)

    def with_able(self) -> Self:
        """The raters with `is_able`: whether they are among the `able`.

        Of a row that is locked, `active` is read after the wait for the lock.
        """
        able = ExpressionWrapper(Q(_is_member(), active=True, left_out_at=None), BooleanField())
        return self.annotate(is_able=able)

    def with_versions(self) -> Self:
        """The raters with their collections, and `guidelines_now` and `presentation_now`: the latest versions."""
        of_rater = Q(collection=OuterRef("collection"))
        latest = {
            name: Subquery(model.objects.filter(of_rater).order_by("-version").values("version")[:1])
            for name, model in (("guidelines_now", Guidelines), ("presentation_now", Presentation))
        }
        return self.annotate(**latest).select_related("collection")


def _is_member() -> Exists:
    """Whether the account of the outer rater has the role of a rater, is open, and is no superuser's.

    Superusers are admins of every collection, and whoever sees results must not rate.
    """
    account = {"user__is_active": True, "user__is_superuser": False}
    rates = {"collection": OuterRef("collection"), "user": OuterRef("user"), "role": Role.RATER}
    return Exists(Membership.objects.filter(**rates, **account))


class Rater(models.Model):
    """A person or an imported name whose ratings a collection has. Machines that grade are judges: `Judge`."""

    # The latest versions of the guidelines and of the presentation; set by `with_versions`.
    guidelines_now: int | None
    presentation_now: int | None

    class Kind(models.TextChoices):
        PERSON = "person", "person"
        IMPORTED = "imported", "imported"

    collection = models.ForeignKey(Collection, models.CASCADE, related_name="raters")
    name = models.CharField(max_length=150)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, blank=True, related_name="raters"
    )
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.PERSON)
    # Decimal, so that a weighted mean is exact: three weights of 0.1 give the same as three of 1.
    weight = models.DecimalField(
        max_digits=7,
        decimal_places=3,
        default=Decimal(1),
        validators=[MinValueValidator(0)],
        help_text="The weight of this rater's grades in judgments by the weighted mean. At 0 they do not count.",
    )
    active = models.BooleanField(
        default=True, help_text="A rater who is not active gets nothing to rate. What they rated stays and counts."
    )
    # If set, none of their ratings counts, and they get nothing to rate: pool.leaving_out.
    left_out_at = models.DateTimeField(null=True, blank=True, editable=False)
    limit = models.PositiveIntegerField(
        null=True, blank=True, help_text="How many pairs this rater may rate at most. Empty: no limit."
    )
    queries = models.ManyToManyField(
        "ratings.Query", blank=True, related_name="+", help_text="Rates only these queries. Empty: all."
    )
    # The latest version of the guidelines that they opened. Later changes are marked for them.
    guidelines_read = models.PositiveIntegerField(default=0, editable=False)
    warmed_up_at = models.DateTimeField(null=True, editable=False)
    reminded_at = models.DateTimeField(null=True, editable=False)
    no_mail = models.BooleanField(
        default=False, editable=False, help_text="They want no mail about work that waits."
    )

    is_able: bool  # set by `with_able`
    restricted: bool  # whether they rate only some queries; these are set by `desk.queue`
    acts: int
    last_query: int | None
    n_graded: int
    n_ratings: int
    n_repeats: int
    n_leased: int

    objects = RaterQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "name"],
                name="one_rater_per_name",
                violation_error_message="The collection has a rater of this name already.",
            ),
            models.UniqueConstraint(fields=["collection", "user"], name="one_rater_per_person"),
            known_value("kind", ["person", "imported"], "kind_is_known"),
            models.CheckConstraint(condition=Q(weight__gte=0), name="rater_weight_is_not_negative"),
        ]

    def __str__(self) -> str:
        return self.name


# A key is an opaque string without characters that would break a line of a file.
key_validator = RegexValidator(r"^[^\s\x00-\x1f\x7f]+$", "A key has no blanks and no control characters.")
