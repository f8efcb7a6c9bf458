"""Django's admin of the record.

Ratings, assignments, rounds, adjudications and events are only shown: `ratings.queue` and
`ratings.pool.adjudication` write them. Rankings are written by imports.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from operator import attrgetter

from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db import models, transaction
from django.db.models import Model, QuerySet
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode

from .audit import Act, note
from .models import (
    Adjudication,
    Anchor,
    Assignment,
    Check,
    Collection,
    Document,
    Drawn,
    Guidelines,
    Invitation,
    LostLease,
    Membership,
    Pair,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    Role,
    Round,
    System,
    plain_value,
)
from .people import members

# The admin would show the secrets of second factors, and could add providers and unverified addresses.
for of_allauth in (Authenticator, EmailAddress, EmailConfirmation, SocialAccount, SocialApp, SocialToken):
    if admin.site.is_registered(of_allauth):
        admin.site.unregister(of_allauth)

admin.site.unregister([User, Group])  # Django registers them without `Audited`
admin.site.site_header = admin.site.site_title = "Idealist"
admin.site.index_title = "The record"

SHOWN_DOCUMENTS = 200


def is_admin(request) -> bool:
    """Whether the user is an admin of a collection. Every model of every page of the admin asks for it."""
    if not hasattr(request, "is_admin_of_one"):
        request.is_admin_of_one = Collection.objects.visible_to(request.user, Role.ADMIN).exists()
    return request.is_admin_of_one


class Audited:
    """An admin whose acts are noted, each in its transaction."""

    def log_addition(self, request, obj: Model, message):
        self.note(obj, "added", message)
        return super().log_addition(request, obj, message)

    def log_change(self, request, obj: Model, message):
        self.note(obj, "changed", message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request, queryset: QuerySet):
        for obj in queryset:
            self.note(obj, "deleted", [])
        return super().log_deletions(request, queryset)

    def note(self, obj: Model, did: str, message) -> None:
        collection = obj if isinstance(obj, Collection) else getattr(obj, "collection", None)
        note(Act.ADMIN, collection, about=f"{obj._meta.verbose_name} {obj}", did=did, changes=message)


@admin.register(User)
class AuditedUserAdmin(Audited, UserAdmin):
    def save_model(self, request, obj: User, form, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and (obj.is_superuser or not obj.is_active):
            members.give_back_all(obj)


@admin.register(Group)
class AuditedGroupAdmin(Audited, GroupAdmin):
    pass


class Scoped(Audited):
    """An admin that is limited to the collections of which the user is an admin.

    A collection that is put away is only shown: its record must not change. Its pages refuse that by `record_act`.
    """

    path_to_collection = "collection"
    saves_collection_first = False  # whether a save locks the collection before its own row

    def get_queryset(self, request) -> QuerySet:
        mine = Collection.objects.visible_to(request.user, Role.ADMIN)
        return super().get_queryset(request).filter(**{f"{self.path_to_collection}__in": mine})

    def has_module_permission(self, request) -> bool:
        return request.user.is_staff and is_admin(request)

    def has_view_permission(self, request, obj: Model | None = None) -> bool:
        return self.has_module_permission(request) and (
            obj is None or self.get_queryset(request).filter(pk=obj.pk).exists()
        )

    def has_change_permission(self, request, obj: Model | None = None) -> bool:
        return self.has_view_permission(request, obj) and (
            obj is None or not any(collection.put_away_at for collection in self.collections_of([obj]))
        )

    has_delete_permission = has_change_permission

    def has_add_permission(self, request, obj: Model | None = None) -> bool:
        return self.has_module_permission(request)

    def get_readonly_fields(self, request, obj: Model | None = None) -> list[str]:
        # In another collection, a query or document would no longer fit its rankings and ratings.
        fixed = ["collection"] if obj and self.path_to_collection == "collection" else []
        return [*super().get_readonly_fields(request, obj), *fixed]

    def save_model(self, request, obj: Model, form, change: bool) -> None:
        with self.changing([obj], collection_first=self.saves_collection_first):
            super().save_model(request, obj, form, change)

    def delete_model(self, request, obj: Model) -> None:
        with self.changing([obj]):
            super().delete_model(request, obj)

    def delete_queryset(self, request, queryset: QuerySet) -> None:
        with self.changing(queryset):
            super().delete_queryset(request, queryset)

    @contextmanager
    def changing(self, objects: Iterable[Model], collection_first: bool = False) -> Iterator[None]:
        """A context that raises the versions of the collections, so that cached numbers are computed again.

        In one transaction with the change: otherwise old rows could be cached under the new version.
        """
        collections = self.collections_of(objects)
        with transaction.atomic():
            if collection_first:
                self.touch(collections)
            yield
            if not collection_first:
                self.touch(collections)

    def collections_of(self, objects: Iterable[Model]) -> set[Collection]:
        return {attrgetter(self.path_to_collection.replace("__", "."))(obj) for obj in objects}

    def touch(self, collections: Iterable[Collection]) -> None:
        for collection in collections:
            collection.touch()

    def formfield_for_foreignkey(self, db_field, request, **kwargs):
        if db_field.related_model is Collection:
            kwargs["queryset"] = Collection.objects.visible_to(request.user, Role.ADMIN).filter(put_away_at=None)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class ReadOnly(Scoped):
    def has_add_permission(self, request, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request, obj: Model | None = None) -> bool:
        return False


class InCollection:
    """An inline with the permissions of its collection."""

    extra = 0

    def has_view_permission(self, request, obj=None) -> bool:
        return True

    def has_add_permission(self, request, obj=None) -> bool:
        return True

    has_change_permission = has_view_permission
    has_delete_permission = has_view_permission


class PlainDecimal(forms.DecimalField):
    """Shows 0.5 and not 0.500000000, 0 and not 0E-9."""

    def prepare_value(self, value):
        return plain_value(value) if isinstance(value, Decimal) else value


class MembershipInline(InCollection, admin.TabularInline):
    model = Membership
    autocomplete_fields = ["user"]

    def has_view_permission(self, request, obj=None) -> bool:
        return request.user.is_superuser  # its field lists all accounts

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission


class GuidelinesInline(InCollection, admin.StackedInline):
    model = Guidelines
    fields = ["text"]
    max_num = 1
    verbose_name = "new version of the guidelines"
    verbose_name_plural = "guidelines: write a new version here"

    def get_queryset(self, request) -> QuerySet:
        return super().get_queryset(request).none()  # no version can be changed


@admin.register(Collection)
class CollectionAdmin(Scoped, admin.ModelAdmin):
    path_to_collection = "pk"
    list_display = ["name", "slug", "created_at"]
    search_fields = ["name", "slug"]
    exclude = ["relevant_from"]  # it has a page with the scale
    readonly_fields = ["slug", "scale", "current_guidelines"]
    inlines = [MembershipInline, GuidelinesInline]
    formfield_overrides = {models.DecimalField: {"form_class": PlainDecimal}}

    def has_add_permission(self, request, obj=None) -> bool:
        return False  # ratings.set_up makes collections

    def has_delete_permission(self, request, obj=None) -> bool:
        return False

    def collections_of(self, objects: Iterable[Collection]) -> list[Collection]:
        return list(objects)

    def view_on_site(self, collection: Collection) -> str:
        return collection.get_absolute_url()

    @admin.display(description="Scale")
    def scale(self, collection: Collection) -> str:
        grades = ", ".join(map(str, collection.grades.all())) or "None yet"
        return format_html('{}. <a href="{}">Change it</a>', grades, reverse("scale", args=[collection.slug]))

    @admin.display(description="Guidelines now")
    def current_guidelines(self, collection: Collection) -> str:
        guidelines = collection.latest_guidelines()
        return f"Version {guidelines.version}\n\n{guidelines.text}" if guidelines else "None yet."

    def save_formset(self, request, form, formset, change) -> None:
        collection = form.instance
        if formset.model is Guidelines:
            latest = collection.latest_guidelines()
            for guidelines in formset.save(commit=False):
                guidelines.version = latest.version + 1 if latest else 1
                guidelines.save()
            return
        super().save_formset(request, form, formset, change)


@admin.register(Query)
class QueryAdmin(Scoped, admin.ModelAdmin):
    # The same order of locks as in a save of a rating, so that the two cannot deadlock.
    saves_collection_first = True
    list_display = ["key", "text", "collection", "weight"]
    list_filter = [("collection", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["key", "text"]


@admin.register(Document)
class DocumentAdmin(Scoped, admin.ModelAdmin):
    list_display = ["key", "title", "collection"]
    list_filter = [("collection", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["key", "title"]
    # The action that deletes many would not call Document.delete, which refuses documents of rankings.
    actions = None


@admin.register(System)
class SystemAdmin(Scoped, admin.ModelAdmin):
    list_display = ["name", "collection", "rankings_link", "created_at"]
    list_filter = [("collection", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["name"]

    @admin.display(description="Rankings")
    def rankings_link(self, system: System) -> str:
        address = reverse("admin:ratings_ranking_changelist") + "?" + urlencode({"system__id__exact": system.pk})
        return format_html('<a href="{}">show</a>', address)


@admin.register(Ranking)
class RankingAdmin(ReadOnly, admin.ModelAdmin):
    path_to_collection = "system__collection"
    list_display = ["system", "query", "depth"]
    list_select_related = ["system", "query"]
    list_filter = [("system", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["query__key", "query__text"]
    fields = ["system", "query", "ranked_documents"]
    readonly_fields = ["ranked_documents"]
    has_delete_permission = Scoped.has_delete_permission  # it is deleted with its system

    @admin.display(description="Documents")
    def depth(self, ranking: Ranking) -> int:
        return len(ranking.documents)

    @admin.display(description="Documents, best first")
    def ranked_documents(self, ranking: Ranking) -> str:
        ids = ranking.documents[:SHOWN_DOCUMENTS].tolist()
        scores = [""] * len(ids) if ranking.scores is None else ranking.scores[:SHOWN_DOCUMENTS].tolist()
        found = Document.objects.in_bulk(ids)
        rows = format_html_join(
            "",
            '<li><a href="{}">{}</a> <code>{}</code> {}</li>',
            (
                (reverse("admin:ratings_document_change", args=[pk]), found[pk], found[pk].key, score)
                for pk, score in zip(ids, scores, strict=True)
            ),
        )
        rest = len(ranking.documents) - len(ids)
        return format_html("<ol>{}</ol>{}", rows, f"and {rest:,} more" if rest else "")


@admin.register(Rater)
class RaterAdmin(Scoped, admin.ModelAdmin):
    list_display = ["name", "kind", "weight", "user", "collection"]
    list_filter = [("collection", admin.RelatedOnlyFieldListFilter), "kind"]
    search_fields = ["name"]
    autocomplete_fields = ["user"]
    formfield_overrides = {models.DecimalField: {"form_class": PlainDecimal}}

    def get_readonly_fields(self, request, obj: Rater | None = None) -> list[str]:
        # The field would show all accounts.
        fixed = [] if request.user.is_superuser else ["user"]
        return [*super().get_readonly_fields(request, obj), *fixed]


@admin.register(Pair)
class PairAdmin(ReadOnly, admin.ModelAdmin):
    path_to_collection = "query__collection"
    list_display = ["query", "document", "wanted"]
    list_select_related = ["query", "document"]
    search_fields = ["query__key", "document__key"]


@admin.register(Assignment)
class AssignmentAdmin(ReadOnly, admin.ModelAdmin):
    path_to_collection = "pair__query__collection"
    list_display = ["pair", "state", "rater", "leased_until"]
    list_select_related = ["pair__query", "pair__document", "rater"]
    list_filter = ["state"]


@admin.register(Rating)
class RatingAdmin(ReadOnly, admin.ModelAdmin):
    path_to_collection = "pair__query__collection"
    list_display = ["pair", "rater", "grade", "reason", "changed_at"]
    list_select_related = ["pair__query", "pair__document", "rater", "grade"]
    list_filter = [("rater", admin.RelatedOnlyFieldListFilter), "reason"]
    search_fields = ["pair__query__key", "pair__document__key", "comment"]


@admin.register(Adjudication)
class AdjudicationAdmin(ReadOnly, admin.ModelAdmin):
    path_to_collection = "pair__query__collection"
    list_display = ["pair", "grade", "reason", "actor", "created_at"]
    list_select_related = ["pair__query", "pair__document", "grade", "actor"]
    search_fields = ["pair__query__key", "pair__document__key", "reason"]


@admin.register(RatingEvent)
class RatingEventAdmin(ReadOnly, admin.ModelAdmin):
    path_to_collection = "pair__query__collection"
    list_display = ["created_at", "rater", "actor", "kind", "pair", "value", "reason", "seconds"]
    list_select_related = ["pair__query", "pair__document", "rater", "actor"]
    list_filter = ["kind", ("rater", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["pair__query__key", "pair__document__key"]


@admin.register(Round)
class RoundAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["number", "collection", "method", "frame", "judged", "created_at"]
    list_select_related = ["collection"]
    list_filter = [("collection", admin.RelatedOnlyFieldListFilter)]


@admin.register(Drawn)
class DrawnAdmin(ReadOnly, admin.ModelAdmin):
    path_to_collection = "round__collection"
    list_display = ["round", "place", "pair", "kind", "unit", "rate", "within"]
    list_select_related = ["round", "pair__query", "pair__document"]
    list_filter = ["kind"]
    search_fields = ["pair__query__key", "pair__document__key"]


@admin.register(Anchor)
class AnchorAdmin(ReadOnly, admin.ModelAdmin):
    path_to_collection = "pair__query__collection"
    list_display = ["pair", "use", "grade", "created_at"]
    list_select_related = ["pair__query", "pair__document", "grade"]
    list_filter = ["use"]
    search_fields = ["pair__query__key", "pair__document__key"]


@admin.register(Check)
class CheckAdmin(ReadOnly, admin.ModelAdmin):
    path_to_collection = "rater__collection"
    list_display = ["created_at", "rater", "kind", "pair"]
    list_select_related = ["pair__query", "pair__document", "rater"]
    list_filter = ["kind", ("rater", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["pair__query__key", "pair__document__key"]


@admin.register(LostLease)
class LostLeaseAdmin(ReadOnly, admin.ModelAdmin):
    path_to_collection = "rater__collection"
    list_display = ["rater", "pair"]
    list_select_related = ["pair__query", "pair__document", "rater"]


@admin.register(Invitation)
class InvitationAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["name", "role", "collection", "created_at", "expires_at", "accepted_by", "withdrawn_at"]
    list_select_related = ["collection", "accepted_by"]
    list_filter = ["role"]
    search_fields = ["name"]
    exclude = ["key_hash"]
