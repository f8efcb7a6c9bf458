from django.urls import path

from ..page.urls import JSON, TABLE, files
from .views import decisive, expected

urlpatterns = [
    path("collections/<slug:slug>/pool/decisive/", decisive.decisive, name="decisive"),
    path("collections/<slug:slug>/pool/decisive/choose/", decisive.choose_decisive, name="choose_decisive"),
    path("collections/<slug:slug>/expected/", expected.expected, name="expected"),
    *files("collections/<slug:slug>/expected/differences", expected.expected_files, "expected", TABLE),
    *files("collections/<slug:slug>/expected/expected", expected.expected_files, "expected", JSON),
    *files("collections/<slug:slug>/expected/rounds", expected.expected_rounds_files, "expected_rounds", TABLE),
]
