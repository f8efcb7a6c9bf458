from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path

from . import api

urlpatterns = [
    path("", include("ratings.urls")),
    path("", include("evaluation.urls")),
    path("admin/", admin.site.urls),
    path("api/v1/", api.addresses()),
    path("api/<path:rest>", login_not_required(api.nothing), name="api_nothing"),
]

# A database that is away answers 503 wherever it is missed.
handler500 = "ratings.views.failures.server_error"
