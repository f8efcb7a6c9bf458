"""The form of a presentation: its parts as rows, each with its place."""

import re
from math import inf

from django import forms
from django.http import QueryDict

from .parts import KINDS, MOST_PARTS, Part, Presented

CHOICES = [(name, kind.title) for name, kind in KINDS.items()]


class PartForm(forms.Form):
    place = forms.IntegerField(label="Place", min_value=0, max_value=999, required=False, widget=forms.HiddenInput)
    kind = forms.ChoiceField(label="Kind", choices=CHOICES, required=False)
    path = forms.CharField(label="From", max_length=200, required=False)
    label = forms.CharField(label="Label", max_length=60, required=False)
    unit = forms.CharField(label="Unit", max_length=60, required=False)
    opens = forms.BooleanField(label="Links open", required=False)
    part: Part | None = None  # of a valid row with a path

    def clean(self) -> None:
        cleaned = self.cleaned_data
        if cleaned.get("path") and not self.errors:
            try:
                self.part = Part.read({name: cleaned[name] for name in Part.__dataclass_fields__})
            except ValueError as error:
                raise forms.ValidationError(f"Correct this part: {error}.") from error


class BasePartForms(forms.BaseFormSet):
    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of a valid form, in the order of their places. Rows without a path are skipped."""

        def place(form: PartForm) -> float:
            number = form.cleaned_data["place"]
            return inf if number is None else number

        rows = [form for form in self.forms if form.part and not form.cleaned_data.get("DELETE")]
        return tuple(form.part for form in sorted(rows, key=place))


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


def with_row_moved(data: QueryDict) -> QueryDict:
    """The data of a presentation form, with two rows of parts exchanged if a button to move one was pressed.

    The button's value, such as `document 2 up`, names the list, the row and the direction.
    """
    move = re.fullmatch(r"(document|query) (\d{1,3}) (up|down)", data.get("move", ""))
    if not move:
        return data
    prefix, row, direction = move.groups()
    neighbour = int(row) + (1 if direction == "down" else -1)
    if f"{prefix}-{neighbour}-path" not in data:
        return data  # there is no row on that side
    exchanged = data.copy()
    for name in ("kind", "path", "label", "unit", "opens", "DELETE"):  # all fields of a row but its place
        field, neighbour_field = f"{prefix}-{row}-{name}", f"{prefix}-{neighbour}-{name}"
        exchanged.setlist(field, data.getlist(neighbour_field))
        exchanged.setlist(neighbour_field, data.getlist(field))
    return exchanged


def _rows(parts: tuple[Part, ...]) -> list[dict]:
    return [{"place": place, **vars(part)} for place, part in enumerate(parts, 1)]


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else 0
