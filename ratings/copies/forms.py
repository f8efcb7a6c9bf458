"""The form of an archive."""

from django import forms

from ..importing.forms import UPLOAD_LIMIT
from .restoring import wrong_slug


class ArchiveForm(forms.Form):
    """A file, and the name of the new collection in addresses and commands."""

    file = forms.FileField(
        label="File",
        help_text="As <i>Export</i> or export_collection wrote it, here or on another server."
        f" At most {UPLOAD_LIMIT}.",
        error_messages={"required": "Choose a file.", "empty": "The file is empty."},
    )
    slug = forms.CharField(label="Web address", max_length=80, help_text="Letters, digits, - and _.")

    def clean_slug(self) -> str:
        if problem := wrong_slug(self.cleaned_data["slug"]):
            raise forms.ValidationError(f"{problem}.")
        return self.cleaned_data["slug"]
