"""The addresses of every room. No two rooms have the same one, so their order does not matter."""

from django.urls import include, path

ROOMS = ("people", "desk", "presentation", "pool", "collection", "importing", "sampling", "copies", "judges")

urlpatterns = [path("", include(f"ratings.{room}.urls")) for room in ROOMS]
