"""The form of an archive."""

from django import forms

from ..importing.forms import UPLOAD_LIMIT
from .restoring import wrong_slug


class OfNewCollection(forms.Form):
    """A form with the slug of a new collection, which may be empty where the form lets it."""

    def clean_slug(self) -> str:
        slug = self.cleaned_data["slug"]
        if slug and (problem := wrong_slug(slug)):
            raise forms.ValidationError(f"{problem}.")
        return slug


class ArchiveForm(OfNewCollection):
    """A file, and the name of the new collection in addresses and commands."""

    file = forms.FileField(
        label="File",
        help_text="As <i>Export</i> or export_collection wrote it, here or on another server."
        f" At most {UPLOAD_LIMIT}.",
        error_messages={"required": "Choose a file.", "empty": "The file is empty."},
    )
    slug = forms.CharField(label="Web address", max_length=80, help_text="Letters, digits, - and _.")
