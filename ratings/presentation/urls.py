from django.urls import path

from .views import guidelines, presentation

GUIDELINES = "collections/<slug:slug>/guidelines/"

urlpatterns = [
    path(GUIDELINES, guidelines.guidelines, name="guidelines"),
    path(f"{GUIDELINES}read/", guidelines.read_guidelines, name="read_guidelines"),
    path(f"{GUIDELINES}edit/", guidelines.edit_guidelines, name="edit_guidelines"),
    path(f"{GUIDELINES}versions/", guidelines.guidelines_versions, name="guidelines_versions"),
    path(f"{GUIDELINES}<int:version>/", guidelines.guidelines_version, name="guidelines_version"),
    path("collections/<slug:slug>/presentation/", presentation.presentation, name="presentation"),
]
