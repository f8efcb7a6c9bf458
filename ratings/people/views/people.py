"""The pages of people, for admins: members, invitations, roles, raters and their terms."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from ...models import ApiToken, Collection, Invitation, Membership, Rater, Role, plain_value
from ...web import limits
from ...web.pages import frame, paged
from ...web.settings_forms import lock
from .. import erasure, mail, members, sessions, tokens
from ..access import admin_act, admin_page
from ..forms import ErasureForm, InviteForm, RoleForm, TermsForm

AT_ONCE = 100
LAST_ADMIN = "{} is the only admin. Make somebody else an admin first."


@admin_page
def people_page(request: HttpRequest, collection: Collection) -> HttpResponse:
    """All members and raters, and the invitations."""
    return people_list_page(request, collection, InviteForm(collection=collection, auto_id="invite_%s"))


@admin_act
def invite(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Make links, and send or show them once. They are not stored, so a reload cannot show them."""
    form = InviteForm(request.POST, collection=collection, auto_id="invite_%s")
    if not form.is_valid():
        return people_list_page(request, collection, form, status=400)
    try:
        made = members.invite(collection, **form.cleaned_data, by=request.user)
    except limits.Reached as reached:
        form.add_error("names", reached)
        return people_list_page(request, collection, form, status=429)
    made = [(invitation, reverse("join", args=[key])) for invitation, key in made]
    sent = mail.send_invitations(made)
    shown = [(invitation.name, path) for invitation, path in made if invitation not in sent]
    links = [(name, request.build_absolute_uri(path)) for name, path in shown]
    context = frame(collection, "people") | {
        "links": links,
        "sent": sent,
        "invitation": made[0][0],
        "file": "".join(f"{name}\t{link}\r\n" for name, link in links),
    }
    return render(request, "ratings/invited.html", context)


@admin_act
def withdraw_invitation(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation, pk=pk, collection=collection)
    try:
        members.withdraw(invitation)
    except members.Gone:
        messages.error(request, f"{invitee_name(invitation)}: the invitation was accepted or withdrawn before.")
    else:
        messages.success(
            request, f"{invitee_name(invitation)}: the invitation is withdrawn, and its link no longer works."
        )
    return redirect("people", collection.slug)


