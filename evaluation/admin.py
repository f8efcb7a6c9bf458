"""Frozen evaluations in Django's admin, for reading only: nobody can change or delete one."""

from django.contrib import admin

from ratings.admin import ReadOnly

from .models import FrozenEvaluation


@admin.register(FrozenEvaluation)
class FrozenEvaluationAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ["name", "collection", "created_at", "created_by", "short"]
    list_filter = [("collection", admin.RelatedOnlyFieldListFilter)]
    search_fields = ["name", "hash"]
    fields = ["name", "note", "collection", "created_at", "created_by", "hash", "settings", "about"]
