"""Django's admin of the record: superusers read there what is stored. Nobody changes anything there."""

from collections.abc import Callable
from functools import wraps

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.views.decorators.http import require_safe
from django_tasks_db.admin import DBTaskResultAdmin
from django_tasks_db.models import DBTaskResult

from .models import (
    Adjudication,
    Anchor,
    Assignment,
    Check,
    Collection,
    Document,
    Drawn,
    Invitation,
    LostLease,
    Pair,
    Query,
    Ranking,
    Rater,
    Rating,
    RatingEvent,
    Round,
    System,
)

SHOWN_DOCUMENTS = 200
WITHOUT = {"logout", "password_change", "password_change_done"}  # Idealist has pages of its own for them


class ReadOnlySite(admin.AdminSite):
    """Not Django's default site, where packages register what shows secrets, such as those of second factors."""

    site_header = site_title = "Idealist"
    index_title = "The record"

    def get_urls(self) -> list[URLPattern | URLResolver]:
        return [each for each in super().get_urls() if getattr(each, "name", "") not in WITHOUT]

    def has_permission(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_superuser

    def admin_view(self, view: Callable, cacheable: bool = False) -> Callable:
        """Django calls it for every page but `login`."""

        @require_safe
        @wraps(view)
        def shown(request: HttpRequest, *args, **kwargs) -> HttpResponse:
            if not self.has_permission(request):
                raise Http404("Only superusers read the record here.")
            return view(request, *args, **kwargs)

        return shown

    @login_not_required
    def login(self, request: HttpRequest, extra_context: dict | None = None) -> HttpResponse:
        """In place of Django's page, which would check passwords without a rate limit."""
        return redirect_to_login(request.GET.get("next", reverse("admin:index")))


site = ReadOnlySite()


class ReadOnly(admin.ModelAdmin):
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    has_delete_permission = has_change_permission


@admin.register(System, site=site)
class SystemAdmin(ReadOnly):
    list_display = ["name", "collection", "rankings_link", "created_at"]
    list_filter = [("collection", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["name"]

    @admin.display(description="Rankings")
    def rankings_link(self, system: System) -> str:
        address = reverse("admin:ratings_ranking_changelist") + "?" + urlencode({"system__id__exact": system.pk})
        return format_html('<a href="{}">show</a>', address)


@admin.register(Ranking, site=site)
class RankingAdmin(ReadOnly):
    list_display = ["system", "query", "depth"]
    list_select_related = ["system", "query"]
    list_filter = [("system", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["query__key", "query__text"]
    fields = readonly_fields = ["system", "query", "ranked_documents"]

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


OF_COLLECTION = ("collection", admin.RelatedOnlyFieldListFilter)
OF_RATER = ("rater", admin.RelatedOnlyFieldListFilter)
KEYS = ["pair__query__key", "pair__document__key"]
PAIR = ["pair__query", "pair__document"]

site.register(DBTaskResult, DBTaskResultAdmin)
site.register(Collection, ReadOnly, list_display=["name", "slug", "created_at"], search_fields=["name", "slug"])
site.register(
    Query,
    ReadOnly,
    list_display=["key", "text", "collection", "weight"],
    list_filter=[OF_COLLECTION],
    search_fields=["key", "text"],
)
site.register(
    Document,
    ReadOnly,
    list_display=["key", "title", "collection"],
    list_filter=[OF_COLLECTION],
    search_fields=["key", "title"],
)
site.register(
    Rater,
    ReadOnly,
    list_display=["name", "kind", "weight", "user", "collection"],
    list_filter=[OF_COLLECTION, "kind"],
    search_fields=["name"],
)
site.register(
    Pair,
    ReadOnly,
    list_display=["query", "document", "wanted"],
    list_select_related=["query", "document"],
    search_fields=["query__key", "document__key"],
)
site.register(
    Assignment,
    ReadOnly,
    list_display=["pair", "state", "rater", "leased_until"],
    list_select_related=[*PAIR, "rater"],
    list_filter=["state"],
)
site.register(
    Rating,
    ReadOnly,
    list_display=["pair", "rater", "grade", "reason", "changed_at"],
    list_select_related=[*PAIR, "rater", "grade"],
    list_filter=[OF_RATER, "reason"],
    search_fields=[*KEYS, "comment"],
)
site.register(
    Adjudication,
    ReadOnly,
    list_display=["pair", "grade", "reason", "actor", "created_at"],
    list_select_related=[*PAIR, "grade", "actor"],
    search_fields=[*KEYS, "reason"],
)
site.register(
    RatingEvent,
    ReadOnly,
    list_display=["created_at", "rater", "actor", "kind", "pair", "value", "reason", "seconds"],
    list_select_related=[*PAIR, "rater", "actor"],
    list_filter=["kind", OF_RATER],
    search_fields=KEYS,
)
site.register(
    Round,
    ReadOnly,
    list_display=["number", "collection", "method", "frame", "judged", "created_at"],
    list_select_related=["collection"],
    list_filter=[OF_COLLECTION],
)
site.register(
    Drawn,
    ReadOnly,
    list_display=["round", "place", "pair", "kind", "unit", "rate", "within"],
    list_select_related=["round", *PAIR],
    list_filter=["kind"],
    search_fields=KEYS,
)
site.register(
    Anchor,
    ReadOnly,
    list_display=["pair", "use", "grade", "created_at"],
    list_select_related=[*PAIR, "grade"],
    list_filter=["use"],
    search_fields=KEYS,
)
site.register(
    Check,
    ReadOnly,
    list_display=["created_at", "rater", "kind", "pair"],
    list_select_related=[*PAIR, "rater"],
    list_filter=["kind", OF_RATER],
    search_fields=KEYS,
)
site.register(LostLease, ReadOnly, list_display=["rater", "pair"], list_select_related=[*PAIR, "rater"])
site.register(
    Invitation,
    ReadOnly,
    list_display=["name", "role", "collection", "created_at", "expires_at", "accepted_by", "withdrawn_at"],
    list_select_related=["collection", "accepted_by"],
    list_filter=["role"],
    search_fields=["name"],
)
