"""What the pages of imports and of archives have in common."""

from django.conf import settings
from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from ..formats.refusal import Refusal
from ..models import Collection, Job
from ..models.job import LEASE
from . import jobs, signs, uploads

State = Job.State
REFUSALS_LISTED = 100  # refused lines on a page
WAITING_UPLOADS = 4  # the files of one collection that wait, in uploads of the largest size
TOO_MUCH_WAITS = (
    "Files of {:,.0f} MB were sent to this collection and not imported. Import or cancel them on the page {}"
    " first; after 30 days they are deleted."
)
NO_WORKER = f"There is no worker, so imports wait. Whoever runs this server can start one: {jobs.START_COMMAND}"


def no_worker_warning() -> str:
    """A warning that no worker runs; "" if one does."""
    return "" if signs.has_worker() else NO_WORKER


def heading(job: Job, doing: str, done: str) -> str:
    """The state in a word or two: `doing` while it writes, `done` when it is published."""
    if job.checking and job.state == State.RUNNING:
        return "Checking"
    # `job.stage` is `job.state`, but RUNNING for a job that is queued between two of its turns.
    words = {
        State.QUEUED: "Waiting",
        State.RUNNING: doing,
        State.CHECKED: "Check",  # a noun: the page shows the result of the check
        State.PUBLISHED: done,
        State.FAILED: f"Not {done.lower()}",
    }
    return words.get(job.stage) or job.get_state_display().capitalize()


def job_context(job: Job, *, doing: str, done: str) -> dict:
    """The context of the page of a job in any state. `doing`, `done`: as of `heading`."""
    refusals = refusals_of(job)
    return {
        "job": job,
        "heading": heading(job, doing, done),
        "waits": waiting_reason(job),  # a sentence; "" if it does not wait
        "step": step(job),  # what it does or waits for, and the share that is done
        "report": job.report,
        "refusals": refusals[:REFUSALS_LISTED],
        # How many refusals are not listed: the report counts all, but stores only the first of very many.
        "unlisted": job.report.get("refused", 0) - min(len(refusals), REFUSALS_LISTED),
    }


def refusals_of(job: Job) -> list[Refusal]:
    """The stored refusals, in the order of files and lines."""
    refusals = [Refusal.of_parts(parts) for parts in job.report.get("refusals", [])]
    names = [file["name"] for file in job.files]
    return sorted(refusals, key=lambda each: (names.index(each.file) if each.file in names else -1, each.line))


def stored_files(form: Form, collection: Collection, *, logs: bool = False) -> list[dict]:
    """Store the files of a valid form, and return their entries in Job.files.

    [], and an error in the form, where the collection has too many files that were sent and not imported. `logs`:
    the files are logs of searches, which have a limit of their own. Raises OSError, which
    `web.failures.server_error` answers.
    """
    largest, page = WAITING_UPLOADS * settings.LARGEST_UPLOAD, "Import"
    if logs:
        largest, page = settings.LARGEST_LOG, "Queries from a log"
    stored = jobs.stored(collection, logs=logs)
    size = sum(file.size for file in form.cleaned_data["files"])
    # Where no files wait, only the limit of one upload counts (`body_limit`).
    if stored and stored + size > largest:
        form.add_error("files", TOO_MUCH_WAITS.format(stored / 2**20, page))
        return []
    return uploads.keep_all(form.cleaned_data["files"])


def cancel(request: HttpRequest, job: Job) -> None:
    """Cancel the job, with a message."""
    if jobs.cancel(job):
        pictures = job.kind == Job.Kind.PICTURES
        kept = "The pictures that are here stay." if pictures else "Nothing of it is in the record."
        messages.success(request, f"Cancelled. {kept}")
    else:
        messages.warning(request, "The job had already ended. Its state says how.")


def waiting_reason(job: Job) -> str:
    """Why the job waits, as a sentence; "" if it does not."""
    waits = job.state == State.QUEUED or (job.state == State.RUNNING and not is_alive(job))
    if waits and not signs.has_worker():
        return NO_WORKER
    if job.state != State.QUEUED:
        return ""
    if any(map(is_alive, Job.objects.filter(state=State.RUNNING))):
        return "It waits: the worker is busy with something else."
    return "It waits for a worker."


def is_alive(job: Job) -> bool:
    """Whether a running job was taken up just now, or its worker has given a sign."""
    just_now = job.beat_at is not None and job.beat_at > timezone.now() - LEASE
    return just_now or signs.step_of(job) is not None


def step(job: Job) -> signs.Step:
    """What the job is doing, or what it waits for."""
    return signs.step_of(job) or signs.Step(job.message, share=None, done=0)


def progress(job: Job) -> JsonResponse:
    """The state of the job, for the script of the page."""
    return JsonResponse({"state": job.stage, **step(job)._asdict(), "waits": waiting_reason(job)})
