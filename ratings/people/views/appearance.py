"""Saves what the account page asks about appearance, language and time zone. The browser keeps it, and the account
its language."""

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import translation
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from ...web.language import choose
from ...web.preferences import AppearanceForm, keep
from ..access import SignedInRequest


@require_POST
def save_appearance(request: SignedInRequest) -> HttpResponse:
    """Store the language with the account, and all choices in a cookie of the browser."""
    form = AppearanceForm(request.POST)
    if not form.is_valid():  # its fields have choices alone, so no page sends this
        raise BadRequest("There is no such choice.")
    code = form.cleaned_data["language"]
    choose(request.user, code)
    # Without a code the message is in the language that the browser asks for.
    with translation.override(code or translation.get_language_from_request(request)):
        messages.success(request, gettext("Saved in this browser."))
    response = redirect("password_change")  # the account page, which has this form
    keep(request, response, form.cleaned_data)
    return response
