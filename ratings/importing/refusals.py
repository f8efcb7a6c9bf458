"""Refusals on the page of an import: the cure names the fields of its form."""

from collections.abc import Mapping
from dataclasses import replace

from django import forms

from ..formats.columns import RATERS, names_in
from ..formats.refusal import Option, Refusal
from ..models import Job
from .forms import WORDS, HowForm


def with_page_cure(refusal: Refusal, fields: Mapping[str, forms.Field]) -> Refusal:
    """The refusal with its cure in words. `fields` are those of `fields_for`."""
    return replace(refusal, cure=(refusal.cure_text(lambda option: words(option, fields)),))


def fields_for(job: Job) -> Mapping[str, forms.Field]:
    return HowForm(job=job, columns={}, sheets=[""]).fields


def words(option: Option, fields: Mapping[str, forms.Field]) -> str:
    """The option in an imperative: "choose “the score” under “What orders the results”"; "" without a field."""
    if option.name == "before":
        return f"import {option.value} first"
    if option.name == "columns":
        return _of_columns(option.value, fields)
    field = fields.get(option.name)
    if field is None:
        return ""
    label, value = f"“{field.label}”", option.value
    if value is True or isinstance(field, forms.BooleanField):
        return f"tick {label}"
    if isinstance(value, dict):
        return f"write {', '.join(f'{word}=…' for word in value)} under {label}"
    if not isinstance(field, forms.ChoiceField):
        return f"leave {label} empty" if value == "" else f"fill in {label}"
    chosen = dict(field.choices).get({"qrels": "ratings"}.get(value, value))
    return f"choose “{chosen}” under {label}" if chosen else f"choose it under {label}"


def _of_columns(columns: Mapping[str, str | None], fields: Mapping[str, forms.Field]) -> str:
    """The cure in words, for the form's fields that say what each column holds.

    columns: by role the column to choose; None: the person has to choose it; "": no column holds it.
    """
    if None in columns.values():
        return "say below which are raters" if RATERS in columns else "say below which column holds what"
    if len(columns) > 1:  # the columns have no names yet: the file becomes a table once it has no header
        return f"{words(Option('header', 'no'), fields)}, and then say what each column holds"
    ((role, chosen),) = columns.items()
    held, names = WORDS.get(role, role), names_in(role, chosen)
    if not names:
        return f"say below that no column holds the {held}"
    listed = ", ".join(f"“{name}”" for name in names)
    return f"say below that {listed} {'holds' if len(names) == 1 else 'hold'} the {held}"
