"""The page of notices: what happened, who is told, and how each message arrived. And links that end mail."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from ..importing.pull import allowing
from ..importing.pull.places import listed_place
from ..models import AllowedHost, Collection, Delivery, Notice, Rater, Receiver, Role, hosts_allowed_for
from ..models.allowed_host import host_in, is_public_name
from ..people.access import READERS, SignedInRequest, of_collection, readers_page, record_act
from ..people.audit import Act, note
from ..web.pages import frame, paged
from . import gathering
from .forms import KINDS_OF_ADMINS, KindsForm, RemindersForm, WebhookForm
from .signed import pk_of
from .webhooks import WEBHOOKS, secret_of

NOTICES_PER_PAGE, DELIVERIES_SHOWN = 30, 50
SECTION = "notices"


@readers_page
def notices(request: SignedInRequest, collection: Collection) -> HttpResponse:
    return notices_page(request, collection)


@require_POST
@of_collection(*READERS)
@transaction.atomic
def mail_me(request: SignedInRequest, collection: Collection) -> HttpResponse:
    """Choose which notices come to oneself by mail."""
    form = KindsForm(request.POST, role=collection.role)
    if not form.is_valid():
        return notices_page(request, collection, mine=form)
    kinds = form.cleaned_data["kinds"]
    own_receivers = collection.receivers.filter(user=request.user)  # one or none
    if not kinds:
        own_receivers.delete()
    elif not own_receivers.update(kinds=kinds):  # there is none yet
        Receiver.objects.create(collection=collection, user=request.user, kinds=kinds, created_at=timezone.now())
    note(Act.NOTICES, collection, about=request.user, kinds=len(kinds))
    messages.success(request, "You get these notices by mail." if kinds else "You get no notices by mail.")
    return redirect("notices", collection.slug)


@record_act
@transaction.atomic
def save_reminders(request: HttpRequest, collection: Collection) -> HttpResponse:
    """Whether raters are mailed when work waits."""
    form = RemindersForm(request.POST, instance=collection)
    form.save()
    note(Act.NOTICES, collection, about="raters", reminds=collection.reminds)
    return redirect("notices", collection.slug)


@record_act
@transaction.atomic
def make_webhook(request: SignedInRequest, collection: Collection) -> HttpResponse:
    """Make a webhook, and show its secret once."""
    receiver = Receiver(collection=collection, created_at=timezone.now())
    form = WebhookForm(request.POST, instance=receiver)
    if not form.is_valid():
        return notices_page(request, collection, webhook=form)
    form.save()
    note(Act.NOTICES, collection, about=host_in(receiver.address))
    shown = {"receiver": receiver, "secret": secret_of(receiver), **reach_of(receiver)}
    return render(request, "ratings/webhook.html", {**frame(collection, SECTION), **shown})


@record_act
@transaction.atomic
def remove_webhook(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    receiver = webhook_of(collection, pk)
    receiver.delete()
    note(Act.NOTICES, collection, about=host_in(receiver.address), removed=True)
    return redirect("notices", collection.slug)


@record_act
def test_webhook(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    gathering.test(webhook_of(collection, pk))
    messages.success(request, "A test is on its way. The list below shows what is answered.")
    return redirect("notices", collection.slug)


@record_act
def allow_webhook(request: HttpRequest, collection: Collection, pk: int) -> HttpResponse:
    """Allow the host of a webhook. Only superusers may."""
    allowing.allow_for(request, host_in(webhook_of(collection, pk).address), WEBHOOKS)
    return redirect("notices", collection.slug)


@login_not_required
@csrf_exempt  # programs of mail send the POST of RFC 8058 without a page; the link itself is the proof
@require_http_methods(["GET", "HEAD", "POST"])
def notices_off(request: HttpRequest, signed: str) -> HttpResponse:
    """The page of a link in a mail that ends these mails. A GET changes nothing."""
    receiver = Receiver.objects.filter(pk=pk_of("notices_off", signed)).first()
    if receiver is None:
        return off_page(request, is_off=True, collection=None)  # the link was used before, or is none
    if request.method == "POST":
        receiver.delete()
    return off_page(request, is_off=request.method == "POST", collection=receiver.collection)


@login_not_required
@csrf_exempt  # as above
@require_http_methods(["GET", "HEAD", "POST"])
def no_mail(request: HttpRequest, signed: str) -> HttpResponse:
    """The page of a link in a mail to a rater that ends these mails. A GET changes nothing."""
    rater = Rater.objects.filter(pk=pk_of("no_mail", signed)).first()
    if rater is None:
        raise Http404("No such link.")
    if request.method == "POST":
        Rater.objects.filter(pk=rater.pk).update(no_mail=True)
        rater.no_mail = True
    return off_page(request, is_off=rater.no_mail, collection=rater.collection)


def off_page(request: HttpRequest, *, is_off: bool, collection: Collection | None) -> HttpResponse:
    """The page that asks whether to end mail of the collection or, with `is_off`, says that it has ended."""
    return render(request, "ratings/mail_off.html", {"is_off": is_off, "about": collection})


def notices_page(request: SignedInRequest, collection: Collection, **forms) -> HttpResponse:
    """The page of notices. `forms`: the refused form, as `mine` or `webhook`."""
    own_receiver = collection.receivers.filter(user=request.user).first()
    own_kinds = own_receiver.kinds if own_receiver else []
    context = {
        **frame(collection, SECTION),
        **paged(request, notices_for(collection), NOTICES_PER_PAGE),  # "page", and "numbers" of the pages
        "sends_mail": bool(settings.MAIL),
        "mine": forms.get("mine") or KindsForm(role=collection.role, initial={"kinds": own_kinds}),
    }
    if collection.role == Role.ADMIN:
        receivers = collection.receivers.filter(user=None)
        webhooks = [{"receiver": receiver, **reach_of(receiver)} for receiver in receivers]
        sent = Delivery.objects.filter(receiver__collection=collection).select_related("receiver__user", "notice")
        context |= {
            "webhooks": webhooks,
            "webhook": forms.get("webhook") or WebhookForm(),
            "deliveries": sent[:DELIVERIES_SHOWN],
            "reminders": RemindersForm(instance=collection),
            "allowed": AllowedHost.objects.filter(purpose=WEBHOOKS) if request.user.is_superuser else [],
        }
    return render(request, "ratings/notices.html", context, status=400 if forms else 200)


def notices_for(collection: Collection) -> QuerySet[Notice]:
    """The notices that a person with the role of this collection may read."""
    notices = collection.notices.exclude(kind=Notice.Kind.TEST)
    return notices if collection.role == Role.ADMIN else notices.exclude(kind__in=KINDS_OF_ADMINS)


def reach_of(receiver: Receiver) -> dict:
    """Whether notices can be sent to a webhook, for its page.

    "host": the host of its address. "why_closed": why nothing may be sent there, without a full stop; "" if
    something may. "can_be_allowed": whether a superuser can allow this host.
    """
    host = host_in(receiver.address)
    try:
        listed_place(receiver.address, hosts_allowed_for(WEBHOOKS))
    except ValueError as error:
        if not is_public_name(host):
            return {"host": host, "why_closed": str(error), "can_be_allowed": False}
        why = f"Nothing is sent to {host} until a superuser allows it, on the page of notices"
        return {"host": host, "why_closed": why, "can_be_allowed": True}
    return {"host": host, "why_closed": "", "can_be_allowed": False}


def webhook_of(collection: Collection, pk: int) -> Receiver:
    return get_object_or_404(Receiver, collection=collection, pk=pk, user=None)
