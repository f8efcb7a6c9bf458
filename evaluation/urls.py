from django.urls import path

from .views import home, overview, queries, query, system

urlpatterns = [
    path("", home.home, name="home"),
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
]
