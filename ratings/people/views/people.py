"""The pages of people, for admins: members, invitations, roles, raters and their terms."""

from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from ...models import ApiToken, Collection, Membership, Rater, Role, plain_value
from ...web import limits, tables
from ...web.pages import frame, paged
from ...web.settings_forms import lock
from ...words import counted
from .. import erasure, mail, many, members, sessions, tokens
from ..access import SignedInRequest, admin_act, admin_page
from ..audit import Act, note
from ..forms import ErasureForm, InviteForm, ListForm, RoleForm, TermsForm
from ..links import links_page
from ..names import shown

PEOPLE_PER_PAGE = 100
LAST_ADMIN = "{} is the only admin. Make somebody else an admin first."


@admin_page
def people_page(request: SignedInRequest, collection: Collection) -> HttpResponse:
    """All members and raters, and the invitations."""
    return people_list_page(request, collection, InviteForm(collection=collection, auto_id="invite_%s"))


@admin_act
def invite(request: SignedInRequest, collection: Collection) -> HttpResponse:
    """Make links, and send or show them once. They are not stored, so a reload cannot show them."""
    form = InviteForm(request.POST, collection=collection, auto_id="invite_%s")
    if not form.is_valid():
        return people_list_page(request, collection, form, status=400)
    try:
        invitations = members.invite(collection, **form.cleaned_data, by=request.user)
    except limits.Reached as reached:
        form.add_error("names", reached)
        return people_list_page(request, collection, form, status=429)
    return links_page(request, collection, invitations)


