"""Idempotency keys: a batch that is sent twice with one key is processed once."""

import hashlib
from collections.abc import Callable
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from ..models import Collection, Receipt
from ..web.problems import Problem
from .access import TokenRequest

RECEIPTS_KEPT_FOR = timedelta(days=30)


def with_receipt(request: TokenRequest, collection: Collection, key: str | None, act: Callable[[], dict]) -> dict:
    """Act and return the answer; for a key that came with the same request before, return the stored answer alone.

    Act and receipt are written in one transaction. A second sender waits for the receipt's row, so only one of two
    senders at once acts. If `act` raises, no receipt is stored, so that the corrected batch may have the same key.
    Raises Problem for a key that was used for another request.
    """
    if key is None:
        return act()
    now = timezone.now()
    digest = hashlib.sha256(f"{request.method} {request.path}\n".encode() + request.body).hexdigest()
    unique = {"user": request.auth.user, "collection": collection, "key": key}
    try:
        with transaction.atomic():
            Receipt.objects.filter(created_at__lt=now - RECEIPTS_KEPT_FOR).delete()
            receipt = Receipt.objects.create(**unique, digest=digest, created_at=now)
            receipt.answer = act()
            receipt.save(update_fields=["answer"])
            return receipt.answer
    except IntegrityError:  # the key came before, and has a receipt
        receipt = Receipt.objects.filter(**unique).first()
        if receipt is None:  # so the error is one of `act`
            raise
    if receipt.digest != digest:
        detail = "This Idempotency-Key came with something else before. Give each batch a key of its own."
        raise Problem(422, detail, kind="key-reused")
    return receipt.answer
