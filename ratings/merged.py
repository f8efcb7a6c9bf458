"""Forms of settings that several people have open: nobody takes back what another changed meanwhile."""

from decimal import InvalidOperation
from hashlib import sha256

from django import forms
from django.db.models import Model
from django.http import Http404, QueryDict

SHOWN = 300  # characters of what somebody else wrote
LONG = 200  # characters from which a page sends a digest along, which is enough to compare


def lock(row: Model) -> None:
    """Lock the row until the transaction ends, and read it again. Raises Http404 if it was deleted meanwhile."""
    try:
        row.refresh_from_db(from_queryset=type(row).objects.select_for_update())
    except type(row).DoesNotExist as error:
        raise Http404 from error


class Seen(forms.HiddenInput):
    """What a field held when the page was opened."""

    def format_value(self, value: object) -> object:
        return _comparable(super().format_value(value))


def _comparable(value: object) -> object:
    """The value; of a long text its digest. Once more, it is the same."""
    if not isinstance(value, str) or len(value) < LONG:
        return value
    return f"sha256:{sha256(_one_form(value).strip().encode()).hexdigest()}"


def _one_form(text: str) -> str:
    """The text with the newlines that are stored; browsers send others."""
    return text.replace("\r\n", "\n")


class Merged:
    """A form whose page sends along what its fields held. `initial` is what is stored now.

    A field that was not touched gets what is stored now. One that somebody else changed, too, to something
    else, is an error that says what is stored; sent once more, it is saved. Validate it in a transaction that
    locks the row.
    """

    apart: tuple[str, ...] = ()  # fields that are no settings
    copies = True  # what was sent, before it is brought up to date

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.conflicts: dict[str, str] = {}
        merged = [bound for bound in self if bound.name not in self.apart]
        for bound in merged:
            bound.field.show_hidden_initial, bound.field.hidden_widget = True, Seen
        if self.is_bound:
            self.data = self.data.copy() if self.copies else self.data
            for bound in merged:
                self._merge(bound, self.data)

    def _merge(self, bound: forms.BoundField, data: QueryDict) -> None:
        """Bring one field up to date in what was sent. Programs need not send what they saw."""
        name, of_seen = bound.html_name, bound.html_initial_name
        seen, now = data.get(of_seen), bound.initial
        # Always, as a page that comes back would otherwise call what was sent what the field held.
        data[of_seen] = "" if now is None else str(now)
        if seen is None or self._same(bound.field, seen, now):
            return
        sent = bound.field.widget.value_from_datadict(data, self.files, name)
        if self._same(bound.field, sent, seen):
            data[name] = data[of_seen]
        elif not self._same(bound.field, sent, now):
            self.conflicts[bound.name] = self._words(bound, now)

    @staticmethod
    def _same(field: forms.Field, *values: object) -> bool:
        try:
            first, second = (
                _comparable(field.to_python(_one_form(value) if isinstance(value, str) else value))
                for value in values
            )
            return first == second
        except (forms.ValidationError, InvalidOperation):  # which a signalling NaN raises when it is compared
            return False

    @staticmethod
    def _words(bound: forms.BoundField, now: object) -> str:
        shown = str(dict(getattr(bound.field, "choices", ())).get(now, "" if now is None else now))
        shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
        did = f"has changed this meanwhile: “{shown}”" if shown else "has emptied this meanwhile"
        return f"Not saved. Somebody else {did}. Yours is in the field: save it again, or write what both want."

    def full_clean(self) -> None:
        super().full_clean()
        for name, words in self.conflicts.items():
            self.add_error(name, words)