@admin_act
def revoke_token(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    """Revoke a token that anybody made for this collection."""
    token = get_object_or_404(ApiToken.objects.select_related("user"), pk=pk, collection=collection)
    tokens.revoke(token)
    messages.success(request, f"{token}: the token no longer works.")
    return redirect("people", collection.slug)


@admin_page
def member(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    """The page of a member; a redirect to the rater's page for one who is or was a rater."""
    membership = member_of(collection, pk)
    rater = collection.raters.filter(user=membership.user_id).first()
    if rater:
        return redirect("rater", collection.slug, rater.pk)
    return person_page(request, collection, membership, None)


@admin_act
def set_role(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    """Change the role of a member. Who takes the role of an admin from themselves goes to the first page.

    The form is `outdated` if the page showed another role than the stored one, so that two admins do not overwrite
    each other's choice.
    """
    membership = member_of(collection, pk)
    form = RoleForm(request.POST, initial={"role": membership.role})
    if not form.is_valid():
        conflict = f"Somebody else made {shown(membership.user)} {membership.role} meanwhile. Choose again."
        messages.error(request, conflict if form.outdated else "There is no such role. Choose one of the list.")
        return redirect("member", collection.slug, pk)
    role = form.cleaned_data["role"]
    try:
        members.set_role(membership, role)
    except members.LastAdmin:
        messages.error(request, LAST_ADMIN.format(shown(membership.user)))
    except members.SuperuserCannotRate as error:
        messages.error(request, str(error))
    except Membership.DoesNotExist:
        messages.error(request, f"{shown(membership.user)} was removed meanwhile.")
        return redirect("people", collection.slug)
    else:
        messages.success(request, f"{shown(membership.user)} is {role} of {collection} now.")
        if membership.user == request.user and role != Role.ADMIN:
            return redirect("home")
    return redirect("member", collection.slug, pk)


@admin_act
def remove_member(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    """End the membership; who ends their own goes to the first page."""
    membership = member_of(collection, pk)
    try:
        members.remove(membership)
    except members.LastAdmin:
        messages.error(request, LAST_ADMIN.format(shown(membership.user)))
        return redirect("member", collection.slug, pk)
    except Membership.DoesNotExist:
        messages.info(request, f"{shown(membership.user)} was removed before.")
    else:
        gone = f"{shown(membership.user)} is no longer a member of {collection}."
        messages.success(request, f"{gone} What they rated stays and counts.")
    return redirect("home") if membership.user == request.user else redirect("people", collection.slug)


@admin_act
def end_sessions(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    """End all sessions of a member."""
    membership = member_of(collection, pk)
    number = sessions.end_all(membership.user)
    outcome = f"signed out in {number} browser{'' if number == 1 else 's'}" if number else "was not signed in"
    messages.success(request, f"{shown(membership.user)}: {outcome}.")
    return redirect("member", collection.slug, pk)


@admin_act
@transaction.atomic
def new_password_link(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    """Show once a link by which a member sets a new password."""
    membership = member_of(collection, pk)
    if not settings.PASSWORDS or not members.may_set_password(request.user, membership):
        raise Http404("No password of this member can be set here.")
    note(Act.SIGN_IN, collection, about=membership.user, made="link to set a password")
    rater = collection.raters.filter(user=membership.user_id).first()
    link = request.build_absolute_uri(mail.password_link(membership.user))
    return person_page(request, collection, membership, rater, password_link=link)


@admin_page
def rater(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    """A rater: their work, their role if they are a member, what they may rate, and how to erase them."""
    rater = rater_of(collection, pk)
    return person_page(request, collection, membership_of(rater), rater)


@admin_act
@transaction.atomic
def save_terms(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    """Save the terms of a rater: how many grades they give at most, for which queries, and with which weight."""
    rater = rater_of(collection, pk)
    lock(rater)
    form = terms_of(collection, rater, request.POST)
    if not form.is_valid():
        return person_page(request, collection, membership_of(rater), rater, terms=form)
    terms = form.cleaned_data
    members.change_terms(rater, **terms)
    # The form of an imported rater, whom no account has, lacks the queries.
    queries = counted(len(terms["queries"]), "query", "queries") if terms.get("queries") else "all queries"
    messages.success(request, f"{rater} rates {queries}. Saved." if rater.user_id else "Saved.")
    return redirect("rater", collection.slug, pk)


@admin_act
def deactivate_rater(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    rater = rater_of(collection, pk)
    members.deactivate(rater)
    messages.success(request, f"{rater} gets nothing more to rate. What they rated stays and counts.")
    return redirect("rater", collection.slug, pk)


@admin_act
def reactivate_rater(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    rater = rater_of(collection, pk)
    members.reactivate(rater)
    messages.success(request, f"{rater} can rate again.")
    return redirect("rater", collection.slug, pk)


@admin_act
def erase_rater(request: SignedInRequest, collection: Collection, pk: int) -> HttpResponse:
    """Erase the person; the typed name is the confirmation."""
    rater = rater_of(collection, pk)
    erases_themselves = rater.user_id == request.user.pk
    form = ErasureForm(request.POST, expected=rater.name, auto_id="erase_%s")
    if not form.is_valid():
        return person_page(request, collection, membership_of(rater), rater, erasure=form)
    try:
        pseudonym = erasure.erase(rater, comments=form.cleaned_data["comments"])
    except members.LastAdmin:
        messages.error(request, LAST_ADMIN.format(rater))
        return redirect("rater", collection.slug, pk)
    messages.success(request, f"The person is erased. Their ratings stay under “{pseudonym}”.")
    return redirect("home") if erases_themselves else redirect("people", collection.slug)


def people_list_page(
    request: SignedInRequest, collection: Collection, form: InviteForm, *, status: int = 200
) -> HttpResponse:
    """The page of people and invitations: two lists, each with its own paging.

    `form`: to invite people, as it was sent if it is refused.
    """
    everybody = members.everybody(collection)
    list_form = ListForm(request.GET, people=everybody)
    paging = paged(request, list_form.listed(everybody), PEOPLE_PER_PAGE)
    invitations = collection.invitations.select_related("created_by", "accepted_by")
    invitation_paging = paged(request, invitations, PEOPLE_PER_PAGE, by="invitations")
    with_states = [(invitation, members.state_of(invitation)) for invitation in invitation_paging["page"]]
    member_roles = [person.role for person in everybody if person.membership]
    context = frame(collection, "people") | {
        **paging,  # "page", and "numbers" of the pages
        "people": members.with_work(paging["page"].object_list),
        "asked": list_form,  # which people are listed, and in which order
        "all": len(everybody),  # also those that are not listed
        "heads": tables.heads(columns(), list_form.sort),
        "acts": many.acts(),
        # Whether all boxes of the list are ticked, as a link of the page asks.
        "ticked": request.GET.get("tick") == "all",
        "members": len(member_roles),
        "counts": {role: member_roles.count(role) for role in Role.values},
        "invitations": with_states,
        "invited": invitation_paging,
        # The number of open invitations, on all pages.
        "open": collection.invitations.filter(members.UNUSED, expires_at__gt=timezone.now()).count(),
        "tokens": tokens.in_use(collection),
        "form": form,
    }
    return render(request, "ratings/people.html", context, status=status)


def columns() -> tables.Columns:
    """The columns of the list; the times are in the zone of the reader."""
    return [
        ("name", "Name", False),
        ("role", "Role", False),
        ("state", "State", False),
        ("ratings", "Pairs rated", True),
        ("last_act", f"Last at work ({timezone.get_current_timezone_name()})", False),
    ]


def person_page(
    request: SignedInRequest,
    collection: Collection,
    membership: Membership | None,
    rater: Rater | None,
    *,
    terms: TermsForm | None = None,
    erasure: ErasureForm | None = None,
    password_link: str = "",
) -> HttpResponse:
    """The page of a member, a rater, or somebody who is both; one of the two may be None.

    `terms`, `erasure`: forms that were sent and refused. `password_link`: to set a password, which is shown once.
    """
    name = rater.name if rater else shown(membership.user)
    [person] = members.with_work([members.Person(name, membership=membership, rater=rater)])
    context = frame(collection, "people") | {"person": person, "membership": membership, "rater": rater}
    context["password_link"] = password_link
    if membership:
        context["sessions"] = sessions.open_of(membership.user)
        # Whether the page offers a link for a new password.
        context["resets"] = settings.PASSWORDS and members.may_set_password(request.user, membership)
        context["role_form"] = RoleForm(initial={"role": membership.role}, auto_id="role_%s")
    if rater:
        context["terms"] = terms or terms_of(collection, rater)
        context["erasure"] = erasure or ErasureForm(expected=rater.name, auto_id="erase_%s")
        # Other modules add their context here, such as the work of the rater.
        for context_of_rater in members.rater_page_contexts:
            context |= context_of_rater(rater)
    return render(request, "ratings/person.html", context, status=400 if terms or erasure else 200)


def terms_of(collection: Collection, rater: Rater, data: QueryDict | None = None) -> TermsForm:
    """The form of what the rater may rate, with what is stored or with the sent `data`."""
    keys = rater.queries.order_by("pk").values_list("key", flat=True)
    initial = {"limit": rater.limit, "weight": plain_value(rater.weight), "queries": "\n".join(keys)}
    form = TermsForm(data, initial=initial, collection=collection, auto_id="terms_%s")
    if not rater.user_id:  # nobody rates in this name
        del form.fields["limit"], form.fields["queries"]
    return form


def member_of(collection: Collection, pk: int) -> Membership:
    return get_object_or_404(Membership.objects.select_related("user", "collection"), pk=pk, collection=collection)


def membership_of(rater: Rater) -> Membership | None:
    return rater.collection.memberships.select_related("user").filter(user=rater.user_id).first()


def rater_of(collection: Collection, pk: int) -> Rater:
    return get_object_or_404(Rater.objects.select_related("collection", "user"), pk=pk, collection=collection)
