"""The language of a page: the reader's where raters come, and English everywhere else.

The reader's is the one they chose, which a cookie keeps for the browser and a row for the account, or else the one
that the browser asks for.
"""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone, translation
from django.views.decorators.http import require_safe
from django.views.i18n import JavaScriptCatalog

from ..models import AccountLanguage
from .preferences import keep, preferences

ENGLISH = settings.LANGUAGE_CODE
# Names of the addresses whose pages and answers are translated. An answer that comes before Django found
# the address of a page is translated, too.
TRANSLATED_VIEWS: set[str | None] = {
    # the desk and what is around it
    *("home", "rate", "claim", "undo_rating", "stop_rating", "rate_pair", "save_rating", "skip_pair", "session"),
    *("my_ratings", "desk_settings", "guidelines", "guidelines_versions", "guidelines_version", "read_guidelines"),
    # the way in, and the account
    *("join", "sign_in", "account_login", "sign_in_link", "sign_out", "forgotten_password", "new_password"),
    *("provider", "provider_callback", "provider_sign_out", "no_mail"),
    *("password_change", "save_appearance", "sessions", "end_session", "end_other_sessions"),
    *("mfa_index", "mfa_authenticate", "mfa_activate_totp", "mfa_deactivate_totp", "mfa_add_webauthn"),
    *("mfa_remove_webauthn", "mfa_generate_recovery_codes", "account_reauthenticate", "mfa_reauthenticate"),
    "mfa_reauthenticate_webauthn",
}


class ForReader:
    """Middleware: pages are in the reader's language, or in English, and show times in the reader's zone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        chosen = preferences(request)
        code = chosen["language"] or translation.get_language_from_request(request)
        with timezone.override(ZoneInfo(chosen["zone"])), translation.override(code):
            return self.get_response(request)

    def process_view(self, request: HttpRequest, *view) -> None:
        match = request.resolver_match
        if not (match and match.url_name in TRANSLATED_VIEWS):
            in_english()


def in_english() -> None:
    """Show this page in English, for analysts and admins on an address that raters have, too."""
    translation.activate(ENGLISH)


def language_for(user: User, otherwise: str = ENGLISH) -> str:
    """The code of the language in which the person gets mail: the one they chose, if any."""
    return AccountLanguage.objects.filter(user=user).values_list("code", flat=True).first() or otherwise


def take_along(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Bring the language of an account that signs in to a browser in which nobody chose one."""
    if not preferences(request)["language"] and (code := language_for(user, "")):
        keep(request, response, {"language": code})


def choose(user: User, code: str) -> None:
    """Keep the language for the account. Without a code it is that of each browser."""
    if code:
        AccountLanguage.objects.update_or_create(user=user, defaults={"code": code})
    else:
        AccountLanguage.objects.filter(user=user).delete()


@login_not_required
@require_safe
def catalog(request: HttpRequest, code: str) -> HttpResponseBase:
    """The words of scripts in one language, as a script. Pages in English do without."""
    if code == ENGLISH or code not in dict(settings.LANGUAGES):
        raise Http404("There is no such language.")
    with translation.override(code):
        return JavaScriptCatalog.as_view()(request)
