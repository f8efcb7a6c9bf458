"""The acts of a rater: claim, save, put off, undo, stop. One address each, for forms and for the desk's script.

A request that accepts JSON gets it, with a status that tells the outcome; any other request gets a page.
"""

from collections.abc import Callable
from functools import wraps
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST

from ...models import Rater
from ...people.access import NotARater, account_key, of_rater
from ...web import limits
from ...web.pages import wants_json
from ...web.preferences import in_list
from ...web.sent import uuid_of
from .. import queue
from ..content import OUTCOME_MESSAGES, Showing, outlook_json, rating_json, saved_json, task_json
from ..forms import ClaimForm, RatingForm, comment_of
from ..pages import answer_page, desk, task_or_404

# Shown if somebody goes back to a form in the browser's history and sends it again with other content: the client
# key in the form is then that of the act for which it was sent first.
SENT_BEFORE_WARNING = gettext_lazy(
    "That page was sent before, with another answer, so nothing was saved. What you choose here counts."
)


def act_of_rater(act: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A decorator of the views that act for the account's rater. Refusals are JSON if JSON is accepted.

    One is JSON in any case: that of a request which names another account. Only the script sends `account`.
    """

    act = of_rater(act)  # finds the rater by the address, or raises NotARater

    @require_POST
    @wraps(act)
    def view(request: HttpRequest, **kwargs) -> HttpResponse:
        # If another account opened the page, this one must not act by it.
        if request.POST.get("account") not in (None, account_key(request.user)):
            return JsonResponse({"error": gettext("Somebody else is signed in.")}, status=401)
        try:
            return act(request, **kwargs)
        except Http404 as missing:
            if wants_json(request):
                # Where the account is no rater here, the script's other unsent acts would be refused as well.
                closed = isinstance(missing, NotARater)
                return JsonResponse({"error": str(missing), "closed": closed}, status=404)
            raise
        except queue.KeyUsed as used:
            if wants_json(request):
                return JsonResponse({"error": str(used)}, status=400)
            messages.warning(request, SENT_BEFORE_WARNING)
            return redirect("rate", kwargs["slug"])
        except limits.Reached as reached:
            # Not 429: after that the script would send the act again and again, and no later act before it.
            if wants_json(request):
                return JsonResponse({"error": reached.messages[0]}, status=400)
            raise

    return view


@act_of_rater
def claim(request: HttpRequest, rater: Rater) -> HttpResponse:
    """Claim tasks. Returns the tasks that the script does not have yet, and the order of all tasks.

    The form has `count`, how many tasks the rater shall hold, and `have`, the tokens of those that the script
    has. The outlook is the rater's progress: what is done and what is left, in all and in each query that has a
    task here, as the page shows both. Counting it takes longer than claiming, so it is sent only on demand or
    when tasks run out. `guidelines` and `scale` are the numbers of the latest versions, by which the script
    finds out that its page shows former ones.
    """
    if not wants_json(request):
        return next_page(request, rater)
    form = ClaimForm(request.POST)
    if not form.is_valid():
        return refusal(form)
    count, have = form.cleaned_data["count"], form.cleaned_data["have"]
    tasks = queue.claim(rater, count)
    outlook = None
    if form.cleaned_data["outlook"] or len(tasks) < count:
        outlook = outlook_json(queue.outlook(rater, {task.pair.query_id for task in tasks}), rater)
    showing = Showing.of(rater, tasks)
    return JsonResponse(
        {
            "tasks": [task_json(task, showing) for task in tasks if str(task.token) not in have],
            "order": [str(task.token) for task in tasks],
            "outlook": outlook,
            "guidelines": rater.guidelines_now or 0,
            "scale": rater.collection.scale_version,
        }
    )


@act_of_rater
def save_rating(request: HttpRequest, rater: Rater, token: UUID) -> HttpResponse:
    """Save the answer to a task. Returns what was saved as JSON, or the page that follows."""
    task = task_or_404(rater, token)
    form = RatingForm(request.POST, collection=rater.collection)
    if not form.is_valid():
        if wants_json(request):
            return refusal(form, scale=rater.collection.scale_version)
        return desk(request, rater, task, form=form, status=400)
    try:
        saved = queue.save(rater, task, form.submission)
    except queue.Conflict as conflict:
        return conflict_answer(request, rater, task, form, conflict.current)
    except queue.KeyUsed:
        if wants_json(request):
            raise  # `act_of_rater` answers it as JSON; a form is shown again here, with what was chosen in it
        form.add_error(None, SENT_BEFORE_WARNING)
        return desk(request, rater, task, form=form, status=409)
    if wants_json(request):
        return JsonResponse({"key": form.submission.client_key, **saved_json(saved)})
    if saved.right_answer:  # the task was a warm-up
        return answer_page(request, rater, task, saved)
    if saved.outcome in OUTCOME_MESSAGES:
        messages.info(request, OUTCOME_MESSAGES[saved.outcome])
    if "back" in request.POST:  # a rating that was changed: the desk came from "My ratings"
        return redirect("my_ratings", rater.collection.slug)
    return next_page(request, rater)


@act_of_rater
def skip_pair(request: HttpRequest, rater: Rater, token: UUID) -> HttpResponse:
    key = uuid_of(request.POST.get("client_key", ""))
    comment = comment_of(request.POST.get("comment", ""))
    queue.skip(rater, task_or_404(rater, token), comment=comment, client_key=key)
    return JsonResponse({"key": key}) if wants_json(request) else next_page(request, rater)


@act_of_rater
def undo_rating(request: HttpRequest, rater: Rater) -> HttpResponse:
    """Take back an act of the rater. Returns its task as JSON (None: nothing was undone), or a redirect to a page.

    The form has `client_key`, the key of this request, and `act`, that of the act to take back; without it, the
    last act. `revision`: that of the rating after the undo, on which the script bases the next save. It is the
    `base_revision` of the task, under the name that it has in the answer to a save, too.
    """
    key, act = uuid_of(request.POST.get("client_key", "")), uuid_of(request.POST.get("act", ""))
    task = queue.undo(rater, act=act, client_key=key)
    if wants_json(request):
        content = task_json(task, Showing.of(rater, [task])) if task else None
        revision = {"revision": content["base_revision"]} if content else {}
        return JsonResponse({"key": key, "task": content, **revision})
    if task is None:
        messages.info(request, gettext("There is nothing to undo."))
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
    """What follows a save that another window overtook. `current`: the stored rating; None: it was taken back."""
    if not wants_json(request):
        return desk(request, rater, task, form=form, conflict=current or "withdrawn", status=409)
    own = current and {**rating_json(current), "comment": current.comment}
    stored = {"current": own, "revision": current.revision if current else 0}
    error = gettext("You rated this document in another window as well. Which rating stands?")
    return JsonResponse({"error": error, **stored}, status=409)
