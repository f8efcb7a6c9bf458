from django.urls import path

from .views import (
    agreement,
    compare,
    differences,
    drift,
    frozen,
    frozen_changes,
    home,
    overview,
    queries,
    query,
    system,
)
from .views.drawn import drawable

FROZEN = "collections/<slug:slug>/frozen/"

urlpatterns = [
    path("", drawable(home.home), name="home"),
    path("collections/<slug:slug>/", overview.overview, name="overview"),
    path("collections/<slug:slug>/scores.csv", overview.overview_csv, name="overview_csv"),
    path("collections/<slug:slug>/scores.json", overview.overview_json, name="overview_json"),
    path("collections/<slug:slug>/queries/", queries.queries, name="queries"),
    path("collections/<slug:slug>/queries/scores.csv", queries.queries_csv, name="queries_csv"),
    path("collections/<slug:slug>/queries/scores.json", queries.queries_json, name="queries_json"),
    path("collections/<slug:slug>/queries/<int:pk>/", query.query, name="query"),
    path("collections/<slug:slug>/queries/<int:pk>/scores.csv", query.query_csv, name="query_csv"),
    path("collections/<slug:slug>/queries/<int:pk>/scores.json", query.query_json, name="query_json"),
    path("collections/<slug:slug>/systems/<int:pk>/", system.system, name="system"),
    path("collections/<slug:slug>/systems/<int:pk>/scores.csv", system.system_csv, name="system_csv"),
    path("collections/<slug:slug>/systems/<int:pk>/scores.json", system.system_json, name="system_json"),
    path("collections/<slug:slug>/compare/", compare.compare, name="compare"),
    path("collections/<slug:slug>/compare/differences.csv", compare.compare_csv, name="compare_csv"),
    path("collections/<slug:slug>/compare/differences.json", compare.compare_json, name="compare_json"),
    path("collections/<slug:slug>/differences/", differences.differences, name="differences"),
    path("collections/<slug:slug>/differences/queries.csv", differences.differences_csv, name="differences_csv"),
    path("collections/<slug:slug>/differences/segments.csv", differences.segments_csv, name="segments_csv"),
    path(
        "collections/<slug:slug>/differences/differences.json",
        differences.differences_json,
        name="differences_json",
    ),
    path("collections/<slug:slug>/agreement/", agreement.agreement, name="agreement"),
    path("collections/<slug:slug>/agreement/agreement.csv", agreement.agreement_csv, name="agreement_csv"),
    path("collections/<slug:slug>/agreement/agreement.json", agreement.agreement_json, name="agreement_json"),
    path("collections/<slug:slug>/agreement/drift/", drift.drift, name="drift"),
    path("collections/<slug:slug>/agreement/drift.csv", drift.drift_csv, name="drift_csv"),
    path("collections/<slug:slug>/agreement/drift.json", drift.drift_json, name="drift_json"),
    path(FROZEN, frozen.frozen_list, name="frozen"),
    path(f"{FROZEN}new/", frozen.freeze, name="freeze"),
    path(f"{FROZEN}compare/", frozen_changes.compare_frozen, name="compare_frozen"),
    path(
        f"{FROZEN}compare/changes.csv",
        frozen_changes.compare_frozen_csv,
        name="compare_frozen_csv",
    ),
    path(f"{FROZEN}<str:sha>/", frozen.frozen_evaluation, name="frozen_evaluation"),
    path(f"{FROZEN}<str:sha>/means.csv", frozen.frozen_csv, name="frozen_csv"),
    path(
        f"{FROZEN}<str:sha>/queries.csv",
        frozen.frozen_queries_csv,
        name="frozen_queries_csv",
    ),
    path(f"{FROZEN}<str:sha>/evaluation.json", frozen.frozen_json, name="frozen_json"),
    path(f"{FROZEN}<str:sha>/bundle.zip", frozen.frozen_bundle, name="frozen_bundle"),
]
