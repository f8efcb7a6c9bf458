"""Webhooks in the form of Standard Webhooks: three headers, and a signature by HMAC-SHA-256.

(https://www.standardwebhooks.com, the specification of 2023.)
"""

import base64
import hashlib
import hmac
import json
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from ..importing.pull.fetching import Limits, response_of
from ..importing.pull.places import checked_place
from ..models import AllowedHost, Notice, Receiver, hosts_allowed_for

WEBHOOKS = AllowedHost.Purpose.WEBHOOKS
ANSWER_SECONDS, ANSWER_BYTES = 10.0, 100_000  # the most that an answer may take and have
GONE_STATUS = 410  # with which a receiver says that it wants no more
TEAMS_HOSTS = (".logic.azure.com", ".api.powerplatform.com")  # of workflows of Teams, which post cards alone


def secret_of(receiver: Receiver) -> str:
    """The secret that signs what this receiver gets, as its owner stores it."""
    return f"whsec_{base64.b64encode(_key(receiver)).decode()}"


def _key(receiver: Receiver) -> bytes:
    return hmac.digest(settings.SECRET_KEY.encode(), f"webhook {receiver.pk} {receiver.salt}".encode(), "sha256")


def body_of(receiver: Receiver, notice: Notice, site: str) -> bytes:
    """The body in JSON. Slack shows its `text`; a workflow of Teams shows only a card, which has the same text."""
    link = f"{site}{notice.path}"
    payload: dict[str, Any] = {
        "type": notice.kind,
        "timestamp": notice.at.isoformat(),
        "data": {"collection": notice.collection.slug, "text": notice.text, "link": link},
        "text": f"{notice.collection.name}: {notice.text} {link}",
    }
    if (urlsplit(receiver.address).hostname or "").endswith(TEAMS_HOSTS):
        block = {"type": "TextBlock", "wrap": True, "text": payload["text"]}
        card = {"type": "AdaptiveCard", "version": "1.4", "body": [block]}
        payload["attachments"] = [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}]
    return json.dumps(payload, ensure_ascii=False).encode()


def headers_of(receiver: Receiver, notice: Notice, body: bytes, now: datetime) -> dict[str, str]:
    """The headers. The id is the same in every try, so that a receiver can leave out what it has."""
    message_id, sent_at = f"msg_{notice.pk}_{receiver.pk}", str(int(now.timestamp()))
    signature = hmac.digest(_key(receiver), f"{message_id}.{sent_at}.".encode() + body, hashlib.sha256)
    return {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": sent_at,
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }


def send(receiver: Receiver, notice: Notice, site: str, now: datetime) -> tuple[bool, str]:
    """Send the notice once. Return whether it arrived, and the answer that pages show.

    Redirects are not followed, and private addresses not asked. A receiver that is gone is marked so.
    """
    body = body_of(receiver, notice, site)
    limits = Limits(seconds=ANSWER_SECONDS, bytes=ANSWER_BYTES, total_seconds=ANSWER_SECONDS, tries=1)
    try:
        place = checked_place(receiver.address, hosts_allowed_for(WEBHOOKS))
        target = f"{place.path}?{place.query}" if place.query else place.path
        headers = headers_of(receiver, notice, body, now)
        status, _, content = response_of(place, "POST", target, body, headers, limits)
    except ValueError as error:  # the address may not be asked, or no whole answer came
        return False, f"no answer: {error}"
    if status == GONE_STATUS:
        receiver.gone = True
        Receiver.objects.filter(pk=receiver.pk).update(gone=True)
    text = content[:200].decode(errors="replace").replace("\x00", "")
    return 200 <= status < 300, f"{status} {text}".strip()
