"""The page of an invitation, with a form to accept it.

Its address contains the key: the page sends no path as referrer, and `config.logs` keeps the key out of the log.
"""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language, gettext, gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from ...models import Invitation, Role
from ...web.failures import AWAY_ERRORS
from ...web.language import choose
from .. import members, names, throttle
from ..forms import NAME_TAKEN, SignUpForm
from ..sign_in import entering
from ..sign_in.answers import TOO_MANY, too_many, without_referrer

SERVER_BUSY = gettext_lazy("The server is busy, and nothing was saved. Wait a few seconds and send it again.")
WELCOME_BY_ROLE = {
    Role.RATER: gettext_lazy("You are a rater of %(name)s now."),
    Role.ANALYST: gettext_lazy("You are an analyst of %(name)s now."),
    Role.ADMIN: gettext_lazy("You are an admin of %(name)s now."),
}


@login_not_required
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
@without_referrer
def join(request: HttpRequest, key: str) -> HttpResponse:
    """The page of the invitation. Used, withdrawn, expired and unknown keys all give the same page."""
    invitation = members.invitation_of(key)
    # An invitation that nobody accepted has None there, which equals no user.
    if invitation and invitation.accepted_by == request.user:
        return redirect(destination(invitation))  # the form was sent, or the link opened, a second time
    if invitation is None or not members.is_open(invitation):
        return gone_page(request)
    if request.method != "POST":
        return join_page(request, invitation)
    try:
        return accept(request, invitation)
    except members.Gone:
        return gone_page(request)
    except members.MemberAlready:
        return join_page(request, invitation, status=409)  # which tells a member that they are one
    except members.SuperuserCannotRate as error:
        return join_page(request, invitation, refused=str(error), status=409)
    except throttle.TooMany:
        return too_many(request, join_page(request, invitation, refused=str(TOO_MANY)))
    except AWAY_ERRORS:
        return join_page(request, invitation, refused=str(SERVER_BUSY), status=503)


def accept(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """Accept the invitation with the account that is signed in, or with a new one that the form describes.

    The page may be older than a sign-in or a sign-out elsewhere. If the form was for the other case, nobody
    accepts, and the page is shown as it is now.
    """
    with_own_account = request.POST.get("by") == "me"  # sent by the button of a signed-in account
    if request.user.is_authenticated:
        if not with_own_account:
            return join_page(request, invitation, status=409)
        members.accept(invitation, request.user)
        return welcome(request, invitation)
    if with_own_account:
        refused = gettext("You were signed out. Sign in and open the link again, or make an account.")
        return join_page(request, invitation, refused=refused, status=409)
    if not settings.PASSWORDS:
        raise Http404("Nobody signs in by password here.")
    return with_new_account(request, invitation)


def with_new_account(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """Make the account of the form, accept the invitation with it and sign in; the form again if it is invalid."""
    # The try is counted like a sign-in, because the answer tells which names are taken.
    attempt = throttle.begin(request, request.POST.get("username", ""))
    form = SignUpForm(request.POST, auto_id="new_%s")
    if not form.is_valid():
        return join_page(request, invitation, new=form, status=400)
    try:
        user = members.sign_up(invitation, **form.cleaned_data)
    except members.NameTaken:
        form.add_error("username", NAME_TAKEN)
        return join_page(request, invitation, new=form, status=400)
    attempt.uncount()
    choose(user, get_language())
    welcome(request, invitation)  # for its message only: `enter` redirects, by way of the sign-in
    return entering.enter(request, user, entering.PASSWORD, destination(invitation))


def welcome(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    messages.success(request, WELCOME_BY_ROLE[Role(invitation.role)] % {"name": invitation.collection})
    return redirect(destination(invitation))


def destination(invitation: Invitation) -> str:
    """The first page of the role."""
    if invitation.role == Role.RATER:
        return reverse("rate", args=[invitation.collection.slug])
    return invitation.collection.get_absolute_url()


def join_page(
    request: HttpRequest,
    invitation: Invitation,
    *,
    new: SignUpForm | None = None,
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    """The page of an open invitation. `new`: the refused form of a new account; `refused`: why nobody joined.

    A superuser who is invited to rate gets no button ("shut_out"). A member is told that they are one ("member").
    """
    user = request.user
    membership = None
    if user.is_authenticated:
        membership = user.memberships.filter(collection=invitation.collection_id).first()
    shut_out = user.is_superuser and invitation.role == Role.RATER and not membership
    if shut_out and not refused:
        refused = str(members.SuperuserCannotRate(user))
    # What the form proposes, by what the admin wrote.
    proposal = {"name": names.of_invited(invitation.name), "username": names.proposed(invitation.name)}
    context = {
        "invitation": invitation,
        "shut_out": shut_out,
        "member": membership,
        "new": new or SignUpForm(auto_id="new_%s", initial=proposal),
        "provider": settings.OIDC,
        "passwords": settings.PASSWORDS,
        "refused": refused,
    }
    return render(request, "ratings/join.html", context, status=status)


def gone_page(request: HttpRequest) -> HttpResponse:
    return render(request, "ratings/join_gone.html", status=404)
