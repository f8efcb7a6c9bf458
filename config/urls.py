from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("ratings.urls")),
    path("", include("evaluation.urls")),
    path("admin/", admin.site.urls),
]

# A database that is away answers 503 wherever it is missed.
handler500 = "ratings.views.failures.server_error"
