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
from django.utils.text import capfirst
from django.views.decorators.http import require_safe

from ratings.copies import archive, run_metadata
from ratings.copies import rows as record_rows
from ratings.database.snapshot import snapshot
from ratings.formats import spreadsheet
from ratings.formats.registry import BY_NAME, Format, writable
from ratings.models import Collection, Role
from ratings.people import audit
from ratings.people.access import of_collection, readers_page
from ratings.pool import rounds
from ratings.web import downloads
from ratings.web.pages import frame

from ... import record
from ...judgments.rules import ADJUDICATIONS, RULE_DESCRIPTIONS
from ...page.address import problem_of_parameters, takes
from ...page.raters import names_in
from ...record import judgment_rows
from ...scores.asked import by_default
from .. import dataset


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
        if data is not None:  # an address may leave out fields
            data = self.usual_of(collection) | data.dict()
        # The page has several of these forms.
        super().__init__(data, auto_id=f"{self.kind}-%s", initial=self.usual_of(collection))
        titles = {each.name: capfirst(each.title) for each in writable(self.kind)}
        # The title of CSV lists all separators that are read; commas are written.
        self.fields["format"].choices = list({**titles, "csv": "Comma-separated values (CSV)"}.items())
        self.order_fields([name for name in self.fields if name not in ("format", "raw")])

    def usual_of(self, collection: Collection) -> dict[str, str]:
        """What a field holds where nothing was chosen, by its name."""
        return {"format": self.usual}

    @property
    def chosen(self) -> Format:
        return BY_NAME[self.cleaned_data["format"]]

    @property
    def about(self) -> str:
        """What the name of the file says of the chosen options."""
        return ""

    @property
    def ending(self) -> str:
        return self.chosen.ending

    def rows(self, collection: Collection) -> Iterable:
        raise NotImplementedError

    def written(self, collection: Collection) -> Iterable[str | bytes]:
        """The file, in pieces. Raises ValueError for rows that the format cannot hold."""
        raw = self.cleaned_data["raw"]
        lines = self.chosen.written(self.kind, self.rows(collection), raw=raw)
        # Other programs than spreadsheets read the other formats.
        return spreadsheet.with_mark(lines, raw=raw) if self.chosen.name == "csv" else lines


class JudgmentsForm(ExportForm):
    kind = "judgments"

    rule = forms.ChoiceField(
        label="Several ratings become one judgment by",
        choices=[(name, f"{name}: {description}") for name, description in RULE_DESCRIPTIONS.items()],
        help_text="A mean can lie between two grades: CSV holds that, qrels whole grades alone.",
    )
    adjudications = forms.ChoiceField(choices=list(ADJUDICATIONS.items()))
    map = forms.CharField(
        label="Whole numbers for other grades",
        required=False,
        help_text="For formats that hold only whole grades from 0 on, such as qrels: -1=0,0.5=1",
    )

    def __init__(self, data=None, *, collection: Collection) -> None:
        super().__init__(data, collection=collection)
        rule = by_default(collection)["rule"]
        about = f"Results counts by {rule}; another rule gives other numbers. {self.fields['rule'].help_text}"
        self.fields["rule"].help_text = about

    def usual_of(self, collection: Collection) -> dict[str, str]:
        default = by_default(collection)
        return super().usual_of(collection) | {name: default[name] for name in ("rule", "adjudications")}

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
    metadata = forms.ChoiceField(
        label="What is known of the run (ir_metadata)",
        choices=[("", "left out"), ("comments", "in the run, as comments before it"), ("file", "alone, as YAML")],
        required=False,
        help_text="Comments are for TREC runs. trec_eval skips them since version 10; pytrec_eval does not.",
    )

    def __init__(self, data=None, *, collection: Collection) -> None:
        super().__init__(data, collection=collection)
        self.fields["system"].queryset = collection.systems.all()
        # Read once, as the page shows them more than once.
        self.fields["system"].choices = list(collection.systems.values_list("pk", "name"))
        if any(" " in name for _, name in self.fields["system"].choices):
            help_text = "A TREC run has %20 for each blank in a name; an import reads it back."
            self.fields["system"].help_text = help_text

    @property
    def about(self) -> str:
        return self.cleaned_data["system"].name

    @property
    def ending(self) -> str:
        return "yml" if self.cleaned_data["metadata"] == "file" else super().ending

    def clean(self) -> None:
        cleaned = self.cleaned_data
        if cleaned.get("metadata") == "comments" and cleaned.get("format") != self.usual:
            self.add_error("metadata", "Only a TREC run can have comments. Choose this format, or the YAML alone.")

    def rows(self, collection: Collection) -> Iterable:
        return record_rows.run(self.cleaned_data["system"])

    def written(self, collection: Collection) -> Iterable[str | bytes]:
        run = super().written(collection)
        return run_metadata.with_metadata(run, self.cleaned_data["system"], self.cleaned_data["metadata"])