@admin_act
def revoke_token(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Revoke a token that anybody made for this collection."""
    token = get_object_or_404(ApiToken.objects.select_related("user"), pk=pk, collection=collection)
    tokens.revoke(token)
    messages.success(request, f"{token}: the token no longer works.")
    return redirect("people", collection.slug)


@admin_page
def member(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """The page of a member; a redirect to the rater's page for one who is or was a rater."""
    membership = member_of(collection, pk)
    rater = collection.raters.filter(user=membership.user_id).first()
    if rater:
        return redirect("rater_settings", collection.slug, rater.pk)
    return render(request, "ratings/person.html", person_context(collection, membership, None))


@admin_act
def set_role(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    membership = member_of(collection, pk)
    form = RoleForm(request.POST, initial={"role": membership.role})
    if not form.is_valid():
        changed = f"Somebody else made {membership.user} {membership.role} meanwhile. Choose again."
        messages.error(request, changed if form.outdated else "There is no such role. Choose one of the list.")
        return redirect("member", collection.slug, pk)
    role = form.cleaned_data["role"]
    try:
        members.set_role(membership, role)
    except members.LastAdmin:
        messages.error(request, LAST_ADMIN.format(membership.user))
    except members.SuperuserCannotRate as error:
        messages.error(request, str(error))
    except Membership.DoesNotExist:
        messages.error(request, f"{membership.user} was removed meanwhile.")
        return redirect("people", collection.slug)
    else:
        messages.success(request, f"{membership.user} is {role} of {collection} now.")
        if membership.user == request.user and role != Role.ADMIN:
            return redirect("home")
    return redirect("member", collection.slug, pk)


@admin_act
def remove_member(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    membership = member_of(collection, pk)
    try:
        members.remove(membership)
    except members.LastAdmin:
        messages.error(request, LAST_ADMIN.format(membership.user))
        return redirect("member", collection.slug, pk)
    except Membership.DoesNotExist:
        messages.info(request, f"{membership.user} was removed before.")
    else:
        messages.success(
            request, f"{membership.user} is no longer a member of {collection}. What they rated stays and counts."
        )
    return redirect("home") if membership.user == request.user else redirect("people", collection.slug)


@admin_act
def end_sessions(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """End all sessions of a member."""
    membership = member_of(collection, pk)
    number = sessions.end_all(membership.user)
    outcome = f"signed out in {number} browser{'' if number == 1 else 's'}" if number else "was not signed in"
    messages.success(request, f"{membership.user}: {outcome}.")
    return redirect("member", collection.slug, pk)


@admin_page
def rater_settings(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """A rater: their role if they are a member, what they may rate, and how to erase them."""
    rater = rater_of(collection, pk)
    return render(request, "ratings/person.html", person_context(collection, membership_of(rater), rater))


@admin_act
@transaction.atomic
def save_terms(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    rater = rater_of(collection, pk)
    lock(rater)
    form = terms_of(collection, rater, request.POST)
    if not form.is_valid():
        context = person_context(collection, membership_of(rater), rater, terms=form)
        return render(request, "ratings/person.html", context, status=400)
    terms = form.cleaned_data
    members.set_terms(rater, **terms)
    number = len(terms["queries"])
    messages.success(request, f"{rater} rates {number or 'all'} quer{'y' if number == 1 else 'ies'}. Saved.")
    return redirect("rater_settings", collection.slug, pk)


@admin_act
def deactivate_rater(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    rater = rater_of(collection, pk)
    members.deactivate(rater)
    messages.success(request, f"{rater} gets nothing more to rate. What they rated stays and counts.")
    return redirect("rater_settings", collection.slug, pk)


@admin_act
def reactivate_rater(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    rater = rater_of(collection, pk)
    members.reactivate(rater)
    messages.success(request, f"{rater} can rate again.")
    return redirect("rater_settings", collection.slug, pk)


@admin_act
def erase_rater(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Erase the person; the typed name is the confirmation."""
    rater = rater_of(collection, pk)
    own = rater.user_id == request.user.pk
    form = ErasureForm(request.POST, expected=rater.name, auto_id="erase_%s")
    if not form.is_valid():
        context = person_context(collection, membership_of(rater), rater, erasure=form)
        return render(request, "ratings/person.html", context, status=400)
    try:
        pseudonym = erasure.erase(rater, comments=form.cleaned_data["comments"])
    except members.LastAdmin:
        messages.error(request, LAST_ADMIN.format(rater))
        return redirect("rater_settings", collection.slug, pk)
    messages.success(request, f"The person is erased. Their ratings stay under “{pseudonym}”.")
    return redirect("home") if own else redirect("people", collection.slug)


def people_list_page(
    request: HttpRequest, collection: Collection, form: InviteForm, *, status: int = 200
) -> HttpResponse:
    everybody = members.everybody(collection)
    paging = paged(request, everybody, AT_ONCE)
    now = timezone.now()
    invited = paged(request, members.invitations(collection), AT_ONCE, by="invitations")
    states = [(invitation, members.state_of(invitation, now=now)) for invitation in invited["page"]]
    counts = {role: sum(p.role == role for p in everybody if p.membership) for role in Role.values}
    context = frame(collection, "people") | {
        **paging,
        "people": members.with_work(paging["page"].object_list),
        "members": sum(counts.values()),
        "counts": counts,
        "invitations": states,
        "invited": invited,
        "open": collection.invitations.filter(members.OPEN, expires_at__gt=now).count(),
        "tokens": tokens.in_use(collection, now=now),
        "form": form,
    }
    return render(request, "ratings/people.html", context, status=status)


def person_context(
    collection: Collection,
    membership: Membership | None,
    rater: Rater | None,
    *,
    terms: TermsForm | None = None,
    erasure: ErasureForm | None = None,
) -> dict:
    """The context of the page of a person. A refused form keeps what was filled in."""
    row = members.with_work([members.Person(name_of(membership, rater), membership, rater)])[0]
    context = frame(collection, "people") | {"person": row, "membership": membership, "rater": rater}
    if membership:
        context["sessions"] = sessions.open_of(membership.user)
        context["role_form"] = RoleForm(initial={"role": membership.role}, auto_id="role_%s")
    if rater:
        context["terms"] = terms or terms_of(collection, rater)
        context["erasure"] = erasure or ErasureForm(expected=rater.name, auto_id="erase_%s")
    return context


def terms_of(collection: Collection, rater: Rater, data: QueryDict | None = None) -> TermsForm:
    keys = rater.queries.order_by("pk").values_list("key", flat=True)
    initial = {"limit": rater.limit, "weight": plain_value(rater.weight), "queries": "\n".join(keys)}
    return TermsForm(data, initial=initial, collection=collection, auto_id="terms_%s")


def name_of(membership: Membership | None, rater: Rater | None) -> str:
    return rater.name if rater else membership.user.get_username()


def member_of(collection: Collection, pk: int) -> Membership:
    return get_object_or_404(Membership.objects.select_related("user", "collection"), pk=pk, collection=collection)


def membership_of(rater: Rater) -> Membership | None:
    if not rater.user_id:
        return None
    return (
        Membership.objects.select_related("user").filter(collection=rater.collection, user=rater.user_id).first()
    )


def rater_of(collection: Collection, pk: int) -> Rater:
    return get_object_or_404(Rater.objects.select_related("collection", "user"), pk=pk, collection=collection)


def invitee_name(invitation: Invitation) -> str:
    return invitation.name or "Somebody"
