from django.urls import path

from ..page.urls import files
from .views import alone, defaults, home, overview, queries, query, query_documents, system

QUERY = "collections/<slug:slug>/queries/<int:pk>/"

urlpatterns = [
    path("", home.home, name="home"),
    path("collections/<slug:slug>/", overview.overview, name="overview"),
    *files("collections/<slug:slug>/scores", overview.overview_files, "overview"),
    path("collections/<slug:slug>/default-options/", defaults.default_options, name="default_options"),
    path(
        "collections/<slug:slug>/default-options/save/", defaults.save_default_options, name="save_default_options"
    ),
    path("collections/<slug:slug>/queries/", queries.queries, name="queries"),
    *files("collections/<slug:slug>/queries/scores", queries.queries_files, "queries"),
    path(QUERY, query.query, name="query"),
    path(f"{QUERY}documents/", query_documents.query_documents, name="query_documents"),
    *files(f"{QUERY}scores", query.query_files, "query"),
    path("collections/<slug:slug>/systems/<int:pk>/", system.system, name="system"),
    *files("collections/<slug:slug>/systems/<int:pk>/scores", system.system_files, "system"),
    *files("collections/<slug:slug>/machine-only", alone.alone_files, "alone"),
]
