"""The page of a link that signs a person in once. `config.logs` keeps its key out of the log."""

from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from .. import throttle, visits
from ..sign_in import entering, links
from ..sign_in.answers import without_referrer


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
@without_referrer
def sign_in_link(request: HttpRequest, key: str) -> HttpResponse:
    """The page with a button that signs in. A GET does not use the link up, as programs open links, too."""
    attempt = throttle.begin_visit(request, "link")
    with transaction.atomic():
        user = links.person_of(key)
        if user is None or not visits.may_enter(request, user):
            raise Http404("This link is used, or older than 10 minutes.")
        attempt.uncount()
        if request.method == "POST":
            return entering.enter(request, user, entering.LINK, visits.first_page(user))
    return render(request, "ratings/sign_in_link.html", {"person": user})
