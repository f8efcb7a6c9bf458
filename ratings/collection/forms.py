"""The forms of a new collection and of its scale."""

from decimal import Decimal

from django import forms
from django.core.validators import RegexValidator
from django.utils.text import capfirst

from ..copies.forms import OfNewCollection
from ..models import Collection, Grade, plain_value
from ..web.forms import errors_into
from ..web.settings_forms import Versioned, refuse_unless_stored
from ..words import as_sentence
from .changing import Change, Use, uses
from .making import free_slug
from .scales import (
    LONGEST_LABEL,
    LONGEST_MEANING,
    PRESET_BY_NAME,
    PRESETS,
    Step,
    read,
    relevance_problem,
    step,
    step_of,
    usual_relevant_from,
)

OWN_SCALE = "own"
NEW_GRADES_AT_ONCE = 2  # that a form can add
ONE_LINE = RegexValidator(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", "A name is one line, without control characters.", inverse_match=True
)


def relevant_field(help_text: str, *, required: bool) -> forms.DecimalField:
    return forms.DecimalField(
        label="Relevant from grade", max_digits=15, decimal_places=9, required=required, help_text=help_text
    )


def name_field() -> forms.CharField:
    return forms.CharField(
        label="Name",
        max_length=200,
        validators=[ONE_LINE],
        error_messages={"required": "Give it a name, such as Shop search."},
    )


def description_field(**more) -> forms.CharField:
    return forms.CharField(
        label="What is rated",
        max_length=1_000,
        required=False,
        help_text="A sentence for analysts and admins, such as: Products of our shop. Raters do not see it.",
        **more,
    )


class CopyForm(OfNewCollection):
    """The name and the slug of a new collection."""

    name = name_field()
    slug = forms.CharField(
        label="Web address",
        max_length=80,
        required=False,
        help_text="Letters, digits, - and _. Leave empty to use the name.",
    )

    def clean(self) -> None:
        cleaned = self.cleaned_data
        if cleaned.get("name") and cleaned.get("slug") == "":
            cleaned["slug"] = free_slug(cleaned["name"])


class DescriptionForm(Versioned, forms.Form):
    """The name and the description of a collection."""

    name = name_field()
    description = description_field(widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}))

    def __init__(self, *args, collection: Collection, **kwargs) -> None:
        super().__init__(*args, initial={"name": collection.name, "description": collection.description}, **kwargs)

    def clean_description(self) -> str:
        return self.cleaned_data["description"].replace("\r\n", "\n")


class NewCollectionForm(CopyForm):
    """The arguments of `making.make`, the scale by the name of a preset or line by line."""

    description = description_field()
    preset = forms.ChoiceField(
        label="Scale",
        choices=[*((preset.name, preset.title) for preset in PRESETS), (OWN_SCALE, "A scale of your own")],
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
        " Leave empty for what is usual for the scale.",
        required=False,
    )

    def clean(self) -> None:
        super().clean()
        cleaned = self.cleaned_data
        cleaned["scale"] = self._chosen_scale()
        if cleaned["scale"] and "relevant_from" in cleaned:
            self._complete_relevant_from(cleaned["scale"])

    def _chosen_scale(self) -> list[Step]:
        """The steps of the scale that was chosen or typed. What is refused gets an error of the form."""
        preset = self.cleaned_data.get("preset")  # None: none was chosen, which is an error already
        if preset != OWN_SCALE:
            return list(PRESET_BY_NAME[preset].steps) if preset else []
        try:
            scale = read(self.cleaned_data.get("grades", ""))
        except ValueError as error:
            self.add_error("grades", capfirst(as_sentence(error)))
            return []
        if len(scale) < 2 and not self.has_error("grades"):  # a refused text has an error, and no steps
            self.add_error("grades", "Write at least two grades, one a line, such as 0: Irrelevant.")
        return scale

    def _complete_relevant_from(self, scale: list[Step]) -> None:
        """Set an empty `relevant_from` to the usual one, and refuse one above all grades."""
        typed: Decimal | None = self.cleaned_data["relevant_from"]
        if typed is None:
            preset = PRESET_BY_NAME.get(self.cleaned_data["preset"])
            self.cleaned_data["relevant_from"] = preset.relevant_from if preset else usual_relevant_from(scale)
        elif problem := relevance_problem(scale, typed):
            self.add_error("relevant_from", capfirst(as_sentence(problem)))

    @property
    def facts(self) -> dict:
        """The arguments of `making.make`."""
        names = ("slug", "name", "scale", "description", "relevant_from")
        return {name: self.cleaned_data[name] for name in names}


