from django.urls import include, path

from ratings.admin import site

from . import api
from .help import views as help

urlpatterns = [
    path("", include("ratings.urls")),
    path("", include("evaluation.urls")),
    path("admin/", site.urls),
    path("help/", help.help_home, name="help"),
    path("help/<str:name>/", help.help_page, name="help_page"),
    path("api/v1/docs", api.docs, name="api_docs"),
    path("api/v1/openapi.json", api.openapi, name="api_description"),
    path("api/v1/", api.url_patterns()),
    path("api/<path:rest>", api.not_found, name="api_nothing"),
]

# The views of errors answer 503 where the database cannot be reached.
handler400 = "ratings.web.failures.bad_request"
handler500 = "ratings.web.failures.server_error"
