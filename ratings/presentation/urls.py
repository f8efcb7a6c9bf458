from django.urls import path

from .views import guidelines, presentation

urlpatterns = [
    path("collections/<slug:slug>/guidelines/", guidelines.guidelines, name="guidelines"),
    path("collections/<slug:slug>/guidelines/read/", guidelines.read_guidelines, name="read_guidelines"),
    path("collections/<slug:slug>/guidelines/edit/", guidelines.edit_guidelines, name="edit_guidelines"),
    path(
        "collections/<slug:slug>/guidelines/versions/", guidelines.guidelines_versions, name="guidelines_versions"
    ),
    path(
        "collections/<slug:slug>/guidelines/<int:version>/",
        guidelines.guidelines_version,
        name="guidelines_version",
    ),
    path("collections/<slug:slug>/presentation/", presentation.presentation, name="presentation"),
]
