"""The acts of a rater: claim, save, put off, undo, stop. One address each, for forms and for the desk's script.

A request that accepts JSON gets it, with a status that tells the outcome; any other request gets a page.
"""

from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from ...models import Rater
from ...people.access import NotARater, account_key, of_rater
from ...web import limits
from ...web.pages import wants_json
from .. import queue
from ..content import FATES, Showing, outlook_json, rating_json, saved_json, task_json
from ..forms import ClaimForm, RatingForm, comment_of
from ..pages import answer_page, desk, task_or_404
from ..preferences import in_list

# Of a form in the browser's history, whose key is that of the act that it was sent for.
SENT_BEFORE = "That page was sent before, with another answer, so nothing was saved. What you choose here counts."


def act_of_rater(act: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A decorator of the views that act for the account's rater. Refusals are JSON if JSON is accepted."""

    act = of_rater(act)

    @require_POST
    @wraps(act)
    def view(request: HttpRequest, **kwargs) -> HttpResponse:
        # The page may have been opened by another account, in whose name it must not act.
        if request.POST.get("account") not in (None, account_key(request.user)):
            return JsonResponse({"error": "Somebody else is signed in."}, status=401)
        try:
            return act(request, **kwargs)
        except Http404 as missing:
            if wants_json(request):
                closed = isinstance(missing, NotARater)  # nothing more can be saved, and none of what is left
                return JsonResponse({"error": str(missing), "closed": closed}, status=404)
            raise
        except queue.KeyUsed as used:
            if wants_json(request):
                return JsonResponse({"error": str(used)}, status=400)
            messages.warning(request, SENT_BEFORE)
            return redirect("rate", kwargs["slug"])
        except limits.Reached as reached:
            if wants_json(request):  # not 429, after which the script would send it again, and nothing before it
                return JsonResponse({"error": reached.messages[0]}, status=400)
            raise

    return view


@act_of_rater
def claim(request: HttpRequest, rater: Rater) -> HttpResponse:
    """Claim tasks. Returns the tasks that the script does not have yet, and the order of all.

    Counting the outlook takes longer than claiming, so it is sent only on demand or when tasks run out.
    """
    if not wants_json(request):
        return next_page(request, rater)
    form = ClaimForm(request.POST)
    if not form.is_valid():
        return refusal(form)
    count, have = form.cleaned_data["count"], form.cleaned_data["have"]
    tasks = queue.claim(rater, count)
    counted = form.cleaned_data["outlook"] or len(tasks) < count
    showing = Showing.of(rater, tasks)
    return JsonResponse(
        {
            "tasks": [task_json(task, showing) for task in tasks if str(task.token) not in have],
            "order": [str(task.token) for task in tasks],
            "outlook": outlook_json(queue.outlook(rater)) if counted else None,
            "guidelines": rater.guidelines_now or 0,
            "scale": rater.collection.scale_version,
        }
    )


@act_of_rater
def save_rating(request: HttpRequest, rater: Rater, token: UUID) -> HttpResponse:
    task = task_or_404(rater, token)
    form = RatingForm(request.POST, collection=rater.collection)
    if not form.is_valid():
        more = {"scale": rater.collection.scale_version}
        return refusal(form, **more) if wants_json(request) else desk(request, rater, task, form=form, status=400)
    try:
        saved = queue.save(rater, task, form.submission)
    except queue.Conflict as conflict:
        return conflict_answer(request, rater, task, form, conflict.current)
    except queue.KeyUsed:
        if wants_json(request):
            raise
        form.add_error(None, SENT_BEFORE)
        return desk(request, rater, task, form=form, status=409)
    if wants_json(request):
        return JsonResponse({"key": text_of(form.submission.client_key), **saved_json(saved)})
    if saved.answer:
        return answer_page(request, rater, task, saved)
    if saved.fate in FATES:
        messages.info(request, FATES[saved.fate])
    if "back" in request.POST:
        return redirect("my_ratings", rater.collection.slug)
    return next_page(request, rater)


@act_of_rater
def skip_pair(request: HttpRequest, rater: Rater, token: UUID) -> HttpResponse:
    key, comment = sent_key(request, "client_key"), comment_of(request.POST.get("comment", ""))
    queue.skip(rater, task_or_404(rater, token), comment=comment, client_key=key)
    return JsonResponse({"key": text_of(key)}) if wants_json(request) else next_page(request, rater)


@act_of_rater
def undo_rating(request: HttpRequest, rater: Rater) -> HttpResponse:
    key = sent_key(request, "client_key")
    task = queue.undo(rater, act=sent_key(request, "act"), client_key=key)
    if wants_json(request):
        content = task_json(task, Showing.of(rater, [task])) if task else None
        revision = {"revision": content["base_revision"]} if content else {}
        return JsonResponse({"key": text_of(key), "task": content, **revision})
    if task is None:
        messages.info(request, "There is nothing to undo.")
        return redirect("rate", rater.collection.slug)
    return redirect("rate_pair", rater.collection.slug, task.token)


@act_of_rater
def stop_rating(request: HttpRequest, rater: Rater) -> HttpResponse:
    queue.stop(rater)
    return redirect("home")


def next_page(request: HttpRequest, rater: Rater) -> HttpResponse:
    """A redirect to the desk, after the next document is claimed, or as many as the list can hold."""
    queue.claim(rater, queue.MOST_HELD if in_list(request) else 1)
    return redirect("rate", rater.collection.slug)


def refusal(form, **more) -> JsonResponse:
    error = " ".join(e for errors in form.errors.values() for e in errors)
    return JsonResponse({"error": error, **more}, status=400)


def conflict_answer(request, rater, task, form, current) -> HttpResponse:
    if not wants_json(request):
        return desk(request, rater, task, form=form, conflict=current or "withdrawn", status=409)
    own = current and {**rating_json(current), "comment": current.comment}
    stored = {"current": own, "revision": current.revision if current else 0}
    error = "You rated this document in another window as well. Which rating stands?"
    return JsonResponse({"error": error, **stored}, status=409)


def sent_key(request: HttpRequest, name: str) -> UUID | None:
    try:
        return UUID(request.POST.get(name, ""))
    except ValueError:
        return None


def text_of(key: UUID | None) -> str | None:
    return str(key) if key else None
