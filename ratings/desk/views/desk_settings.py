"""The settings of the desk. The browser stores them: the keys by a script, the other in a cookie."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_http_methods

from ...models import Rater, Reason, Shown
from ...people.access import account_key, of_rater
from ...web.preferences import DeskForm, keep, preferences
from .. import queue
from ..keys import keys_of, with_keys
from ..pages import frame

# Further acts with a key: the name in the script and the label on the page.
ACTS = [
    ("cannot", gettext_lazy("Cannot judge")),
    ("later", pgettext_lazy("put this document off", "Later")),
    ("comment", gettext_lazy("Comment")),
    ("undo", gettext_lazy("Undo")),
    ("guidelines", gettext_lazy("Guidelines")),
    ("full", gettext_lazy("All of a long text")),
    ("zoom", gettext_lazy("A picture large")),
    ("next", gettext_lazy("Next word of the query")),
    ("previous", gettext_lazy("Previous word of the query")),
    ("down", gettext_lazy("Next document of a list")),
    ("up", gettext_lazy("Previous document of a list")),
    ("mine", gettext_lazy("My ratings")),
    ("help", gettext_lazy("All keys")),
]


@require_http_methods(["GET", "HEAD", "POST"])
@of_rater
def desk_settings(request: HttpRequest, rater: Rater) -> HttpResponse:
    """The page of a rater's settings. A valid POST saves them in a cookie and redirects to the page."""
    # `preferences` leaves out what is invalid in the cookie, so only a POST can have an invalid form.
    form = DeskForm(request.POST if request.method == "POST" else preferences(request))
    if request.method == "POST" and form.is_valid():
        messages.success(request, gettext("Your settings are saved in this browser."))
        response = redirect("desk_settings", rater.collection.slug)
        keep(request, response, form.cleaned_data)  # in the cookie of the response
        if form.cleaned_data["shown"] == Shown.LIST and queue.held(rater):
            # A list shows several documents, and until now the rater may have held only one.
            queue.claim(rater, queue.MOST_HELD)
        return response
    scale = list(rater.collection.grades.all())
    # As in ACTS: the name in the script and the label. A grade without a default key is not listed.
    grade_acts = []
    for place, (grade, default_key) in enumerate(with_keys(scale), start=1):
        if default_key:
            grade_acts.append((f"grade{place}", grade))
    context = {
        **frame(rater, "settings"),
        "form": form,
        "acts": [*grade_acts, *ACTS],
        "reasons": len(Reason.choices),  # the keys 1 to this number choose a reason
        "data": {"account": account_key(request.user), "keys": keys_of(scale)},
    }
    return render(request, "ratings/desk_settings.html", context, status=200 if form.is_valid() else 400)
