"""Middleware that sends a person who needs a second factor and has none to set one up first."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext

from ...web.pages import wants_json
from .. import visits
from . import second_factor

SET_UP_VIEW = "mfa_index"
# To set one up and show who one is, to sign out or in anew, and the help.
OPEN_VIEWS = {
    SET_UP_VIEW, "mfa_activate_totp", "mfa_add_webauthn", "account_reauthenticate", "sign_out", "session",
    "provider", "provider_callback", "help", "help_page",
}  # fmt: skip


class SecondFactorRequired(MiddlewareMixin):
    """Calls with an API token pass: `people.bearer` refuses those of people who lack it."""

    def process_view(self, request: HttpRequest, view_func, args, kwargs) -> HttpResponse | None:
        if not settings.SECOND_FACTOR or request.resolver_match.view_name in OPEN_VIEWS:
            return None
        user = request.user
        visits_sample = user.get_username() in visits.SAMPLE_USERNAMES and settings.DEMO
        if not user.is_authenticated or visits_sample or not second_factor.is_missing(request):
            return None
        if wants_json(request):
            error = gettext("Your role needs a second factor. Set one up first.")
            return JsonResponse({"error": error}, status=403)
        return redirect(SET_UP_VIEW)
