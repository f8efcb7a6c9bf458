"""The page that shows what asking again for ratings would do, and both acts: asking, and taking it back."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from ...models import Collection, Pair, Rater
from ...people.access import admin_page, record_act
from ...web.pages import frame
from ...words import counted
from .. import asking_again
from ..asking_again import Scope
from ..forms import ScopeForm
from ..progress.counts import pace


@admin_page
def ask_again(request: HttpRequest, collection: Collection) -> HttpResponse:
    """The page that shows what asking again would do, for the query, document, pair or rater in the address."""
    if not request.GET:  # as after a sign-in that was needed for an act, which leads here
        return redirect("pool", collection.slug)
    scope = scope_in(collection, request.GET)
    speed = pace(collection)
    context = {
        **frame(collection, "pool"),
        "scope": scope,
        # To rate everything anew, also by those who rated it; None: the pace is not known.
        "hours": speed.hours(scope.wanted_from_anybody) if speed else None,
        "raters": Rater.objects.able().filter(collection=collection).count(),
    }
    return render(request, "ratings/ask_again.html", context)


@record_act
def ask_raters_again(request: HttpRequest, collection: Collection) -> HttpResponse:
    scope = scope_in(collection, request.POST)
    of_others = request.POST.get("who") == "others"
    if asked := asking_again.ask_again(scope, by=request.user, of_others=of_others):
        whom = "other raters" if of_others else "all raters"
        messages.success(request, f"{counted(asked, 'rating is', 'ratings are')} wanted anew, from {whom}.")
    else:
        messages.info(request, "Nothing changed: nothing is rated here that can be asked again.")
    return redirect(address_of(scope))


@record_act
def take_back_asking(request: HttpRequest, collection: Collection) -> HttpResponse:
    scope = scope_in(collection, request.POST)
    if restored := asking_again.take_back(scope, by=request.user):
        messages.success(request, f"{counted(restored, 'rating counts', 'ratings count')} again as before.")
    else:
        messages.info(request, "Nothing changed: everything that was asked again has been rated anew.")
    return redirect(address_of(scope))


def scope_in(collection: Collection, sent: QueryDict) -> Scope:
    """Raises Http404 unless it names one query, document, pair or rater of the collection."""
    form = ScopeForm(sent, collection=collection)
    if not form.is_valid():
        raise Http404("Nothing of this collection is named.")
    return form.scope


def address_of(scope: Scope) -> str:
    key = scope.row.token if isinstance(scope.row, Pair) else scope.row.pk
    return f"{reverse('ask_again', args=[scope.collection.slug])}?{scope.kind}={key}"
