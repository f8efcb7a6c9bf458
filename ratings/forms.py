"""What people send."""

from collections.abc import Sequence

from django import forms

from .models import Collection, Grade, Reason

LONGEST_VISIT = 600.0  # seconds; a page left open overnight says nothing about effort


class RatingForm(forms.Form):
    """One rating: a grade by its value, or a reason. `cleaned_data` fits `queue.save`."""

    grade = forms.DecimalField(required=False)
    reason = forms.ChoiceField(choices=[("", ""), *Reason.choices], required=False)
    comment = forms.CharField(max_length=5_000, required=False)
    base_revision = forms.IntegerField(min_value=0)
    client_key = forms.UUIDField(required=False)
    seconds = forms.FloatField(required=False, min_value=0)

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        self.collection = collection
        super().__init__(*args, **kwargs)

    def clean_grade(self) -> Grade | None:
        value = self.cleaned_data["grade"]
        if value is None:
            return None
        grade = self.collection.grades.filter(value=value).first()
        if grade is None:
            raise forms.ValidationError(f"The scale has no grade {value}. Choose one of the buttons.")
        return grade

    def clean_comment(self) -> str:
        return self.cleaned_data["comment"].replace("\x00", "").strip()

    def clean_seconds(self) -> float | None:
        seconds = self.cleaned_data["seconds"]
        return None if seconds is None else min(seconds, LONGEST_VISIT)

    def clean(self) -> dict:
        cleaned = super().clean()
        if not self.errors and (cleaned["grade"] is None) == (cleaned["reason"] == ""):
            raise forms.ValidationError("Choose a grade, or say why this cannot be judged.")
        return cleaned


class DistanceForm(forms.Form):
    """How far apart grades must lie to be adjudicated: more than `steps` steps of the scale."""

    steps = forms.TypedChoiceField(label="Pairs with", coerce=int)

    def __init__(self, given: str, *, scale: Sequence[Grade]) -> None:
        self.scale = scale
        # On a scale of two grades nothing can lie more than one step apart.
        self.usual = 1 if len(scale) > 2 else 0
        super().__init__({"steps": given or self.usual})
        field = self.fields["steps"]
        field.choices = [(steps, apart(steps)) for steps in range(max(1, len(scale) - 1))]
        field.error_messages["invalid_choice"] = (
            f"“%(value)s” is no distance on this scale: steps can be 0 to {field.choices[-1][0]}."
        )

    @property
    def steps_apart(self) -> int:
        return self.cleaned_data["steps"]

    @property
    def words(self) -> str:
        return apart(self.steps_apart)

    @property
    def keep(self) -> str:
        """The end of an address that asks for the same distance; empty for the usual one."""
        return "" if self.steps_apart == self.usual else f"?steps={self.steps_apart}"


def apart(steps: int) -> str:
    if steps == 0:
        return "grades that differ"
    return f"grades more than {steps} step{'s' if steps > 1 else ''} apart"


class WithReason(forms.Form):
    """An act of an admin that is kept with its reason."""

    reason = forms.CharField(max_length=5_000, error_messages={"required": "Say why: the reason is kept with it."})


class AdjudicationForm(WithReason):
    """A grade of the scale by its value, why, and the latest act about the pair that the page showed."""

    grade = forms.DecimalField(error_messages={"required": "Choose a grade."})
    seen = forms.IntegerField(min_value=0)

    def __init__(self, *args, scale: Sequence[Grade], **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.scale = scale

    def clean_grade(self) -> Grade:
        value = self.cleaned_data["grade"]
        for grade in self.scale:
            if grade.value == value:
                return grade
        raise forms.ValidationError(f"The scale has no grade {value}. Choose one of the buttons.")


class WithdrawalForm(WithReason):
    """Why, and the adjudication that the page showed."""

    seen = forms.IntegerField(min_value=1)
