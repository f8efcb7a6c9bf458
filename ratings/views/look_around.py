"""Sign in to the sample without a password, with the key that the terminal shows. See ratings/people/visits.py."""

from django.contrib.auth import get_user_model, login
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from ..models import Role
from ..people import visits


@login_not_required
@require_POST
def look_around(request: HttpRequest, role: str) -> HttpResponse:
    if not has_key(request) or role not in Role.values:
        raise Http404("Looking around needs the sample on this machine, and its key.")
    user = (
        get_user_model().objects.filter(username=visits.username(role), is_active=True, is_superuser=False).first()
    )
    if user is None:
        raise Http404("The sample collection is not loaded.")
    login(request, user, backend=f"{visits.__name__}.{visits.Visitors.__name__}")
    return redirect("home")


def redirect_with_cookie(request: HttpRequest) -> HttpResponse:
    """A redirect to the first page. It sets the key as a cookie if the key is right."""
    response, key = redirect("home"), request.GET["look"]
    if visits.is_local(request) and visits.is_key(key):
        response.set_cookie(visits.COOKIE, key, httponly=True, samesite="Lax")
    return response


def has_key(request: HttpRequest) -> bool:
    """Whether the visitor has the key."""
    return visits.is_local(request) and visits.is_key(request.COOKIES.get(visits.COOKIE, ""))


def can_use_key(request: HttpRequest) -> bool:
    """Whether the visitor could look around if they had the key."""
    return visits.allowed() and visits.is_local(request) and visits.key_file().exists()
