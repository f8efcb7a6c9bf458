"""What several forms share: they are about one collection, or want a name typed before something is deleted."""

from django import forms

from ..models import Collection


class OfCollection(forms.Form):
    """A form about rows of one collection."""

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.collection = collection


class Confirmation(forms.Form):
    """A name, typed to confirm that it is deleted. Blanks at its ends and their number do not matter."""

    name = forms.CharField(
        label="Type the name to confirm",
        max_length=400,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "dir": "auto"}),
    )

    def __init__(self, *args, expected: str, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.expected = " ".join(expected.split())

    def clean_name(self) -> str:
        if " ".join(self.cleaned_data["name"].split()) != self.expected:
            raise forms.ValidationError(f"This is not the name. Type “{self.expected}”.")
        return self.expected
