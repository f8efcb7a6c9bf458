"""The preferences of a browser: size of text, colours, time zone, one document at a time or all of a query.

They are in a cookie, so that they apply before a sign-in, on every page, and without scripts.
"""

from urllib.parse import urlencode
from zoneinfo import available_timezones

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext_lazy

from ..models import Shown

PREFERENCES_COOKIE = settings.COOKIE_PREFIX + "preferences"
COOKIE_SECONDS = 365 * 24 * 60 * 60
# Without old spellings such as US/Pacific, and offsets such as Etc/GMT+3, which is three hours behind UTC.
PARTS_OF_THE_WORLD = (
    *("Africa", "America", "Antarctica", "Arctic", "Asia"),
    *("Atlantic", "Australia", "Europe", "Indian", "Pacific"),
)
ZONES = ["UTC", *sorted(zone for zone in available_timezones() if zone.startswith(PARTS_OF_THE_WORLD))]


class FirstChoices(forms.Form):
    """A form of choices. A field that is not sent gets its first choice."""

    def clean(self) -> dict:
        return {name: self.cleaned_data.get(name) or field.choices[0][0] for name, field in self.fields.items()}


class DeskForm(FirstChoices):
    """What raters alone choose."""

    shown = forms.ChoiceField(
        label=gettext_lazy("Documents"),
        choices=[
            (Shown.ALONE, gettext_lazy("One at a time")),
            (Shown.LIST, gettext_lazy("All of a query in a list")),
        ],
        widget=forms.RadioSelect,
        required=False,
        help_text=gettext_lazy(
            "In a list you can compare documents. Each rating says which of the two it came from."
        ),
    )


class AppearanceForm(FirstChoices):
    """What everybody chooses."""

    size = forms.ChoiceField(
        label=gettext_lazy("Text"),
        choices=[
            ("usual", gettext_lazy("Usual size")),
            ("large", gettext_lazy("Large")),
            ("larger", gettext_lazy("Very large")),
        ],
        widget=forms.RadioSelect,
        required=False,
    )
    theme = forms.ChoiceField(
        label=gettext_lazy("Colours"),
        choices=[
            ("system", gettext_lazy("As the system")),
            ("light", gettext_lazy("Light")),
            ("dark", gettext_lazy("Dark")),
        ],
        widget=forms.RadioSelect,
        required=False,
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        choices=[("", gettext_lazy("As the browser")), *settings.LANGUAGES],
        required=False,
    )
    zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"), choices=[(zone, zone.replace("_", " ")) for zone in ZONES], required=False
    )


def preferences(request: HttpRequest) -> dict:
    """Field name → choice, of both forms. Invalid values in the cookie are ignored."""
    kept = QueryDict(request.COOKIES.get(PREFERENCES_COOKIE, ""))
    choices: dict[str, str] = {}
    for form in (DeskForm(kept), AppearanceForm(kept)):
        form.full_clean()
        choices |= form.cleaned_data
    return choices


def in_list(request: HttpRequest) -> bool:
    """Whether all documents of a query are shown on one page."""
    return preferences(request)["shown"] == Shown.LIST


def keep(request: HttpRequest, response: HttpResponse, choices: dict) -> None:
    """Set the cookie: these choices, and those that the browser has of other fields."""
    response.set_cookie(
        PREFERENCES_COOKIE,
        urlencode(preferences(request) | choices),
        max_age=COOKIE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def in_templates(request: HttpRequest) -> dict:
    """The context processor of the preferences."""
    return {"preferences": preferences(request)}
