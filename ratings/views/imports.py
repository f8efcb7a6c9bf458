"""The import desk for admins: send files, see how they are understood and what would happen, import, undo.

A page is the state of one job and no more: whoever looks later, or without a script, sees the same.
"""

import re
from dataclasses import replace

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from .. import jobs, uploads
from ..access import collection_for
from ..formats.refusal import Refusal, counted
from ..import_forms import USUAL, HowForm, SendForm
from ..intake.undoing import kept
from ..models import Collection, Job, Role
from ..preview import Preview, kind_seen, preview, refused_files, refused_lines
from .job_pages import cancel, heading, progress, refusals_of, waits

AT_ONCE = 50
LISTED = 100  # refused lines on the page
# An option of a command as refusals name it, with its value; and what the page words otherwise as a whole.
OPTION = re.compile(r"(?<!['\w-])--([a-z][a-z-]*)(?: (NAME|score|rank|[^=;]+=…))?")
CURES = [
    (re.compile(r"^Say which, as in --columns .*"), "Say below which column holds what."),
    (re.compile(r"--queries-by key or --queries-by text"), "--queries-by"),
    (re.compile(r"--order rank or --order score"), "--order"),
    (re.compile(r"^Give --order(?= rank\.| score\.|\.)"), "Say what counts, with --order"),
    (re.compile(r", with import_[a-z]+"), ""),
    (re.compile(r": use import_[a-z]+\."), ": say so under “What is in it?”."),
]
State = Job.State


@require_safe
@never_cache
def imports(request: HttpRequest, slug: str) -> HttpResponse:
    """A form for files, and what was imported."""
    return imports_page(request, collection_for(request, slug, Role.ADMIN), SendForm())


@require_POST
def send_files(request: HttpRequest, slug: str) -> HttpResponse:
    """Keep the files and have them checked. Nothing of them is in the record then."""
    collection = collection_for(request, slug, Role.ADMIN)
    form = SendForm(request.POST, request.FILES)
    if not form.is_valid():
        return imports_page(request, collection, form)
    files = []
    try:
        for sent in form.cleaned_data["files"]:
            files.append(uploads.keep(sent))
    except OSError as error:
        uploads.forget(files)
        form.add_error("files", f"It cannot be kept here: {error.strerror or error}.")
        return imports_page(request, collection, form)
    files = uploads.distinct(files)
    try:
        kind = form.cleaned_data["kind"] or kind_seen(files[0], has_queries=collection.queries.exists())
    except ValueError as error:
        uploads.forget(files)
        form.add_error("files", f"{error}")
        return imports_page(request, collection, form)
    if kind is None:
        uploads.forget(files)
        form.add_error("kind", "The file does not show it. Say what is in it, and send it again.")
        return imports_page(request, collection, form)
    return redirect("import_job", slug, jobs.check(collection, kind, files, USUAL[kind], request.user).pk)