class LabelForm(forms.Form):
    """The label and the meaning of a grade."""

    label = forms.CharField(label="Label", max_length=LONGEST_LABEL, required=False)
    meaning = forms.CharField(
        label="Meaning",
        max_length=LONGEST_MEANING,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )


class GradeForm(LabelForm):
    """A grade of the scale, and whether it is removed."""

    remove = forms.BooleanField(label="Remove", required=False)

    def __init__(self, *args, grade: Grade, use: Use, **kwargs) -> None:
        stored = {"label": grade.label, "meaning": grade.meaning}
        super().__init__(*args, prefix=f"grade-{grade.pk}", initial=stored, **kwargs)
        if self.is_bound:
            for name, value in stored.items():  # a page made before this grade does not send its fields
                self.data.setdefault(self.add_prefix(name), value)
        self.grade, self.use = grade, use
        # An import may have brought longer ones, which can stay.
        self.fields["meaning"].max_length = None

    def clean_remove(self) -> bool:
        if self.cleaned_data["remove"] and self.use:
            raise forms.ValidationError(f"It stays, because of {self.use}.")
        return self.cleaned_data["remove"]

    @property
    def step(self) -> Step:
        lines = {name: self.cleaned_data[name].replace("\r\n", "\n") for name in ("label", "meaning")}
        return Step(self.grade.value, **lines)


class NewGradeForm(LabelForm):
    """A grade to be added as `step`, which is None if the form is empty or invalid."""

    step: Step | None = None

    value = forms.CharField(label="Value", max_length=40, required=False)
    field_order = ("value", "label", "meaning")

    def clean(self) -> None:
        cleaned = self.cleaned_data
        if self.errors or not any(cleaned.values()):
            return
        with errors_into(self, "value"):
            self.step = step(**cleaned)


class ScaleForm(Versioned, forms.Form):
    """The whole scale: its grades, new ones, and the threshold of relevance. `wanted` is the change.

    A form of an earlier scale becomes one of the scale as it is now, and is `outdated`.
    """

    relevant_from = relevant_field(
        "P, R, AP, RR and others only ask whether a document is relevant.", required=True
    )

    def __init__(self, data=None, *, collection: Collection) -> None:
        self.base = collection.scale_version
        self.scale = list(collection.grades.all())
        self.uses = uses(collection)
        # The version of the grades counts among what the form was made from.
        initial = {"base": self.base, "relevant_from": plain_value(collection.relevant_from)}
        super().__init__(data, initial=initial)
        data = self.data if self.is_bound else None  # the copy that Versioned made, which can be changed
        self.grades = [GradeForm(data, grade=grade, use=self.uses.get(grade.pk, Use())) for grade in self.scale]
        self.new = [NewGradeForm(data, prefix=f"new-{place}") for place in range(NEW_GRADES_AT_ONCE)]

    def clean(self) -> None:
        """Validate the forms of all grades, too. If all are valid, `wanted` has the change."""
        grade_forms = [*self.grades, *self.new]
        for form in grade_forms:
            form.full_clean()
        if self.outdated:
            # `Versioned` does this for this form's own fields. Nothing is stored of the grades in `self.new`.
            for form in self.grades:
                refuse_unless_stored(form, {"label", "meaning"})
        self._refuse_twins()
        if any(form.errors for form in grade_forms):
            raise forms.ValidationError("Correct the marked fields below.")
        if self.errors:  # of this form's own fields
            return
        relevant_from = self.cleaned_data["relevant_from"]
        self.wanted = self._wanted(relevant_from)
        if problem := relevance_problem(self.wanted.steps(self.scale), relevant_from):
            self.add_error("relevant_from", capfirst(as_sentence(problem)))

    def _refuse_twins(self) -> None:
        """Add an error to each new grade whose value the scale has already."""
        values = {grade.value for grade in self.scale}
        for form in self.new:
            if form.step and form.step.value in values:
                form.add_error("value", "The scale has this value already.")
            elif form.step:
                values.add(form.step.value)

    def _wanted(self, relevant_from: Decimal) -> Change:
        """The change from the scale to what the form says."""
        removed = tuple(form.grade for form in self.grades if form.cleaned_data["remove"])
        kept = [form for form in self.grades if form.grade not in removed]
        edited = {form.grade: form.step for form in kept if form.step != step_of(form.grade)}
        added = tuple(form.step for form in self.new if form.step)
        return Change(edited=edited, removed=removed, added=added, relevant_from=relevant_from)
