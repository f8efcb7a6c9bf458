"""The form of the guidelines editor."""

from django import forms


class GuidelinesForm(forms.Form):
    """A text in Markdown, and the version on which it is based: 0 for none."""

    text = forms.CharField(
        label="Text",
        max_length=50_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "dir": "auto", "class": "mono"}),
        help_text="Markdown. Raters see a section at a grade if its heading begins with it: “## 3 Perfect”.",
        error_messages={"required": "Write a text: the guidelines are empty."},
    )
    base = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def clean_text(self) -> str:
        text = self.cleaned_data["text"].replace("\x00", "").replace("\r\n", "\n").rstrip()
        if not text:
            raise forms.ValidationError(self.fields["text"].error_messages["required"])
        return text + "\n"
