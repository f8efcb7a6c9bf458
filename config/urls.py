from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("ratings.urls")),
    path("", include("evaluation.urls")),
    path("admin/", admin.site.urls),
]
