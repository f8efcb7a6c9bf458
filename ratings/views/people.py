"""The people of a collection, for its admins: who takes part, as what, and what each rater may rate."""

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from .. import people, privacy, tokens
from ..access import collection_for
from ..forms import ErasureForm, InviteForm, RoleForm, TermsForm
from ..models import ApiToken, Collection, Invitation, Membership, Rater, Role, plain_value

AT_ONCE = 100
LAST_ADMIN = "{} is the only admin. Make somebody else an admin first."


def for_admins(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Call view(request, collection, …) for admins; for others the collection is absent."""

    @wraps(view)
    def answered(request: HttpRequest, slug: str, **kwargs) -> HttpResponse:
        return view(request, collection_for(request, slug, Role.ADMIN), **kwargs)

    return answered


@require_safe
@never_cache
@for_admins
def people_page(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Everybody who takes part or has rated, and the invitations."""
    return listed(request, collection, InviteForm(auto_id="invite_%s"))


@require_POST
@never_cache
@for_admins
def invite(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Make links and show them, this once: a page that is loaded again cannot have them, for they are not kept."""
    form = InviteForm(request.POST, auto_id="invite_%s")
    if not form.is_valid():
        return listed(request, collection, form, status=400)
    made = people.invite(collection, **form.cleaned_data, by=request.user)
    links = [
        (invitation.name, request.build_absolute_uri(reverse("join", args=[key]))) for invitation, key in made
    ]
    context = page(collection) | {
        "links": links,
        "invitation": made[0][0],
        "file": "".join(f"{name}\t{link}\r\n" for name, link in links),
    }
    return render(request, "ratings/invited.html", context)


@require_POST
@for_admins
def withdraw_invitation(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation, pk=pk, collection=collection)
    try:
        people.withdraw(invitation)
    except people.Gone:
        messages.error(request, f"{called(invitation)}: the invitation was accepted or withdrawn before.")
    else:
        messages.success(
            request, f"{called(invitation)}: the invitation is withdrawn, and its link works no more."
        )
    return redirect("people", collection.slug)


@require_POST
@for_admins
def revoke_token(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """End a token of whoever made it for this collection."""
    token = get_object_or_404(ApiToken.objects.select_related("user"), pk=pk, collection=collection)
    tokens.revoke(token)
    messages.success(request, f"{token}: the token works no more.")
    return redirect("people", collection.slug)


@require_safe
@never_cache
@for_admins
def member(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """A member. One who is or was a rater has the page of the rater."""
    membership = member_of(collection, pk)
    rater = collection.raters.filter(user=membership.user_id).first()
    if rater:
        return redirect("rater_settings", collection.slug, rater.pk)
    return render(request, "ratings/person.html", person(collection, membership, None))


@require_POST
@for_admins
def set_role(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    membership = member_of(collection, pk)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "There is no such role. Choose one of the list.")
        return redirect("member", collection.slug, pk)
    role = form.cleaned_data["role"]
    try:
        people.set_role(membership, role)
    except people.LastAdmin:
        messages.error(request, LAST_ADMIN.format(membership.user))
    except Membership.DoesNotExist:
        messages.error(request, f"{membership.user} was removed meanwhile.")
        return redirect("people", collection.slug)
    else:
        messages.success(request, f"{membership.user} is {role} of {collection} now.")
        if membership.user == request.user and role != Role.ADMIN:
            return redirect("home")
    return redirect("member", collection.slug, pk)


@require_POST
@for_admins
def remove_member(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    membership = member_of(collection, pk)
    try:
        people.remove(membership)
    except people.LastAdmin:
        messages.error(request, LAST_ADMIN.format(membership.user))
        return redirect("member", collection.slug, pk)
    except Membership.DoesNotExist:
        messages.info(request, f"{membership.user} was removed before.")
    else:
        messages.success(
            request, f"{membership.user} is no member of {collection} any more. What they rated stays and counts."
        )
    return redirect("home") if membership.user == request.user else redirect("people", collection.slug)


@require_safe
@never_cache
@for_admins
def rater_settings(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """A rater: their role if they are a member, what they may rate, and how to erase them."""
    rater = rater_of(collection, pk)
    return render(request, "ratings/person.html", person(collection, membership_of(rater), rater))


@require_POST
@for_admins
def save_terms(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    rater = rater_of(collection, pk)
    form = TermsForm(request.POST, collection=collection, tags=people.tags_of(collection), auto_id="terms_%s")
    if not form.is_valid():
        context = person(collection, membership_of(rater), rater, terms=form)
        return render(request, "ratings/person.html", context, status=400)
    given = form.cleaned_data
    tag = given.pop("tag", "")
    if tag:
        given["queries"] = people.queries_tagged(collection, tag)
    people.set_terms(rater, **given)
    number = len(given["queries"])
    messages.success(request, f"{rater} rates {number or 'all'} quer{'y' if number == 1 else 'ies'}. Saved.")
    return redirect("rater_settings", collection.slug, pk)


@require_POST
@for_admins
def deactivate_rater(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    rater = rater_of(collection, pk)
    people.deactivate(rater)
    messages.success(request, f"{rater} gets nothing more to rate. What they rated stays and counts.")
    return redirect("rater_settings", collection.slug, pk)


@require_POST
@for_admins
def reactivate_rater(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    rater = rater_of(collection, pk)
    people.reactivate(rater)
    messages.success(request, f"{rater} can rate again.")
    return redirect("rater_settings", collection.slug, pk)


@require_POST
@for_admins
def erase_rater(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Take the person out for good; the name, typed, is the confirmation."""
    rater = rater_of(collection, pk)
    own = rater.user_id == request.user.pk
    form = ErasureForm(request.POST, expected=rater.name, auto_id="erase_%s")
    if not form.is_valid():
        context = person(collection, membership_of(rater), rater, erasure=form)
        return render(request, "ratings/person.html", context, status=400)
    try:
        pseudonym = privacy.erase(rater, comments=form.cleaned_data["comments"])
    except people.LastAdmin:
        messages.error(request, LAST_ADMIN.format(rater))
        return redirect("rater_settings", collection.slug, pk)
    messages.success(request, f"The person is erased. Their ratings stay under “{pseudonym}”.")
    return redirect("home") if own else redirect("people", collection.slug)


def page(collection: Collection) -> dict:
    return {"collection": collection, "role": collection.role, "section": "people"}


def listed(request: HttpRequest, collection: Collection, form: InviteForm, *, status: int = 200) -> HttpResponse:
    everybody = people.everybody(collection)
    paginator = Paginator(everybody, AT_ONCE)
    shown = paginator.get_page(request.GET.get("page"))
    now = timezone.now()
    invitations = list(people.invitations(collection)[: AT_ONCE + 1])
    states = [(invitation, people.state_of(invitation, now=now)) for invitation in invitations[:AT_ONCE]]
    counts = {role: sum(p.role == role for p in everybody if p.membership) for role in Role.values}
    context = page(collection) | {
        "page": shown,
        "numbers": list(paginator.get_elided_page_range(shown.number)),
        "people": people.with_work(shown.object_list),
        "members": sum(counts.values()),
        "counts": counts,
        "invitations": states,
        "more_invitations": len(invitations) > AT_ONCE,
        "open": collection.invitations.filter(people.OPEN, expires_at__gt=now).count(),
        "tokens": tokens.in_use(collection, now=now),
        "form": form,
    }
    return render(request, "ratings/people.html", context, status=status)


def person(
    collection: Collection,
    membership: Membership | None,
    rater: Rater | None,
    *,
    terms: TermsForm | None = None,
    erasure: ErasureForm | None = None,
) -> dict:
    """What the page of a person shows; a refused form comes back as it was filled in."""
    found = people.with_work([people.Person(name_of(membership, rater), membership, rater)])[0]
    context = page(collection) | {"person": found, "membership": membership, "rater": rater}
    if membership:
        context["role_form"] = RoleForm({"role": membership.role}, auto_id="role_%s")
    if rater:
        context["terms"] = terms or terms_of(collection, rater)
        context["erasure"] = erasure or ErasureForm(expected=rater.name, auto_id="erase_%s")
    return context


def terms_of(collection: Collection, rater: Rater) -> TermsForm:
    keys = rater.queries.order_by("pk").values_list("key", flat=True)
    initial = {"limit": rater.limit, "weight": plain_value(rater.weight), "queries": "\n".join(keys)}
    return TermsForm(initial=initial, collection=collection, tags=people.tags_of(collection), auto_id="terms_%s")


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


def called(invitation: Invitation) -> str:
    return invitation.name or "Somebody"
