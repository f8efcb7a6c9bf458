"""The pages of accounts, for superusers: find one, change its rights, help its person to sign in, delete it."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from ...web.pages import paged
from .. import accounts as changing
from .. import erasure, mail, sessions
from ..access import superuser_act, superuser_page
from ..audit import Act, note
from ..forms import AccountForm
from ..sign_in import second_factor

ACCOUNTS_PER_PAGE = 100
ONLY_SUPERUSER = "{} is the only superuser who can sign in. Make somebody else a superuser first."


class SearchForm(forms.Form):
    q = forms.CharField(label="Name or mail address", required=False, max_length=254)


@superuser_page
def accounts(request: HttpRequest, superuser: User) -> HttpResponse:
    """All accounts by name, or those that the search finds."""
    form = SearchForm(request.GET)
    words = form.cleaned_data["q"] if form.is_valid() else ""
    found = User.objects.filter(Q(username__icontains=words) | Q(email__icontains=words))
    rows = found.annotate(collections=Count("memberships")).order_by("username")
    context = {"form": form, "words": words, "at_all": User.objects.count()}
    context |= paged(request, rows, ACCOUNTS_PER_PAGE)
    return render(request, "ratings/accounts.html", context, status=400 if form.errors else 200)


@superuser_page
def account(request: HttpRequest, superuser: User, pk: int) -> HttpResponse:
    return account_page(request, get_object_or_404(User, pk=pk))


@superuser_act
@transaction.atomic
def save_account(request: HttpRequest, superuser: User, pk: int) -> HttpResponse:
    """Save the settings of an account, or show its page with the refused form."""
    user = get_object_or_404(User, pk=pk)
    changing.lock(user)
    form = AccountForm(request.POST, initial=changing.settings_of(user))
    if not form.is_valid():
        return account_page(request, user, form=form)
    try:
        changing.change(user, **form.cleaned_data)
    except changing.LastSuperuser:
        user.refresh_from_db()  # without the settings that `change` refused to save
        form.add_error(None, ONLY_SUPERUSER.format(user))
        return account_page(request, user, form=form)
    messages.success(request, f"{user}: saved.")
    # Whoever took their own right away cannot see the page of the account any more.
    return redirect("home") if user == request.user and not user.is_superuser else redirect("account", pk)


@superuser_act
@transaction.atomic
def make_password_link(request: HttpRequest, superuser: User, pk: int) -> HttpResponse:
    """Show once a link by which the person sets a password."""
    user = get_object_or_404(User, pk=pk)
    if not settings.PASSWORDS:
        raise Http404("Nobody signs in by password here.")
    note(Act.SIGN_IN, about=user, made="link to set a password")
    return account_page(request, user, link=request.build_absolute_uri(mail.password_link(user)))


@superuser_act
@transaction.atomic
def remove_second_factor(request: HttpRequest, superuser: User, pk: int) -> HttpResponse:
    user = get_object_or_404(User, pk=pk)
    if second_factor.remove_all(user):
        messages.success(request, f"{user} has no second factor any more and is signed out.")
    sessions.end_all(user)
    return redirect("account", pk)


@superuser_act
def delete_account(request: HttpRequest, superuser: User, pk: int) -> HttpResponse:
    user = get_object_or_404(User, pk=pk)
    try:
        pseudonym = erasure.delete_account(user)
    except erasure.Needed:
        messages.error(request, f"{user} is needed. The page says by what.")
        return redirect("account", pk)
    messages.success(request, f"The account is deleted. The audit calls the person “{pseudonym}”.")
    return redirect("accounts")


def account_page(
    request: HttpRequest, user: User, *, form: AccountForm | None = None, link: str = ""
) -> HttpResponse:
    """The page of an account. `form`: its refused settings. `link`: to set a password, which is shown once."""
    # Where the person rated, and is no member any more. A deleted collection has no slug.
    former_raters = user.raters.filter(collection__slug__isnull=False).exclude(collection__memberships__user=user)
    context = {
        "account": user,
        "form": form or AccountForm(initial=changing.settings_of(user)),
        "link": link,
        "passwords": settings.PASSWORDS,
        "at_provider": user.socialaccount_set.exists(),
        "second_factors": second_factor.kinds_of(user),
        "memberships": user.memberships.filter(collection__slug__isnull=False).select_related("collection"),
        "former": former_raters.select_related("collection"),
        # Whether a membership, a rater or a decision refers to it, or it is a superuser's: it cannot be deleted.
        "needed": erasure.is_account_needed(user),
    }
    return render(request, "ratings/account.html", context, status=400 if form else 200)
