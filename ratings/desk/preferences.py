"""The preferences of a browser: size of text, colours, one document at a time or all of a query.

They are in a cookie, so that they apply before a sign-in, on every page, and without scripts.
"""

from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict

from ..models import Shown

COOKIE = settings.COOKIE_PREFIX + "preferences"
KEPT = 365 * 24 * 60 * 60  # seconds


class PreferencesForm(forms.Form):
    """The preferences. A field that is not sent gets its first choice."""

    shown = forms.ChoiceField(
        label="Documents",
        choices=[(Shown.ALONE, "One at a time"), (Shown.LIST, "All of a query in a list")],
        widget=forms.RadioSelect,
        required=False,
        help_text="In a list you can compare documents. Each rating says which of the two it came from.",
    )
    size = forms.ChoiceField(
        label="Text",
        choices=[("usual", "Usual size"), ("large", "Large"), ("larger", "Very large")],
        widget=forms.RadioSelect,
        required=False,
    )
    theme = forms.ChoiceField(
        label="Colours",
        choices=[("system", "As the system"), ("light", "Light"), ("dark", "Dark")],
        widget=forms.RadioSelect,
        required=False,
    )

    def clean(self) -> dict:
        return {name: self.cleaned_data.get(name) or field.choices[0][0] for name, field in self.fields.items()}


def preferences(request: HttpRequest) -> dict:
    """Field name → choice. Invalid values in the cookie are ignored."""
    form = PreferencesForm(QueryDict(request.COOKIES.get(COOKIE, "")))
    form.full_clean()
    return form.cleaned_data


def in_list(request: HttpRequest) -> bool:
    """Whether all documents of a query are shown on one page."""
    return preferences(request)["shown"] == Shown.LIST


def keep(response: HttpResponse, choice: dict) -> None:
    response.set_cookie(
        COOKIE,
        urlencode(choice),
        max_age=KEPT,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def in_templates(request: HttpRequest) -> dict:
    """The context processor of the preferences."""
    return {"preferences": preferences(request)}
