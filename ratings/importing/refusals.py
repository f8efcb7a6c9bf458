"""Refusals on the page of an import: the cure names the fields of its form."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from django import forms

from ..formats.columns import RATERS, names_in
from ..formats.refusal import Option, Refusal
from ..formats.values import listed_pair
from ..models import Job
from .forms import LABELS, HowForm


def with_page_cure(refusal: Refusal, fields: Mapping[str, forms.Field]) -> Refusal:
    """The refusal with its cure in words. `fields` are those of `fields_for`."""
    return replace(refusal, cure=(refusal.cure_text(lambda option: instruction(option, fields)),))


def asks_for(refusal: Refusal, roles: Collection[str]) -> bool:
    """Whether each way out of the refusal says which column holds one of these roles."""
    chosen = [isinstance(cure, Option) and cure.name == "columns" and cure.value for cure in refusal.cure]
    return bool(chosen) and all(isinstance(value, Mapping) and set(value) & set(roles) for value in chosen)


def fields_for(job: Job) -> Mapping[str, forms.Field]:
    return HowForm(job=job, columns={}, sheets=[""]).fields


def instruction(option: Option, fields: Mapping[str, forms.Field]) -> str:
    """What to do on the form: "choose “the score” under “What orders the results”"; "" without a field.

    An option has a name, mostly that of a field, and the value to choose.
    """
    if option.name == "before":  # another import has to come first: "queries"
        return f"import {option.value} first"
    if option.name == "columns":
        return _column_instruction(option.value, fields)
    field = fields.get(option.name)
    if field is None:
        return ""
    label = f"“{field.label}”"
    value = option.value
    if value is True or isinstance(field, forms.BooleanField):
        return f"tick {label}"
    # Words and the grades that they stand for, as texts. A grade that the person has to find is None.
    if isinstance(value, dict):
        grades = {word: "…" if grade is None else grade for word, grade in value.items()}
        pairs = ", ".join(listed_pair(word, grade) for word, grade in grades.items())
        return f"write {pairs} under {label}"
    if option.name == "encoding" and value:
        return f"check again with {value} under {label}"
    if not isinstance(field, forms.ChoiceField):
        return f"leave {label} empty" if value == "" else f"fill in {label}"
    # Qrels are no choice of their own: the field has them among the ratings.
    # `chosen` is the label of the choice; None if the person has to find which one it is.
    chosen = dict(field.choices).get("ratings" if value == "qrels" else value)
    return f"choose “{chosen}” under {label}" if chosen else f"choose it under {label}"


def _column_instruction(columns: Mapping[str, str | None], fields: Mapping[str, forms.Field]) -> str:
    """What to do on the form for an option about columns: "say that “url” holds the address".

    columns: role -> the column to choose; None: the person has to choose it; "": no column holds it.
    """
    if None in columns.values():
        return "say which columns are raters" if RATERS in columns else "say what each column holds"
    # An option has several roles only in a table without a header, whose columns have numbers. The form first has
    # to know that: then it shows these columns, and people can say what each holds.
    if len(columns) > 1:
        return f"{instruction(Option('header', 'no'), fields)}, and then say what each column holds"
    ((role, chosen),) = columns.items()
    content = LABELS.get(role, role)
    names = names_in(role, chosen)
    if not names:
        return f"say that no column holds the {content}"
    listed = ", ".join(f"“{name}”" for name in names)
    return f"say that {listed} {'holds' if len(names) == 1 else 'hold'} the {content}"
