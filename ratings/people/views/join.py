"""The page of an invitation, with a form to accept it.

Its address contains the key: the page sends no path as referrer, and `config.logs` keeps the key out of the log.
"""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from ...models import Invitation, Membership, Role
from ...web.failures import AWAY
from .. import members, throttle
from ..forms import NAME_TAKEN, SignUpForm
from ..sign_in import entering
from ..sign_in.answers import TOO_MANY, too_many, without_referrer

BUSY = "The server is busy, and nothing was saved. Wait a few seconds and send it again."


@login_not_required
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
@without_referrer
def join(request: HttpRequest, key: str) -> HttpResponse:
    """The page of the invitation. Used, withdrawn, expired and unknown keys all give the same page."""
    invitation = members.invitation_of(key)
    if invitation and invitation.accepted_by_id and invitation.accepted_by == request.user:
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
        return join_page(request, invitation, status=409)
    except members.SuperuserCannotRate as error:
        return join_page(request, invitation, refused=str(error), status=409)
    except throttle.TooMany:
        return too_many(request, join_page(request, invitation, refused=TOO_MANY))
    except AWAY:
        return join_page(request, invitation, refused=BUSY, status=503)


def accept(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """Accept with the signed-in account, or with a new one."""
    signed_in = request.user.is_authenticated
    if signed_in != (request.POST.get("by") == "me"):  # the page is older than the sign-in or the sign-out
        signed_out = "You were signed out. Sign in and open the link again, or make an account."
        return join_page(request, invitation, refused="" if signed_in else signed_out, status=409)
    if signed_in:
        members.accept(invitation, request.user)
        return welcome(request, invitation)
    if not settings.PASSWORDS:
        raise Http404("Nobody signs in by password here.")
    return with_new_account(request, invitation)


def with_new_account(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    # Counted like a sign-in, because the answer tells which names are taken.
    tried = throttle.begin(request, request.POST.get("username", ""))
    form = SignUpForm(request.POST, auto_id="new_%s")
    if not form.is_valid():
        return join_page(request, invitation, new=form, status=400)
    sent = form.cleaned_data
    try:
        user = members.sign_up(invitation, sent["username"], sent["password"])
    except members.NameTaken:
        form.add_error("username", NAME_TAKEN)
        return join_page(request, invitation, new=form, status=400)
    tried.succeeded()
    welcome(request, invitation)
    return entering.enter(request, user, entering.PASSWORD, destination(invitation))


def welcome(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    messages.success(request, f"You are {with_article(invitation.role)} of {invitation.collection} now.")
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
    user = request.user
    member = (
        user.is_authenticated and Membership.objects.filter(collection=invitation.collection_id, user=user).first()
    )
    shut_out = user.is_superuser and invitation.role == Role.RATER and not member
    if shut_out and not refused:
        refused = str(members.SuperuserCannotRate(user))
    context = {
        "invitation": invitation,
        "shut_out": shut_out,
        "as_what": with_article(invitation.role),
        "member": member,
        "new": new or SignUpForm(auto_id="new_%s"),
        "provider": settings.OIDC,
        "passwords": settings.PASSWORDS,
        "refused": refused,
    }
    return render(request, "ratings/join.html", context, status=status)


def gone_page(request: HttpRequest) -> HttpResponse:
    return render(request, "ratings/join_gone.html", status=404)


def with_article(role: str) -> str:
    return f"a {role}" if role == Role.RATER else f"an {role}"
