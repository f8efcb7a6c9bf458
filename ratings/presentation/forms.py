"""The form of a presentation: its parts as rows, each with its place."""

from django import forms

from .parts import KINDS, MOST_PARTS, Part, Presented

CHOICES = [(name, kind.title) for name, kind in KINDS.items()]


class PartForm(forms.Form):
    place = forms.IntegerField(label="Place", min_value=0, max_value=999, required=False)
    kind = forms.ChoiceField(label="Kind", choices=CHOICES, required=False)
    path = forms.CharField(label="From", max_length=200, required=False)
    label = forms.CharField(label="Label", max_length=60, required=False)
    unit = forms.CharField(label="Unit", max_length=60, required=False)
    opens = forms.BooleanField(label="Links open", required=False)

    def clean(self) -> dict:
        cleaned = super().clean()
        if cleaned.get("path") and not self.errors:
            try:
                self.part = Part.read({name: cleaned[name] for name in Part.__dataclass_fields__})
            except ValueError as error:
                raise forms.ValidationError(f"Correct this part: {error}.") from error
        return cleaned

    part: Part | None = None


class BasePartForms(forms.BaseFormSet):
    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of a valid form, in the order of their places. Rows without a path are skipped."""
        rows = [form for form in self.forms if form.part and not form.cleaned_data.get("DELETE")]
        places = [form.cleaned_data["place"] for form in rows]
        order = sorted(zip(places, rows, strict=True), key=lambda row: (row[0] is None, row[0] or 0))
        return tuple(form.part for _, form in order)


PartForms = forms.formset_factory(
    PartForm, BasePartForms, extra=3, can_delete=True, max_num=MOST_PARTS, absolute_max=MOST_PARTS + 10
)


class PresentationForm:
    """The rows of a document and those of a query, and the version on which they are based."""

    def __init__(self, data=None, *, presented: Presented | None = None, base: int = 0) -> None:
        self.document = PartForms(data, prefix="document", initial=_rows(presented.document if presented else ()))
        self.query = PartForms(data, prefix="query", initial=_rows(presented.query if presented else ()))
        self.base = _number(data.get("base")) if data is not None else base
        self.errors: list[str] = []

    def is_valid(self) -> bool:
        # Both, so that each shows its errors.
        valid = [self.document.is_valid(), self.query.is_valid()]
        if all(valid) and not self.document.parts:
            self.errors.append("Show at least one part of a document.")
        return all(valid) and not self.errors

    @property
    def presented(self) -> Presented:
        return Presented(self.document.parts, self.query.parts)


def _rows(parts: tuple[Part, ...]) -> list[dict]:
    return [{"place": place, **vars(part)} for place, part in enumerate(parts, 1)]


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else 0
