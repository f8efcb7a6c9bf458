"""Forms of settings that several people have open: nobody takes back what another changed without seeing it."""

from hashlib import sha256

from django import forms
from django.db.models import Model
from django.http import Http404

SHOWN = 300  # characters of what is stored


def lock(row: Model) -> None:
    """Lock the row until the transaction ends, and read it again. Raises Http404 if it was deleted meanwhile."""
    try:
        row.refresh_from_db(from_queryset=type(row).objects.select_for_update())
    except type(row).DoesNotExist as error:
        raise Http404 from error


class Versioned:
    """A form of settings whose page sends along the version of what it showed. `initial` is what is stored now.

    If somebody changed that meanwhile the form is `outdated`, and each field with something else is an error that
    says what is stored. Sent once more, it is saved. Validate it in a transaction that locks the row.
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
            refuse_others(self, self.fields.keys() - {"version"})


def refuse_others(form: forms.BaseForm, names: set[str]) -> None:
    """Make an error of each of these fields that has something else than what is stored."""
    for bound in (form[name] for name in sorted(names)):
        if _as_sent(bound.data) == _as_sent(bound.initial):
            continue
        shown = str(dict(getattr(bound.field, "choices", ())).get(bound.initial, _as_sent(bound.initial)))
        now = f": “{shown if len(shown) <= SHOWN else f'{shown[:SHOWN]}…'}”" if shown else ""
        if isinstance(bound.initial, bool):
            now = ": ticked" if bound.initial else ": not ticked"
        cure = "Yours is in the field: save it again, or write what both want."
        form.add_error(bound.name, f"Not saved. Somebody else has changed this meanwhile{now}. {cure}")


def _as_sent(value: object) -> str:
    """The value as browsers send it, with the newlines that are stored."""
    return "" if value in (None, False) else str(value).replace("\r\n", "\n")
