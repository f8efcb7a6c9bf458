"""Acts on several raters or invitations that an admin chose from the list of people. Each asks first."""

from contextlib import suppress

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from ...models import Collection, Invitation
from ...web import limits
from ...web.pages import frame
from ...words import counted
from .. import invitees, many, members
from ..access import SignedInRequest, admin_act, refusal_if_away
from ..forms import TermsForm
from ..links import links_page

NOBODY_CHOSEN = "Nothing was changed: choose somebody in the list first for whom that changes something."


@admin_act
def act_on_many(request: SignedInRequest, collection: Collection) -> HttpResponse:
    """Ask whether to act on the chosen raters; act if the page that asks was sent and its form is valid.

    Chosen raters for whom the act changes nothing are left out. Some acts are refused while an admin has put the
    collection away.
    """
    name = request.POST.get("act", "")
    act = many.acts().get(name)
    if act is None:
        raise Http404("No such act.")
    if act.refused_if_away and (refusal := refusal_if_away(request, collection)):
        return refusal
    chosen = chosen_of(request, "rater", collection.raters.select_related("collection", "user"))
    raters = [rater for rater in chosen.order_by("pk") if act.fits(rater)]
    if not raters:
        messages.error(request, NOBODY_CHOSEN)
        return redirect("people", collection.slug)
    confirmed = "sure" in request.POST  # sent by the page that asks
    form = TermsForm(request.POST if confirmed else None, collection=collection, auto_id="many_%s")
    for field in form.fields.keys() - set(act.fields):  # the form keeps only what this act needs
        del form.fields[field]
    number_of_raters = counted(len(raters), "rater")
    if not form.is_valid():  # a form that was not sent yet is not valid either
        title = f"{act.label}: {number_of_raters}"
        context = frame(collection, "people")
        context |= {"act": act, "name": name, "raters": raters, "title": title, "form": form}
        return render(request, "ratings/many.html", context, status=400 if confirmed else 200)
    with transaction.atomic():
        for rater in raters:
            act.do(rater, **form.cleaned_data)
    messages.success(request, f"{number_of_raters} {act.done}")
    return redirect("people", collection.slug)


@admin_act
def withdraw_many(request: SignedInRequest, collection: Collection) -> HttpResponse:
    """Ask whether to withdraw the chosen open invitations, and withdraw them once that is confirmed."""
    invitations = list(chosen_of(request, "invitation", collection.invitations.filter(members.UNUSED)))
    if not invitations:
        messages.error(request, NOBODY_CHOSEN)
        return redirect("people", collection.slug)
    if "sure" not in request.POST:
        context = {"invitations": invitations, "title": f"Withdraw: {counted(len(invitations), 'invitation')}"}
        return render(request, "ratings/many.html", frame(collection, "people") | context)
    withdrawn = 0
    with transaction.atomic():
        for invitation in invitations:
            with suppress(members.Gone):  # somebody accepted it meanwhile
                members.withdraw(invitation)
                withdrawn += 1
    messages.success(request, f"{counted(withdrawn, 'invitation is', 'invitations are')} withdrawn.")
    return redirect("people", collection.slug)


@admin_act
def invite_again(request: SignedInRequest, collection: Collection) -> HttpResponse:
    """Invite the people of chosen invitations once more, and show the new links. Former links no longer work."""
    # Withdrawn and expired ones too. The name is "" if the person was erased.
    unused = collection.invitations.filter(accepted_at=None).exclude(name="")
    invitations = list(chosen_of(request, "invitation", unused))
    if not invitations:
        messages.error(request, NOBODY_CHOSEN)
        return redirect("people", collection.slug)
    try:
        invitations_with_keys = new_invitations(collection, invitations, by=request.user)
    except (ValidationError, limits.Reached) as error:
        messages.error(request, " ".join(error.messages))
        return redirect("people", collection.slug)
    return links_page(request, collection, invitations_with_keys)


@transaction.atomic
def new_invitations(
    collection: Collection, former_invitations: list[Invitation], by: User
) -> list[tuple[Invitation, str]]:
    """Make new invitations in place of former ones, for the same names, and return each with its key.

    Former ones that are open are withdrawn. Role, language and number of days are those of the latest former one
    with the name. Raises ValidationError where somebody is a member meanwhile or has another link, and
    limits.Reached.
    """
    latest_by_name = {}
    for former in sorted(former_invitations, key=lambda invitation: invitation.created_at):
        latest_by_name[former.name] = former
        if members.is_open(former):
            members.withdraw(former)
    pairs = []  # (invitation, key)
    # The names as the text of the form, one a line, so that each is checked as at the first invitation.
    for name in invitees.invitees("\n".join(latest_by_name), collection):
        former = latest_by_name[name]
        days = max(1, (former.expires_at - former.created_at).days)
        pairs += members.invite(collection, [name], role=former.role, language=former.language, days=days, by=by)
    return pairs


def chosen_of(request: SignedInRequest, name: str, rows: QuerySet) -> QuerySet:
    """Those of the rows whose boxes of this name are ticked. Values that are no id of a row are ignored."""
    return rows.filter(pk__in=[pk for pk in request.POST.getlist(name) if pk.isdecimal() and len(pk) < 19])
