"""Mail to raters for whom work waits: at most one a day, and one a week while they do nothing."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F, Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext

from ..desk import queue
from ..models import Rater, RatingEvent
from ..people import mail
from ..web.language import language_for
from .signed import path_of

DAY, WEEK = timedelta(days=1), timedelta(days=7)


def remind_due() -> int:
    """Remind the raters for whom work waits, and return how many were reminded.

    Several workers may do it at once: each rater is taken by one.
    """
    if not settings.MAIL:
        return 0
    now = timezone.now()
    raters = Rater.objects.able().filter(collection__reminds=True, collection__put_away_at=None, no_mail=False)
    waiting = raters.filter(Q(reminded_at=None) | Q(reminded_at__lt=now - DAY)).exclude(user__email="")
    # A person who rates in several collections gets one mail a day, too.
    reminded_users = set(Rater.objects.filter(reminded_at__gte=now - DAY).values_list("user", flat=True))
    number = 0
    longest_ago_first = F("reminded_at").asc(nulls_first=True)  # those who never were come first
    for rater in waiting.select_related("collection", "user").order_by(longest_ago_first, "pk"):
        if rater.user and rater.user_id not in reminded_users and _remind(rater, rater.user, now):
            reminded_users.add(rater.user_id)
            number += 1
    return number


def _remind(rater: Rater, user: User, now: datetime) -> bool:
    """Remind the rater, and return whether that was done.

    No mail goes to a rater who rated within the last day, who was mailed within the last week and did nothing
    since, or for whom nothing waits.
    """
    last_act = RatingEvent.objects.filter(rater=rater).order_by("-pk").values_list("created_at", flat=True).first()
    if last_act and last_act > now - DAY:
        return False
    last_mail = rater.reminded_at
    if last_mail and last_mail > now - WEEK and (last_act is None or last_act < last_mail):
        return False
    outlook = queue.outlook(rater, now=now)
    if not outlook.left:
        return False
    # Of several workers, only the one that writes the time sends the mail.
    if not Rater.objects.filter(pk=rater.pk, reminded_at=last_mail).update(reminded_at=now):
        return False
    site, name = mail.usual_site(), mail.name_in_mail(rater.collection)
    off = site + path_of("no_mail", rater.pk)  # the link that ends these mails
    context = {
        "collection": name,
        "outlook": outlook,
        "link": site + reverse("rate", args=[rater.collection.slug]),
        "off": off,
    }
    with translation.override(language_for(user)):
        text = render_to_string("ratings/mail_work.txt", context)
        subject = gettext("%(collection)s: documents wait for you") % {"collection": name}
    return mail.send(user.email, subject, text, unsubscribe_link=off)
