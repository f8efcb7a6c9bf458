"""The pages of imports: send files, see how they are read and what they would change, import, undo.

A page depends only on the state of its job, so a reload, or a browser without scripts, shows the same.
"""

from collections.abc import Sequence

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from ...formats.columns import FIELDS
from ...formats.refusal import Refused
from ...formats.source import EXCEL_ENCODING
from ...models import MAKERS, Collection, Job
from ...people.access import admin_page, record_act
from ...web.pages import frame, paged
from .. import jobs, uploads
from ..forms import LABELS, USUAL_OPTIONS, HowForm, SendForm
from ..job_pages import job_context, no_worker_warning, stored_files
from ..preview import Preview, begins_otherwise, certain_kind, header_of, preview
from ..proposing import lacking
from ..refusals import asks_for, fields_for, with_page_cure
from ..samples import NAMES

ROWS_PER_PAGE = 50
State = Job.State


@admin_page
def imports(request: HttpRequest, collection: Collection) -> HttpResponse:
    """A form for files, and the imports so far."""
    return imports_page(request, collection, SendForm(initial={"kind": request.GET.get("kind", "")}))


@uploads.takes_files
@record_act
def send_files(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Store the files and queue a check, which changes no record."""
    form = SendForm(request.POST, request.FILES)
    files = stored_files(form, collection) if form.is_valid() else []
    if form.errors:
        return imports_page(request, collection, form)
    try:
        encoding = _encoding_of(collection, files)
        kind = form.cleaned_data["kind"] or certain_kind(files, encoding)  # None: people have to choose it
        header = header_of(files[0], encoding)
    except Refused as error:
        uploads.forget(files)
        (refusal,) = error.refusals  # reading stops at the first one
        form.add_error("files", f"{refusal.sentence} {refusal.cure_text()}")
        return imports_page(request, collection, form)
    facts = _facts_of_job(collection, kind or "", header, encoding)
    job = jobs.check(collection, files=files, by=request.user, **facts)
    return redirect("import_job", collection.slug, job.pk)


def _encoding_of(collection: Collection, files: Sequence[dict]) -> str | None:
    """The encoding of a file that is not UTF-8: the one that people chose last, or that of Excel."""
    if not begins_otherwise(files):
        return None
    return jobs.former_encoding(collection) or str(EXCEL_ENCODING.value)


def _facts_of_job(collection: Collection, kind: str, header: list[str], encoding: str | None) -> dict:
    """Kind, options and header of a new job. The columns are as people chose for the last file with this header.

    The kind is "" if neither the file nor a former import shows it.
    """
    former = jobs.former_choice(collection, header, kind)
    encoding_option = {"encoding": encoding} if encoding else {}
    if former is None:
        return {"kind": kind, "options": USUAL_OPTIONS.get(kind, {}) | encoding_option, "header": []}
    options = USUAL_OPTIONS[former.kind] | {"columns": former.options["columns"]} | encoding_option
    return {"kind": former.kind, "options": options, "header": header}


@admin_page
def import_job(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    return job_page(request, collection, job_of(collection, pk))


@record_act
def check_import(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Check the files again with other options, or for the first time once their kind was chosen."""
    job = job_of(collection, pk)
    seen = preview_of(job)
    form = HowForm(request.POST, job=job, columns=seen.columns, sheets=seen.sheets)
    if not form.is_valid():
        return job_page(request, collection, job, form)
    kind = form.cleaned_data["kind"]
    if job.kind:
        # If people chose columns, the next file with this header gets the same ones. [] is the header of no file.
        header = list(seen.columns) if "columns" in form.options else []
        facts = {"kind": kind, "options": form.options, "header": header}
    else:  # only now somebody has chosen the kind, and the page asked for nothing else
        encoding = job.options.get("encoding")
        facts = _facts_of_job(collection, kind, header_of(job.files[0], encoding), encoding)
    if not jobs.check_again(job, **facts):
        messages.warning(request, "The import is running or has ended, so nothing changed.")
    return redirect("import_job", collection.slug, pk)


@record_act
def start_import(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    job = job_of(collection, pk)
    if not jobs.start(job):
        messages.warning(request, "The import is running or has ended, so nothing changed.")
    return redirect("import_job", collection.slug, pk)


def imports_page(request: HttpRequest, collection: Collection, form: SendForm) -> HttpResponse:
    context = {
        **frame(collection, "imports"),
        "form": form,
        "samples": NAMES,
        **paged(request, imports_of(collection), ROWS_PER_PAGE),
        "no_worker": no_worker_warning(),
    }
    return render(request, "ratings/imports.html", context, status=400 if form.errors else 200)


def job_page(request: HttpRequest, collection: Collection, job: Job, form: HowForm | None = None) -> HttpResponse:
    """The page of a job in any state: what a checked job would change, or what a finished one changed.

    `form`: the one that was sent, where it is invalid.
    """
    context = {
        **frame(collection, "imports"),
        **job_context(job, doing="Importing", done="Imported"),  # also heading and refusals, changed below
        "grades": histogram(job.report.get("grades", {})),
        "scale": [grade.value for grade in collection.grades.all()],
    }
    # A checked job is over, too: its columns can still be chosen.
    if job.is_over and job.state not in (State.CANCELLED, State.UNDONE):
        seen = preview_of(job)
        context |= reading_context(job, seen, form)
        if seen.lacking:  # the page asks for these columns, and their refusals would say it again
            context["refusals"] = [each for each in context["refusals"] if not asks_for(each, seen.lacking)]
    if job.state == State.PUBLISHED:
        context["heading"] = "Import finished"  # and "Not imported", by `done`, where it failed
    # Each cure says what to choose in which field of the form, by its label. A report may have no refusals.
    fields = fields_for(job)
    context["refusals"] = [with_page_cure(refusal, fields) for refusal in context["refusals"]]
    return render(request, "ratings/import.html", context, status=400 if form and form.errors else 200)


def reading_context(job: Job, seen: Preview, form: HowForm | None) -> dict:
    """How the first file of a job is read, and the form that changes it: the one that was sent, if any.

    A role says what a column holds.
    """
    roles = seen.columns | seen.proposed  # by column
    return {
        "seen": seen,
        # The roles for which people must choose a column.
        "asked": [LABELS.get(role, role) for role in seen.lacking],
        # Whether the proposed columns have all of these roles, so that people need only agree.
        "guessed": bool(seen.lacking) and not lacking(job.kind, roles),
        # The columns that the page marks as proposed: all but those that are only kept as fields.
        "proposals": [name for name, role in seen.proposed.items() if role != FIELDS],
        "former": former_of(job),  # the import whose choice of columns is used again
        "form": form or HowForm(job=job, columns=roles, sheets=seen.sheets),
    }


def former_of(job: Job) -> Job | None:
    """The import whose choice of columns this one took over; None if people chose its columns, or nobody did."""
    former = jobs.former_choice(job.destination, job.header, job.kind, before=job.pk)
    return former if former and former.options["columns"] == job.options.get("columns") else None


def job_of(collection: Collection, pk: int) -> Job:
    return get_object_or_404(imports_of(collection), pk=pk)


def imports_of(collection: Collection) -> QuerySet[Job]:
    """The imports of files, without those that have pages of their own."""
    elsewhere = [*MAKERS, Job.Kind.PICTURES, Job.Kind.LOG, Job.Kind.ENGINE, Job.Kind.NIGHT]
    return collection.jobs.exclude(kind__in=elsewhere).select_related("by")


def preview_of(job: Job) -> Preview:
    """A preview of the first file; empty if the file is no longer stored or was read by a command."""
    try:
        return preview(job) if "stored" in job.files[0] else Preview()
    except ConnectionError:
        raise  # without a preview, the form would lose the columns that were chosen
    except (OSError, ValueError):
        return Preview()


def histogram(grades: dict[str, int]) -> list[dict]:
    """A row for each grade, lowest first: `n` ratings, their share of all, the length of the bar in percent."""
    total, most = sum(grades.values()), max(grades.values(), default=0)
    rows = sorted((float(value), n) for value, n in grades.items())
    return [{"value": value, "n": n, "share": n / total, "bar": f"{100 * n / most:.1f}"} for value, n in rows]
