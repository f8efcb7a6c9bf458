from django.urls import include, path

from .apps import rooms

urlpatterns = [path("", include(f"ratings.{room}.urls")) for room in rooms]
