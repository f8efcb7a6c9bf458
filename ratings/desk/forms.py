"""The forms of the requests that the rating desk sends."""

from collections.abc import Iterable
from decimal import Decimal

from django import forms
from django.utils.translation import gettext

from ..database.prepared import Blank, Prepared
from ..models import Grade, Reason, Shown
from ..web.forms import OfCollection
from .queue import MOST_HELD, Submission

LONGEST_VISIT = 600.0  # seconds; a page left open overnight says nothing about effort
LONGEST_COMMENT = 5_000  # characters


scale_of = Prepared(lambda: Grade.objects.filter(collection=Blank("collection", Grade, "collection")))


def on_scale(value: Decimal, scale: Iterable[Grade]) -> Grade:
    """The grade with this value. Raises ValidationError if the scale has none."""
    if grade := next((grade for grade in scale if grade.value == value), None):
        return grade
    raise forms.ValidationError(
        gettext("The scale has no grade %(grade)s. Choose one of the buttons."), params={"grade": value}
    )


class CommentField(forms.CharField):
    """A comment whose lines end with LF, as those of the desk's script. A browser counts its length so, too."""

    def to_python(self, value) -> str:
        return super().to_python(value).replace("\r\n", "\n")


class RatingForm(OfCollection):
    """One rating: a grade by its value, or a reason."""

    grade = forms.DecimalField(required=False)
    reason = forms.ChoiceField(choices=[("", ""), *Reason.choices], required=False)
    comment = CommentField(max_length=LONGEST_COMMENT, required=False)
    base_revision = forms.IntegerField(min_value=0)
    client_key = forms.UUIDField(required=False)
    seconds = forms.FloatField(required=False, min_value=0)
    shown = forms.TypedChoiceField(choices=[("", ""), *Shown.choices], required=False, empty_value=Shown.ALONE)
    scale = forms.IntegerField(required=False, min_value=1)  # the version whose buttons were shown
    guidelines = forms.IntegerField(required=False, min_value=0)  # the version shown with the document
    presentation = forms.IntegerField(required=False, min_value=0)  # the version in which it was shown
    opened = forms.BooleanField(required=False)

    def clean_grade(self) -> Grade | None:
        value = self.cleaned_data["grade"]
        return None if value is None else on_scale(value, scale_of(collection=self.collection.pk))

    def clean_seconds(self) -> float | None:
        seconds = self.cleaned_data["seconds"]
        return None if seconds is None else min(seconds, LONGEST_VISIT)

    def clean(self) -> None:
        cleaned = self.cleaned_data
        if not self.errors and (cleaned["grade"] is None) == (cleaned["reason"] == ""):
            raise forms.ValidationError(gettext("Choose a grade, or the reason why this cannot be judged."))

    @property
    def submission(self) -> Submission:
        """The submission. The form must be valid."""
        return Submission(**self.cleaned_data)


def comment_of(text: str) -> str:
    """The comment as it is stored. HTML forms send lines that end with CRLF, the desk's script sends LF."""
    return text.replace("\x00", "").replace("\r\n", "\n").strip()[:LONGEST_COMMENT]


class ClaimForm(forms.Form):
    """How many tasks to hold, the tokens that the script has already, and whether to count what is left."""

    count = forms.IntegerField(min_value=1, max_value=MOST_HELD)
    have = forms.CharField(required=False, max_length=2_000)
    outlook = forms.BooleanField(required=False)

    def clean_have(self) -> set[str]:
        return set(self.cleaned_data["have"].split())
