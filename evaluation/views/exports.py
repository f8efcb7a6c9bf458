"""Everything that can be taken out of a collection: judgments, runs, ratings, and all of it as one archive.

Each file is made as of one moment before any of it is sent: who downloads slowly keeps nobody waiting, and what
cannot be written is told on the page instead of ending as half a file.
"""

import tempfile
from collections.abc import Callable, Iterable

from django import forms
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from ratings import archive
from ratings import outlet as ratings_outlet
from ratings.access import collection_for
from ratings.formats.known import BY_NAME, Format, writable
from ratings.models import Collection, Role
from ratings.snapshot import snapshot

from .. import outlet
from ..judgments import ADJUDICATIONS, RULES_SAID
from .agreement import names_in


class ExportForm(forms.Form):
    """How rows of one kind are to be written."""

    kind = ""  # of rows, as the formats name it
    usual = "csv"

    format = forms.ChoiceField()
    raw = forms.BooleanField(
        label="Raw cells",
        required=False,
        help_text="For programs. Without it a cell that a spreadsheet would compute begins with an apostrophe.",
    )

    def __init__(self, data=None, *, collection: Collection) -> None:
        usual = {name: field.initial for name, field in self.base_fields.items() if field.initial is not None}
        super().__init__(
            None if data is None else {"format": self.usual, **usual, **data.dict()}, auto_id=self.ids
        )
        self.fields["format"].choices = [(each.name, _called(each)) for each in writable(self.kind)]
        self.fields["format"].initial = self.usual
        self.order_fields([name for name in self.fields if name not in ("format", "raw")])

    @property
    def ids(self) -> str:
        """Several of these forms stand on one page."""
        return f"{self.kind}-%s"

    @property
    def chosen(self) -> Format:
        return BY_NAME[self.cleaned_data["format"]]


class JudgmentsForm(ExportForm):
    kind = "judgments"

    rule = forms.ChoiceField(
        label="Several ratings become one judgment by",
        choices=[(name, f"{name}: {said}") for name, said in RULES_SAID.items()],
        initial="mean",
    )
    adjudications = forms.ChoiceField(choices=list(ADJUDICATIONS.items()), initial="use")
    map = forms.CharField(
        label="Whole numbers for other grades",
        required=False,
        help_text="Where a format holds none but whole grades from 0 on, as qrels do: -1=0,0.5=1",
    )


class RunForm(ExportForm):
    kind = "results"
    usual = "trec-run"

    system = forms.ModelChoiceField(None, empty_label=None)

    def __init__(self, data=None, *, collection: Collection) -> None:
        super().__init__(data, collection=collection)
        self.fields["system"].queryset = collection.systems.all()


class RatingsForm(ExportForm):
    kind = "ratings"


FORMS = {"judgments": JudgmentsForm, "run": RunForm, "ratings": RatingsForm}


@require_safe
@never_cache
def exports(request: HttpRequest, slug: str) -> HttpResponse:
    return exports_page(request, collection_of(request, slug))


@require_safe
@never_cache
def export_judgments(request: HttpRequest, slug: str) -> HttpResponse:
    """One grade for each pair, by the rule that is asked for."""

    def rows(collection: Collection, given: dict, format: Format) -> Iterable:
        replacing = outlet.parse_map(given["map"])
        return outlet.judgments(collection, given["rule"], replacing, given["adjudications"], format)

    return export(request, slug, "judgments", rows, lambda given: given["rule"])


@require_safe
@never_cache
def export_run(request: HttpRequest, slug: str) -> HttpResponse:
    """What one system returned."""

    def rows(collection: Collection, given: dict, format: Format) -> Iterable:
        return ratings_outlet.run(given["system"])

    return export(request, slug, "run", rows, lambda given: given["system"].name)


@require_safe
@never_cache
def export_ratings(request: HttpRequest, slug: str) -> HttpResponse:
    """Every rating; who gave it is named as on the page of agreement."""

    def rows(collection: Collection, given: dict, format: Format) -> Iterable:
        return ratings_outlet.ratings(collection, format, names_in(collection))

    return export(request, slug, "ratings", rows, lambda given: "")


@require_safe
@never_cache
def export_archive(request: HttpRequest, slug: str) -> HttpResponse:
    """All of the collection, for admins."""
    collection = collection_for(request, slug, Role.ADMIN)
    file = tempfile.TemporaryFile()  # noqa: SIM115, the response closes it
    held = archive.write(collection, file)
    return sent(file, archive.file_name(slug, held), held)


def export(
    request: HttpRequest,
    slug: str,
    what: str,
    rows: Callable[[Collection, dict, Format], Iterable],
    more: Callable[[dict], str],
) -> HttpResponse:
    """The rows as a file whose name ends in the version of the record, or the page with what is wrong."""
    collection = collection_of(request, slug)
    form = FORMS[what](request.GET, collection=collection)
    if not form.is_valid():
        return exports_page(request, collection, **{what: form})
    file = tempfile.TemporaryFile()  # noqa: SIM115, the response closes it
    try:
        with snapshot():
            version = Collection.objects.values_list("version", flat=True).get(pk=collection.pk)
            found = rows(collection, form.cleaned_data, form.chosen)
            for part in form.chosen.written(form.kind, found, raw=form.cleaned_data["raw"]):
                file.write(part if isinstance(part, bytes) else part.encode())
    except ValueError as error:
        file.close()
        form.add_error(None, in_words(error))
        return exports_page(request, collection, **{what: form})
    parts = [slug, what, more(form.cleaned_data), f"v{version}"]
    return sent(file, f"{'-'.join(filter(None, parts))}.{form.chosen.ending}", f"{slug} v{version}")


def sent(file, name: str, held: str) -> FileResponse:
    file.seek(0)
    response = FileResponse(file, as_attachment=True, filename=name)
    response["Idealist-Snapshot"] = held
    if name.endswith((".zip", ".parquet")):
        # Or it would be compressed a second time on its way.
        response["Content-Encoding"] = "identity"
    return response


def exports_page(request: HttpRequest, collection: Collection, **asked: ExportForm) -> HttpResponse:
    """The page with the form that was refused, if one was: 400."""
    shown = {f"{name}_form": asked.get(name) or form(collection=collection) for name, form in FORMS.items()}
    context = {"collection": collection, "role": collection.role, "section": "export", **shown}
    context["systems"] = collection.systems.exists()
    context["frozen"] = collection.frozen_evaluations.count()
    return render(request, "evaluation/exports.html", context, status=400 if asked else 200)


def collection_of(request: HttpRequest, slug: str) -> Collection:
    return collection_for(request, slug, Role.ANALYST, Role.ADMIN)


def in_words(error: ValueError) -> str:
    """What a command would say, to somebody who sees a form."""
    said = str(error).replace("--map ", "").replace("--rule median", "the rule median")
    return f"{said[0].upper()}{said[1:].rstrip('.')}."


def _called(format: Format) -> str:
    # Read with any separator, written with commas.
    return "Comma-separated values (CSV)" if format.name == "csv" else format.title[0].upper() + format.title[1:]
