"""The pages of the project and a view that only checks who asks: the limit for every view behind a sign-in."""

from django.http import HttpRequest, JsonResponse
from django.urls import include, path


def bare(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"account": request.user.pk})


urlpatterns = [path("bare/", bare), path("", include("config.urls"))]
