"""Forms of settings that several people have open: nobody takes back what another changed without seeing it."""

from hashlib import sha256

from django import forms
from django.db.models import Model
from django.http import Http404

CHARACTERS_SHOWN = 300  # of what is stored, in an error


def lock(row: Model) -> None:
    """Lock the row until the transaction ends, and read it again. Raises Http404 if it was deleted meanwhile."""
    try:
        row.refresh_from_db(from_queryset=type(row).objects.select_for_update())
    except type(row).DoesNotExist as error:
        raise Http404 from error


class Versioned:
    """A form of settings whose page sends along the version of what it showed. `initial` is what is stored now.

    If somebody changed that meanwhile the form is `outdated`. Then each field whose value is not the stored one
    has an error, which says what is stored. Sent once more, the form is saved. Validate it in a transaction that
    locks the row.
    """

    outdated = False

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        version = sha256(repr(sorted(self.initial.items())).encode()).hexdigest()
        # Without an id, as a page may have several of these forms.
        self.fields["version"] = forms.CharField(required=False, widget=forms.HiddenInput({"id": False}))
        self.initial["version"] = version
        if self.is_bound:
            self.data = self.data.copy()
            self.outdated = self.data.get("version", version) != version  # programs need not send it
            self.data["version"] = version

    def full_clean(self) -> None:
        super().full_clean()
        if self.is_bound:
            self.cleaned_data.pop("version", None)
        if self.outdated:
            refuse_unless_stored(self, self.fields.keys() - {"version"})


def refuse_unless_stored(form: forms.BaseForm, field_names: set[str]) -> None:
    """Add an error to each of these fields whose value is not the stored one."""
    for bound in (form[name] for name in sorted(field_names)):
        if _as_sent(bound.data) == _as_sent(bound.initial):
            continue
        stored = _in_words(bound)
        changed = f"Somebody else has changed this meanwhile{': ' if stored else ''}{stored}."
        cure = "Yours is in the field: save it again, or write what both want."
        form.add_error(bound.name, f"Not saved. {changed} {cure}")


def _in_words(bound: forms.BoundField) -> str:
    """What is stored for the field: “the text”, ticked or not ticked; "" for an empty text."""
    if isinstance(bound.initial, bool):
        return "ticked" if bound.initial else "not ticked"
    labels = dict(getattr(bound.field, "choices", ()))
    shown = str(labels.get(bound.initial, _as_sent(bound.initial)))
    if len(shown) > CHARACTERS_SHOWN:
        shown = f"{shown[:CHARACTERS_SHOWN]}…"
    return shown and f"“{shown}”"


def _as_sent(value: object) -> str:
    """The value as browsers send it, with the newlines that are stored."""
    return "" if value in (None, False) else str(value).replace("\r\n", "\n")
