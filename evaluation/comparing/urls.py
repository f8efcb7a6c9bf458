from django.urls import path

from ..page.urls import JSON, TABLE, files
from .views import compare, differences

urlpatterns = [
    path("collections/<slug:slug>/compare/", compare.compare, name="compare"),
    *files("collections/<slug:slug>/compare/differences", compare.compare_files, "compare"),
    path("collections/<slug:slug>/differences/", differences.differences, name="differences"),
    *files("collections/<slug:slug>/differences/queries", differences.differences_files, "differences", TABLE),
    *files("collections/<slug:slug>/differences/segments", differences.segments_files, "segments", TABLE),
    *files("collections/<slug:slug>/differences/differences", differences.differences_files, "differences", JSON),
]
