"""The settings of the desk. The browser stores them: the keys by a script, all others in a cookie."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from ...models import Grade, Rater, Reason, Shown
from ...people.access import account_key, of_rater
from .. import queue
from ..keys import keys_of, with_keys
from ..pages import frame
from ..preferences import PreferencesForm, keep, preferences

# Further acts with a key: the name in the script and the label on the page.
ACTS = [
    ("cannot", "Cannot judge"),
    ("later", "Later"),
    ("comment", "Comment"),
    ("undo", "Undo"),
    ("guidelines", "Guidelines"),
    ("full", "All of a long text"),
    ("zoom", "A picture large"),
    ("next", "Next word of the query"),
    ("previous", "Previous word of the query"),
    ("down", "Next document of a list"),
    ("up", "Previous document of a list"),
    ("mine", "My ratings"),
    ("help", "All keys"),
]


@require_http_methods(["GET", "HEAD", "POST"])
@of_rater
def desk_settings(request: HttpRequest, rater: Rater) -> HttpResponse:
    form = PreferencesForm(request.POST if request.method == "POST" else preferences(request))
    if request.method == "POST" and form.is_valid():
        messages.success(request, "Your settings are saved in this browser.")
        response = redirect("desk_settings", rater.collection.slug)
        keep(response, form.cleaned_data)
        if form.cleaned_data["shown"] == Shown.LIST and queue.held(rater):
            # Without the list only one document was held.
            queue.claim(rater, queue.MOST_HELD)
        return response
    scale = list(rater.collection.grades.all())
    context = {
        **frame(rater, "settings"),
        "form": form,
        "acts": [*acts_of_grades(scale), *ACTS],
        "reasons": len(Reason.choices),
        "data": {"account": account_key(request.user), "keys": keys_of(scale)},
    }
    return render(request, "ratings/desk_settings.html", context, status=200 if form.is_valid() else 400)


def acts_of_grades(scale) -> list[tuple[str, Grade]]:
    return [(f"grade{place}", grade) for place, (grade, key) in enumerate(with_keys(scale), start=1) if key]
