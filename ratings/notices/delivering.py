"""Send what is due, by mail and webhook, and try again later where it does not arrive."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F
from django.template.loader import render_to_string
from django.utils import timezone

from ..models import Collection, Delivery, Notice, Role
from ..people import mail
from ..people.access import READERS
from . import webhooks
from .forms import KINDS_OF_ADMINS
from .signed import path_of

# From each try that fails to the next, as Standard Webhooks has them. One more try follows the last of them.
MINUTES_TO_NEXT_TRY = (1 / 12, 5, 30, 120, 300, 600, 840, 1_200)
DELIVERIES_PER_TURN = 20  # each may take ten seconds
# For so long after a try began no other worker takes the delivery: longer than a slow server takes.
TRY_HELD_FOR = timedelta(minutes=2)


def deliver_due() -> int:
    """Try the deliveries that are due, and return how many were tried.

    Each is taken by one worker, and by another where that one dies.
    """
    due = Delivery.objects.filter(state=Delivery.State.WAITING, next_at__lte=timezone.now()).order_by("next_at")
    rows = due.select_related("receiver__collection", "receiver__user", "notice__collection")[:DELIVERIES_PER_TURN]
    return sum(_deliver(delivery) for delivery in rows)


def _deliver(delivery: Delivery) -> bool:
    """Try the delivery, and store the outcome. False if another worker has taken it.

    The try is counted before it is made, as a worker may die in it.
    """
    now = timezone.now()
    untaken = Delivery.objects.filter(pk=delivery.pk, tries=delivery.tries, state=Delivery.State.WAITING)
    if not untaken.update(tries=F("tries") + 1, next_at=now + TRY_HELD_FOR):
        return False
    receiver = delivery.receiver
    if receiver.user:
        arrived, answer = by_mail(delivery, receiver.user)
    else:
        arrived, answer = webhooks.send(receiver, delivery.notice, mail.usual_site(), now)
    ended_at = timezone.now()
    # `delivery` was read before this try, so that `delivery.tries` has the number of earlier ones.
    # `webhooks.send` marks a receiver as gone that wants no more.
    is_last_try = receiver.gone or delivery.tries >= len(MINUTES_TO_NEXT_TRY)
    if arrived or is_last_try:
        state = Delivery.State.DELIVERED if arrived else Delivery.State.GIVEN_UP
        outcome = {"state": state, "next_at": None, "ended_at": ended_at}
    else:
        outcome = {"next_at": ended_at + timedelta(minutes=MINUTES_TO_NEXT_TRY[delivery.tries])}
    Delivery.objects.filter(pk=delivery.pk).update(answer=answer[:300], **outcome)
    return True


def by_mail(delivery: Delivery, user: User) -> tuple[bool, str]:
    """Send the notice by mail. Return whether it needs no other try, and the answer that pages show.

    People who left the collection get none.
    """
    receiver, notice, collection = delivery.receiver, delivery.notice, delivery.receiver.collection
    if not settings.MAIL or not user.email:
        return False, "No mail server is set, or the account has no mail address."
    if not may_read(user, collection, notice):
        return True, "Not sent: the person reads this collection no more."
    site = mail.usual_site()
    name = mail.name_in_mail(collection)
    off = site + path_of("notices_off", receiver.pk)  # the link that ends these mails
    context = {"notice": notice, "collection": name, "link": site + notice.path, "off": off}
    text = render_to_string("ratings/mail_notice.txt", context)
    if mail.send(user.email, f"{name}: {notice.get_kind_display()}", text, unsubscribe_link=off):
        return True, "sent"
    return False, "The mail server refused it."


def may_read(user: User, collection: Collection, notice: Notice) -> bool:
    """Whether the person still has a role in which they may read this notice."""
    roles = (Role.ADMIN,) if notice.kind in KINDS_OF_ADMINS else READERS
    readers = collection.memberships.filter(user=user, role__in=roles)
    return user.is_active and (user.is_superuser or readers.exists())
