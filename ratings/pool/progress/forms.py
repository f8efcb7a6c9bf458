"""The forms of the page of progress."""

from django import forms

from ...models import Collection, Pair, Rater
from .cost import Rate


class RateForm(forms.Form):
    """The price of rating: by the hour, by the answer, or by both."""

    hour = forms.DecimalField(label="An hour", required=False, min_value=0, max_digits=9, decimal_places=4)
    each = forms.DecimalField(label="An answer", required=False, min_value=0, max_digits=9, decimal_places=4)
    currency = forms.CharField(label="Currency", required=False, max_length=12)

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        for name, size in (("hour", 8), ("each", 8), ("currency", 6)):
            self.fields[name].widget.attrs["size"] = size

    @property
    def rate(self) -> Rate | None:
        """The rate; None if the form is empty or invalid."""
        sent = self.cleaned_data if self.is_valid() else {}
        hour, each = float(sent.get("hour") or 0), float(sent.get("each") or 0)
        return Rate(hour, each) if hour or each else None


class GiveForm(forms.Form):
    """A pair by its token, and the rater who is to get it."""

    pair = forms.ModelChoiceField(Pair.objects.none(), to_field_name="token")
    rater = forms.ModelChoiceField(Rater.objects.none())

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        pairs = Pair.objects.filter(query__collection=collection)
        self.fields["pair"].queryset = pairs.select_related("query", "document")
        self.fields["rater"].queryset = collection.raters.able()


class ReleaseForm(forms.Form):
    """Leases to give back: one or all, of a rater or, if none is named, of those that expired."""

    assignment = forms.IntegerField(required=False, min_value=1)
    rater = forms.ModelChoiceField(Rater.objects.none(), required=False)
    back = forms.ChoiceField(choices=[("progress", ""), ("rater", "")], required=False)

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rater"].queryset = collection.raters.all()
