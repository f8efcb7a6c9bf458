"""The forms of a new collection and of its scale."""

from decimal import Decimal

from django import forms
from django.utils.text import capfirst

from ..archive import wrong_slug
from ..formats.refusal import as_sentence
from .making import free_slug
from .scales import BY_NAME, PRESETS, Step, never_relevant, read, usual_relevant_from

OWN = "own"
LONGEST_DESCRIPTION = 1_000


def relevant_field(help_text: str, *, required: bool) -> forms.DecimalField:
    return forms.DecimalField(
        label="Relevant from grade", max_digits=15, decimal_places=9, required=required, help_text=help_text
    )


class NewCollectionForm(forms.Form):
    """The arguments of `making.make`, the scale by the name of a preset or line by line."""

    name = forms.CharField(
        label="Name", max_length=200, error_messages={"required": "Give it a name, such as Shop search."}
    )
    slug = forms.CharField(
        label="Name in addresses",
        max_length=80,
        required=False,
        help_text="Letters, digits, - and _. Empty: it is made of the name.",
    )
    description = forms.CharField(
        label="What is rated",
        max_length=LONGEST_DESCRIPTION,
        required=False,
        help_text="A sentence for analysts and admins, such as: Products of our shop. Raters do not see it.",
    )
    preset = forms.ChoiceField(
        label="Scale",
        choices=[*((preset.name, preset.title) for preset in PRESETS), (OWN, "A scale of your own")],
        widget=forms.RadioSelect,
        initial=PRESETS[0].name,
        error_messages={"required": "Choose a scale."},
    )
    grades = forms.CharField(
        label="Your grades, one a line",
        max_length=100_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 6, "dir": "auto", "spellcheck": "false", "class": "mono"}),
        help_text="value: label: meaning. Only the value is needed; it may be negative or decimal.",
    )
    relevant_from = relevant_field(
        "For measures that only ask whether a document is relevant, such as P, R, AP and RR."
        " Empty: as usual for the scale.",
        required=False,
    )

    def clean_name(self) -> str:
        return self.cleaned_data["name"].replace("\x00", "")

    def clean_slug(self) -> str:
        slug = self.cleaned_data["slug"]
        if slug and (problem := wrong_slug(slug)):
            raise forms.ValidationError(f"{problem}.")
        return slug

    def clean(self) -> dict:
        cleaned = super().clean()
        if cleaned.get("name") and cleaned.get("slug") == "":
            cleaned["slug"] = free_slug(cleaned["name"])
        scale = self._scale()
        if scale and "relevant_from" in cleaned:
            self._settle_relevant(scale)
        return cleaned

    def _scale(self) -> list[Step]:
        """The steps, which are kept as `scale`; none where they are refused."""
        preset = self.cleaned_data.get("preset")
        if preset != OWN:
            scale = list(BY_NAME[preset].steps) if preset else []
        else:
            try:
                scale = read(self.cleaned_data.get("grades", ""))
            except ValueError as error:
                self.add_error("grades", capfirst(as_sentence(error)))
                return []
            if len(scale) < 2 and not self.has_error("grades"):
                self.add_error("grades", "Write at least two grades, one a line, such as 0: Irrelevant.")
        self.cleaned_data["scale"] = scale
        return scale

    def _settle_relevant(self, scale: list[Step]) -> None:
        given: Decimal | None = self.cleaned_data["relevant_from"]
        if given is None:
            preset = BY_NAME.get(self.cleaned_data["preset"])
            self.cleaned_data["relevant_from"] = preset.relevant_from if preset else usual_relevant_from(scale)
        elif problem := never_relevant(scale, given):
            self.add_error("relevant_from", capfirst(as_sentence(problem)))

    @property
    def facts(self) -> dict:
        """The arguments of `making.make`."""
        names = ("slug", "name", "scale", "description", "relevant_from")
        return {name: self.cleaned_data[name] for name in names}
