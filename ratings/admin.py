"""Django's admin of the record: superusers read there what is stored. Nobody changes anything there."""

from collections.abc import Callable, Sequence
from functools import wraps

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, reverse
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_safe
from django_tasks_db.admin import DBTaskResultAdmin
from django_tasks_db.models import DBTaskResult

from .models import (
    Adjudication,
    Anchor,
    Assignment,
    Baseline,
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
    Sample,
    SampledQuery,
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
    list_select_related = True

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    has_delete_permission = has_change_permission


@admin.register(Ranking, site=site)
class RankingAdmin(ReadOnly):
    list_display = ["system", "query", "depth"]
    list_filter = [("system", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["query__key", "query__text"]
    fields = readonly_fields = ["system", "query", "ranked_documents"]

    @admin.display(description="Documents")
    def depth(self, ranking: Ranking) -> int:
        return len(ranking.documents)

    @admin.display(description="Documents, best first")
    def ranked_documents(self, ranking: Ranking) -> str:
        ids = ranking.documents[:SHOWN_DOCUMENTS].tolist()
        found = Document.objects.in_bulk(ids)
        rows = format_html_join("", "<li>{} <code>{}</code></li>", ((found[pk], found[pk].key) for pk in ids))
        unlisted = len(ranking.documents) - len(ids)
        return format_html("<ol>{}</ol>{}", rows, f"and {unlisted:,} more" if unlisted else "")


PAIR = "pair__query__key", "pair__document__key"


def register(model: type[Model], shown: str, search: Sequence[str] = (), filters: Sequence[str] = ()) -> None:
    """Add a table to the site. `shown`: the columns of its list."""
    collection = [("collection", admin.RelatedOnlyFieldListFilter)] if hasattr(model, "collection") else []
    site.register(
        model,
        ReadOnly,
        list_display=shown.split(),
        search_fields=search,
        list_filter=[*collection, *filters],
    )


site.register(DBTaskResult, DBTaskResultAdmin)
register(Collection, "name slug created_at", ["name", "slug"])
register(System, "name collection created_at", ["name"])
register(Baseline, "kind name collection reason chosen_at", ["reason"], ["kind"])
register(Query, "key text collection weight", ["key", "text"])
register(Document, "key title collection", ["key", "title"])
register(Rater, "name kind weight user collection", ["name"], ["kind"])
register(Pair, "query document wanted", ["query__key", "document__key"])
register(Assignment, "pair state rater leased_until", PAIR, ["state"])
register(Rating, "pair rater grade reason changed_at", [*PAIR, "comment"], ["reason"])
register(Adjudication, "pair grade reason actor created_at", [*PAIR, "reason"])
register(RatingEvent, "created_at rater actor kind pair value reason seconds", PAIR, ["kind"])
register(Round, "number collection method frame judged created_at")
register(Drawn, "round place pair kind unit rate within", PAIR, ["kind"])
register(Sample, "number log collection method size queries searches created_at", ["log"], ["method"])
register(SampledQuery, "sample place text count chance stratum left_out", ["text"], ["left_out"])
register(Anchor, "pair use grade created_at", PAIR, ["use"])
register(Check, "created_at rater kind pair", PAIR, ["kind"])
register(LostLease, "rater pair", PAIR)
register(Invitation, "name role collection created_at expires_at accepted_by withdrawn_at", ["name"], ["role"])
