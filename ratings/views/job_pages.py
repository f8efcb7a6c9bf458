"""What the pages of imports and of archives do alike with a job."""

from django.contrib import messages
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from .. import jobs
from ..formats.refusal import Refusal
from ..models import Job
from ..models.job import LEASE

State = Job.State


def heading(job: Job, doing: str, done: str) -> str:
    """What it is at, in a word or two: `doing` while it writes, `done` when all of it is seen."""
    if job.checking and job.state == State.RUNNING:
        return "Checking"
    words = {
        State.QUEUED: "Waiting",
        State.RUNNING: doing,
        State.CHECKED: "Check",
        State.PUBLISHED: done,
        State.FAILED: f"Not {done.lower()}",
    }
    return words.get(job.state) or job.get_state_display().capitalize()


def refusals_of(job: Job) -> list[Refusal]:
    """Those that are kept, as they follow each other in the files."""
    found = [Refusal(**given) for given in job.report.get("refusals", [])]
    names = [file["name"] for file in job.files]
    return sorted(found, key=lambda one: (names.index(one.file) if one.file in names else -1, one.line))


def cancel(request: HttpRequest, job: Job) -> None:
    """End it, and say so."""
    if jobs.cancel(job):
        messages.success(request, "Cancelled. Nothing of it is in the record.")
    else:
        messages.warning(request, "It was over already: see what became of it.")


def waits(job: Job) -> str:
    """Why nothing happens, in a sentence; "" while something does."""
    if job.state != State.QUEUED:
        return ""
    heard_of = timezone.now() - LEASE
    if Job.objects.filter(state=State.RUNNING, attended=False, beat_at__gt=heard_of).exists():
        return "It waits for a worker that is at work on something else."
    if Job.objects.staging().exclude(state__in=[State.QUEUED, State.RUNNING]).exists():
        return "It waits for a worker, which first removes what another import left."
    if job.beat_at and job.beat_at < heard_of:
        return "No worker takes it up. Whoever runs this server can start one: python3 run.py manage work"
    return "It waits for a worker."


def progress(job: Job) -> JsonResponse:
    """How far it is, for the script of the page."""
    facts = {"state": job.state, "message": job.message, "done": job.done, "share": job.share}
    return JsonResponse({**facts, "waits": waits(job)})