@require_safe
@never_cache
def import_job(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    collection = collection_for(request, slug, Role.ADMIN)
    return job_page(request, collection, job_of(collection, pk))


@require_POST
def check_import(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Read the files in another way."""
    collection = collection_for(request, slug, Role.ADMIN)
    job = job_of(collection, pk)
    form = HowForm(request.POST, job=job, columns=seen_of(job).columns)
    if not form.is_valid():
        return job_page(request, collection, job, form)
    if not jobs.check_again(job, form.cleaned_data["kind"], form.options):
        messages.warning(request, "It is under way, or over: nothing changed.")
    return redirect("import_job", slug, pk)


@require_POST
def start_import(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    job = job_of(collection_for(request, slug, Role.ADMIN), pk)
    leave_out = {"leave_out": True} if job.kind == Job.Kind.RATINGS and "leave_out" in request.POST else {}
    options = {name: value for name, value in job.options.items() if name != "leave_out"}
    if not jobs.start(job, options | leave_out):
        messages.warning(request, "It is under way, or over: nothing changed.")
    return redirect("import_job", slug, pk)


@require_POST
def cancel_import(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    cancel(request, job_of(collection_for(request, slug, Role.ADMIN), pk))
    return redirect("import_job", slug, pk)


@require_POST
def undo_import(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Take the whole import back, or say what rests on it."""
    job = job_of(collection_for(request, slug, Role.ADMIN), pk)
    against = jobs.undo(job, request.user)
    for sentence in against:
        messages.warning(request, sentence)
    if not against:
        ratings = job.kind == Job.Kind.RATINGS
        what = "Each rating is what it was before" if ratings else "Nothing of it is in the record any more"
        messages.success(request, f"Undone. {what}.")
    return redirect("import_job", slug, pk)


@require_safe
@never_cache
def import_progress(request: HttpRequest, slug: str, pk: int) -> JsonResponse:
    return progress(job_of(collection_for(request, slug, Role.ADMIN), pk))


@require_safe
@never_cache
def refused(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The refused lines of one file, to be mended and sent again."""
    job = job_of(collection_for(request, slug, Role.ADMIN), pk)
    files = refused_files(job)
    number = next((number for number in files if str(number) == request.GET.get("file", str(number))), None)
    if number is None:
        raise Http404("No refused line can be given, or the file is no longer kept.")
    text = b"".join(refused_lines(job, number))
    name = job.files[number]["name"].removesuffix(".gz")
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="refused-{plain(name)}"'
    return response


def imports_page(request: HttpRequest, collection: Collection, form: SendForm) -> HttpResponse:
    page = Paginator(imports_of(collection), AT_ONCE).get_page(request.GET.get("page"))
    context = {
        "collection": collection,
        "role": collection.role,
        "section": "imports",
        "form": form,
        "page": page,
        "numbers": list(page.paginator.get_elided_page_range(page.number)),
    }
    return render(request, "ratings/imports.html", context, status=400 if form.errors else 200)


def job_page(request: HttpRequest, collection: Collection, job: Job, form: HowForm | None = None) -> HttpResponse:
    """The state of a job: at work, checked with what would happen, or over with what happened."""
    report = job.report
    refusals = [on_page(refusal, job) for refusal in refusals_of(job)]
    every = report.get("refused", 0) + report.get("left_out", 0)
    context = {
        "collection": collection,
        "role": collection.role,
        "section": "imports",
        "job": job,
        "heading": heading(job, "Importing", "Imported"),
        "waits": waits(job),
        "report": report,
        "refusals": refusals[:LISTED],
        "more": every - min(len(refusals), LISTED),
        "every": every,
        "grades": histogram(report.get("grades", {})),
        "scale": [grade.value for grade in collection.grades.all()],
        "kept": kept(job) if job.state in (State.PUBLISHED, State.UNDONE) else [],
    }
    if job.is_over and job.state not in (State.CANCELLED, State.UNDONE):
        seen = seen_of(job)
        context |= {
            "seen": seen,
            "form": form or HowForm(job=job, columns=seen.columns),
            "files": [(number, job.files[number]["name"]) for number in refused_files(job)],
            "will": will_happen(job),
            "before": sent_before(job),
            "can_leave_out": can_leave_out(job),
        }
    return render(request, "ratings/import.html", context, status=400 if form and form.errors else 200)


def job_of(collection: Collection, pk: int) -> Job:
    return get_object_or_404(imports_of(collection), pk=pk)


def imports_of(collection: Collection) -> QuerySet[Job]:
    """Not the archive that the whole collection came from."""
    return collection.jobs.exclude(kind=Job.Kind.ARCHIVE).select_related("by")


def seen_of(job: Job) -> Preview:
    """The beginning of its first file. Nothing, where that is no longer kept or was a command's."""
    try:
        return preview(job) if "stored" in job.files[0] else Preview()
    except (OSError, ValueError):
        return Preview()


def histogram(grades: dict[str, int]) -> list[dict]:
    """A row for each grade, lowest first, with its share of all and its part of the longest bar, in percent."""
    total, most = sum(grades.values()), max(grades.values(), default=0)
    rows = sorted(((float(value), n) for value, n in grades.items()), key=lambda row: row[0])
    return [{"value": value, "n": n, "share": n / total, "bar": f"{100 * n / most:.1f}"} for value, n in rows]


def will_happen(job: Job) -> list[str]:
    """What an import of what was checked would do, in sentences."""
    counts = job.report.get("counts", {})
    new, changed, same = (counts.get(name, 0) for name in ("new", "changed", "unchanged"))
    one, many = {
        Job.Kind.QUERIES: ("query", "queries"),
        Job.Kind.DOCUMENTS: ("document", "documents"),
        Job.Kind.RESULTS: ("ranking", "rankings"),
        Job.Kind.RATINGS: ("rating", "ratings"),
    }[job.kind]
    said = []
    if new:
        said.append(f"{counted(new, one + ' is', many + ' are')} added.")
    if changed:
        other = "another grade, reason or comment" if job.kind == Job.Kind.RATINGS else "another text"
        said.append(f"{counted(changed, one + ' gets', many + ' get')} {other}.")
    if same:
        left = "the same, and left as it is" if same == 1 else "the same, and left as they are"
        said.append(f"{counted(same, one + ' is', many + ' are')} here already, {left}.")
    if documents := counts.get("documents"):
        one = "document is made with its id alone, and gets its text when it comes"
        many = "documents are made with their id alone, and get their text when it comes"
        said.append(f"{counted(documents, one, many)}.")
    if grades := counts.get("grades"):
        said.append(f"The collection takes its scale of {counted(grades, 'grade')} from here.")
    if job.kind in (Job.Kind.RESULTS, Job.Kind.RATINGS) and (new or changed):
        said.append("Results change; frozen evaluations do not.")
    return said


def can_leave_out(job: Job) -> bool:
    """Whether the rest could be imported. The import itself looks once more."""
    report = job.report
    every = len(report.get("refusals", [])) == report.get("refused", 0)
    lines = all(refusal["line"] for refusal in report.get("refusals", []))
    return job.kind == Job.Kind.RATINGS and every and lines and not report.get("cut_off")


def sent_before(job: Job) -> Job | None:
    """An earlier import of the very same bytes."""
    sent = {file.get("sha256") for file in job.files}
    earlier = Job.objects.filter(collection=job.collection, kind=job.kind, state=State.PUBLISHED, pk__lt=job.pk)
    return next((one for one in earlier if sent == {file.get("sha256") for file in one.files}), None)


def on_page(refusal: Refusal, job: Job) -> Refusal:
    """In the words of the page, where a command has options."""
    fields = HowForm(job=job, columns={}).fields

    def label(option: re.Match) -> str:
        name, value = option.groups()
        value = "" if value == "NAME" else value
        field = fields.get(name.replace("-", "_"))
        if field:
            return f"“{field.label}”" + (f": {value}" if value else "")
        return "the columns" if name == "columns" else option[0]

    problem, cure = (OPTION.sub(label, text) for text in (refusal.problem, of_page(refusal.cure)))
    return replace(refusal, problem=problem, cure=cure)


def of_page(cure: str) -> str:
    """A sentence that is about more than one option, or about a command."""
    for said, instead in CURES:
        cure = said.sub(instead, cure)
    return cure


def plain(name: str) -> str:
    """A name that may stand in a header between quotation marks."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
