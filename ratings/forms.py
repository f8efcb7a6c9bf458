"""What people send."""

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
