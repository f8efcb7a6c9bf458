"""What a person chose for this browser: size of text, light or dark, one document at a time or all of a query.

A cookie keeps it: it is there before they sign in, on every page, and without a script.
"""

from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict

from .models import Shown

COOKIE = "preferences"
KEPT = 365 * 24 * 60 * 60  # seconds


class PreferencesForm(forms.Form):
    """Every field may be left out, and then has its first choice."""

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
    """The choice by field. What a cookie says that is no choice of ours is as if it said nothing."""
    form = PreferencesForm(QueryDict(request.COOKIES.get(COOKIE, "")))
    form.full_clean()
    return form.cleaned_data


def in_list(request: HttpRequest) -> bool:
    """Whether the person wants all documents of a query on one page."""
    return preferences(request)["shown"] == Shown.LIST


def keep(response: HttpResponse, choice: dict, *, secure: bool) -> None:
    response.set_cookie(COOKIE, urlencode(choice), max_age=KEPT, httponly=True, samesite="Lax", secure=secure)


def in_templates(request: HttpRequest) -> dict:
    """For every page: `preferences`."""
    return {"preferences": preferences(request)}
