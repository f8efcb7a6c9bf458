"""Sign in to the sample without a password: only on this machine, only where the demo is switched on."""

from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from .. import sample
from ..models import Role

PROXY_HEADERS = ["Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Via"]


@login_not_required
@require_POST
def look_around(request: HttpRequest, role: str) -> HttpResponse:
    if not offered(request) or role not in Role.values:
        raise Http404("The demo is off.")
    user = (
        get_user_model().objects.filter(username=sample.username(role), is_active=True, is_superuser=False).first()
    )
    if user is None:
        raise Http404("The sample collection is not loaded.")
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("home")


def offered(request: HttpRequest) -> bool:
    """Whether the visitor sits at this machine. A proxy in front speaks for strangers, so it does not count."""
    if not settings.DEMO or any(header in request.headers for header in PROXY_HEADERS):
        return False
    host = request.get_host().rsplit(":", 1)[0].strip("[]")
    return is_loopback(request.META.get("REMOTE_ADDR", "")) and (host == "localhost" or is_loopback(host))


def is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
