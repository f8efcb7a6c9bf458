"""The forms of the page of progress."""

from django import forms

from ...models import Collection, Rater
from .cost import Work


class RateForm(forms.Form):
    """The price of rating: by the hour, by the answer, or by both."""

    hour = forms.DecimalField(label="An hour", required=False, min_value=0, max_digits=9, decimal_places=4)
    each = forms.DecimalField(label="An answer", required=False, min_value=0, max_digits=9, decimal_places=4)
    currency = forms.CharField(label="Currency", required=False, max_length=12)

    @property
    def has_price(self) -> bool:
        return self.is_valid() and bool(self.cleaned_data["hour"] or self.cleaned_data["each"])

    def costs(self, work: Work) -> list[float | None]:
        """The cost of the work, with the ends of its interval; None if hours are paid but not known."""
        hour, answer = (float(self.cleaned_data[name] or 0) for name in ("hour", "each"))
        return [
            None if hour and hours is None else answer * work.answers + hour * (hours or 0.0)
            for hours in (work.hours, work.least, work.most)
        ]


class ReleaseForm(forms.Form):
    """The rater whose leases are given back, and the page to return to."""

    rater = forms.ModelChoiceField(Rater.objects.none())
    back = forms.ChoiceField(choices=[("progress", ""), ("rater", "")], required=False)

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rater"].queryset = collection.raters.all()