class RatingsForm(ExportForm):
    kind = "ratings"

    def rows(self, collection: Collection) -> Iterable:
        """All ratings, with raters named as on the page of agreement."""
        return record_rows.ratings(collection, self.chosen, names_in(collection))


class DatasetForm(JudgmentsForm):
    """The whole collection, with judgments by a rule."""

    usual = "beir"

    def __init__(self, data=None, *, collection: Collection) -> None:
        super().__init__(data, collection=collection)
        self.auto_id = "dataset-%s"
        self.fields["format"].choices = list(dataset.LAYOUTS.items())
        self.fields["rule"].help_text = "A data set has whole grades alone, and a mean can lie between two grades."
        del self.fields["raw"]

    @property
    def chosen(self) -> Format:
        return dataset.AS_QRELS

    @property
    def about(self) -> str:
        return self.cleaned_data["format"]

    @property
    def ending(self) -> str:
        return "zip"

    def written(self, collection: Collection) -> Iterable[str | bytes]:
        fields = self.cleaned_data
        rows = list(self.rows(collection))
        return dataset.written(collection, fields["format"], rows, fields["rule"], names_in(collection))


FORMS = {"judgments": JudgmentsForm, "run": RunForm, "ratings": RatingsForm, "dataset": DatasetForm}


@readers_page
def exports(request: HttpRequest, collection: Collection) -> HttpResponse:
    return exports_page(request, collection)


@readers_page
@downloads.made_in_turn
def export(request: HttpRequest, collection: Collection, what: str) -> HttpResponse:
    """The rows as a file whose name ends in the version of the record, or the page with the error.

    what: the kind of rows, a key of FORMS. The parameters of the address are the fields of its form.
    """
    form = FORMS[what](request.GET, collection=collection)
    if problem := problem_of_parameters(request, form.fields):
        form.add_error(None, problem)
    if not form.is_valid():
        return exports_page(request, collection, **{what: form})
    try:
        with snapshot():
            version = record.version(collection).number
            file = downloads.whole_file(form.written(collection))
    except ValueError as error:
        form.add_error(None, capfirst(str(error)))
        return exports_page(request, collection, **{what: form})
    # form.about: what the chosen options are, such as the rule; "" for nothing to say.
    name = "-".join(filter(None, [collection.slug, what, form.about, f"v{version}"]))
    return snapshot_response(collection, file, f"{name}.{form.ending}", f"{collection.slug} v{version}")


@readers_page
@downloads.made_in_turn
@takes("raw", is_page=False)
def export_rounds(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The pairs of all rounds with their chances, as CSV."""
    with snapshot():
        version = record.version(collection).number
        lines = spreadsheet.download(rounds.table(collection), raw=request.GET.get("raw") == "1")
        file = downloads.whole_file(lines)
    name = f"{collection.slug}-rounds-v{version}.csv"
    return snapshot_response(collection, file, name, f"{collection.slug} v{version}")


@require_safe
@of_collection(Role.ADMIN)
@downloads.made_in_turn
@takes("judges", is_page=False)
def export_archive(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The archive of the collection, for admins; with judges only if the form asks for them."""
    file = tempfile.TemporaryFile()  # noqa: SIM115, the response closes it
    held = archive.write(collection, file, judges=request.GET.get("judges") == "1")
    return snapshot_response(collection, file, archive.file_name(collection.slug, held), held)


def snapshot_response(collection: Collection, file: BinaryIO, name: str, held: str) -> FileResponse:
    """The response with the file. held: for a header, slug and version of what it holds, or its hash."""
    audit.note(audit.Act.EXPORTED, collection, about=name)
    response = downloads.sent(file, name)
    response["Idealist-Snapshot"] = held
    return response


def exports_page(request: HttpRequest, collection: Collection, **refused: ExportForm) -> HttpResponse:
    """The page of exports; with a refused form in place of an empty one, status 400."""
    context = frame(collection, "export") | {
        "rounds": collection.rounds.count(),
        "frozen": collection.frozen_evaluations.count(),
    }
    for name, form in FORMS.items():
        context[f"{name}_form"] = refused.get(name) or form(collection=collection)
    return render(request, "evaluation/exports.html", context, status=400 if refused else 200)
