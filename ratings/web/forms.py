"""What several forms share: errors of acts, the collection that they are about, a name typed to confirm."""

from collections.abc import Iterator
from contextlib import contextmanager

from django import forms
from django.utils.text import capfirst

from ..models import Collection
from ..words import as_sentence


@contextmanager
def errors_into(form: forms.BaseForm, field: str | None = None) -> Iterator[None]:
    """A ValueError inside becomes an error of the form, of this field or of the whole form."""
    try:
        yield
    except ValueError as error:
        form.add_error(field, capfirst(as_sentence(error)))


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
