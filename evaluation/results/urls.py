from django.urls import path

from ..page.urls import files
from .views import alone, home, overview, queries, query, query_documents, system

urlpatterns = [
    path("", home.home, name="home"),
    path("collections/<slug:slug>/", overview.overview, name="overview"),
    *files("collections/<slug:slug>/scores", overview.overview_files, "overview"),
    path("collections/<slug:slug>/queries/", queries.queries, name="queries"),
    *files("collections/<slug:slug>/queries/scores", queries.queries_files, "queries"),
    path("collections/<slug:slug>/queries/<int:pk>/", query.query, name="query"),
    path(
        "collections/<slug:slug>/queries/<int:pk>/documents/",
        query_documents.query_documents,
        name="query_documents",
    ),
    *files("collections/<slug:slug>/queries/<int:pk>/scores", query.query_files, "query"),
    path("collections/<slug:slug>/systems/<int:pk>/", system.system, name="system"),
    *files("collections/<slug:slug>/systems/<int:pk>/scores", system.system_files, "system"),
    *files("collections/<slug:slug>/machine-only", alone.alone_files, "alone"),
]
