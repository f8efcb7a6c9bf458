"""The form of the guidelines editor."""

from django import forms


class GuidelinesForm(forms.Form):
    """A text in Markdown, and the version on which it is based: 0 for none."""

    text = forms.CharField(
        label="Text",
        max_length=50_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "dir": "auto", "class": "mono"}),
        help_text="Markdown. At a grade raters see the heading that begins with it, such as “## 3 Perfect”.",
        error_messages={"required": "Write something: guidelines without a word help nobody."},
    )
    base = forms.IntegerField(min_value=0, widget=forms.HiddenInput)

    def clean_text(self) -> str:
        text = self.cleaned_data["text"].replace("\x00", "").replace("\r\n", "\n").rstrip()
        if not text:
            raise forms.ValidationError(self.fields["text"].error_messages["required"])
        return text + "\n"
