"""Exports of a collection: judgments, runs, ratings, rounds, and an archive of everything.

Each file is made whole from one snapshot before it is sent: slow downloads hold no transaction open, and an error
is shown on the page instead of truncating the file.
"""

import tempfile
from collections.abc import Iterable
from typing import BinaryIO

from django import forms
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import cached_property
from django.views.decorators.http import require_safe

from ratings.copies import archive, rounds
from ratings.copies import rows as record_rows
from ratings.database.snapshot import snapshot
from ratings.formats import spreadsheet
from ratings.formats.registry import BY_NAME, Format, writable
from ratings.models import Collection, Role
from ratings.people import audit
from ratings.people.access import of_collection, readers_page
from ratings.web import downloads
from ratings.web.pages import frame

from ... import record
from ...judgments.rules import ADJUDICATIONS, RULE_DESCRIPTIONS
from ...page.address import misread, takes
from ...page.raters import names_in
from ...record import judgment_rows


class ExportForm(forms.Form):
    """The form of an export: the format and options of its file."""

    kind = ""  # of rows, as the formats name it
    usual = "csv"

    format = forms.ChoiceField()
    raw = forms.BooleanField(
        label="Raw cells",
        required=False,
        help_text="For programs. Otherwise a CSV has a byte order mark, and an apostrophe before each cell that a"
        " spreadsheet would compute.",
    )

    def __init__(self, data=None, *, collection: Collection) -> None:
        usual = {name: field.initial for name, field in self.base_fields.items() if field.initial is not None}
        filled = None if data is None else {"format": self.usual, **usual, **data.dict()}
        # The page has several of these forms.
        super().__init__(filled, auto_id=f"{self.kind}-%s")
        # The title lists all separators that are read; commas are written.
        called = {each.name: f"{each.title[0].upper()}{each.title[1:]}" for each in writable(self.kind)}
        self.fields["format"].choices = list({**called, "csv": "Comma-separated values (CSV)"}.items())
        self.fields["format"].initial = self.usual
        self.order_fields([name for name in self.fields if name not in ("format", "raw")])

    @property
    def chosen(self) -> Format:
        return BY_NAME[self.cleaned_data["format"]]

    @property
    def about(self) -> str:
        """What the name of the file says of the chosen options."""
        return ""


class JudgmentsForm(ExportForm):
    kind = "judgments"

    rule = forms.ChoiceField(
        label="Several ratings become one judgment by",
        choices=[(name, f"{name}: {said}") for name, said in RULE_DESCRIPTIONS.items()],
        initial="mean",
    )
    adjudications = forms.ChoiceField(choices=list(ADJUDICATIONS.items()), initial="use")
    map = forms.CharField(
        label="Whole numbers for other grades",
        required=False,
        help_text="For formats that hold only whole grades from 0 on, such as qrels: -1=0,0.5=1",
    )

    @property
    def about(self) -> str:
        return self.cleaned_data["rule"]

    def rows(self, collection: Collection) -> Iterable:
        fields = self.cleaned_data
        replacing = judgment_rows.parse_map(fields["map"])
        return judgment_rows.judgments(collection, fields["rule"], replacing, fields["adjudications"], self.chosen)


class RunForm(ExportForm):
    kind = "results"
    usual = "trec-run"

    system = forms.ModelChoiceField(None, empty_label=None)

    def __init__(self, data=None, *, collection: Collection) -> None:
        super().__init__(data, collection=collection)
        self.fields["system"].queryset = collection.systems.all()
        self.fields["system"].choices = lambda: self.systems

    @cached_property
    def systems(self) -> list[tuple[int, str]]:
        """The systems, cached because the page reads them more than once."""
        return [(system.pk, system.name) for system in self.fields["system"].queryset]

    @property
    def about(self) -> str:
        return self.cleaned_data["system"].name

    def rows(self, collection: Collection) -> Iterable:
        return record_rows.run(self.cleaned_data["system"])


class RatingsForm(ExportForm):
    kind = "ratings"

    def rows(self, collection: Collection) -> Iterable:
        """All ratings, with raters named as on the page of agreement."""
        return record_rows.ratings(collection, self.chosen, names_in(collection))


FORMS = {"judgments": JudgmentsForm, "run": RunForm, "ratings": RatingsForm}


@readers_page
def exports(request: HttpRequest, collection: Collection) -> HttpResponse:
    return exports_page(request, collection)


@readers_page
@downloads.made_in_turn
def export(request: HttpRequest, collection: Collection, what: str) -> HttpResponse:
    """The rows as a file whose name ends in the version of the record, or the page with the error."""
    form = FORMS[what](request.GET, collection=collection)
    if problem := misread(request, form.fields):
        form.add_error(None, problem)
    if not form.is_valid():
        return exports_page(request, collection, **{what: form})
    raw = form.cleaned_data["raw"]
    try:
        with snapshot():
            version = record.version(collection).number
            lines = form.chosen.written(form.kind, form.rows(collection), raw=raw)
            if form.chosen.name == "csv":  # other programs than spreadsheets read the other formats
                lines = spreadsheet.with_mark(lines, raw=raw)
            file = downloads.whole(lines)
    except ValueError as error:
        form.add_error(None, f"{str(error)[0].upper()}{str(error)[1:]}")
        return exports_page(request, collection, **{what: form})
    name = "-".join(filter(None, [collection.slug, what, form.about, f"v{version}"]))
    return of_snapshot(collection, file, f"{name}.{form.chosen.ending}", f"{collection.slug} v{version}")


@readers_page
@downloads.made_in_turn
@takes("raw", is_page=False)
def export_rounds(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The pairs of all rounds with their chances, as CSV."""
    with snapshot():
        version = record.version(collection).number
        lines = spreadsheet.download(rounds.table(collection), raw=request.GET.get("raw") == "1")
        file = downloads.whole(lines)
    name = f"{collection.slug}-rounds-v{version}.csv"
    return of_snapshot(collection, file, name, f"{collection.slug} v{version}")


@require_safe
@of_collection(Role.ADMIN)
@downloads.made_in_turn
@takes("judges", is_page=False)
def export_archive(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The archive of the collection, for admins; with judges only if the form asks for them."""
    file = tempfile.TemporaryFile()  # noqa: SIM115, the response closes it
    held = archive.write(collection, file, judges=request.GET.get("judges") == "1")
    return of_snapshot(collection, file, archive.file_name(collection.slug, held), held)


def of_snapshot(collection: Collection, file: BinaryIO, name: str, held: str) -> FileResponse:
    audit.note(audit.Act.EXPORTED, collection, about=name)
    response = downloads.sent(file, name)
    response["Idealist-Snapshot"] = held
    return response


def exports_page(request: HttpRequest, collection: Collection, **asked: ExportForm) -> HttpResponse:
    """The page of exports; with a refused form, status 400."""
    shown = {f"{name}_form": asked.get(name) or form(collection=collection) for name, form in FORMS.items()}
    counts = {"rounds": collection.rounds.count(), "frozen": collection.frozen_evaluations.count()}
    context = frame(collection, "export") | shown | counts
    return render(request, "evaluation/exports.html", context, status=400 if asked else 200)
