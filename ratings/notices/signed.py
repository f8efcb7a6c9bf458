"""Links in mails that end such mails, for whoever has the mail, without signing in."""

from django.core import signing
from django.urls import reverse


def path_of(view: str, pk: int) -> str:
    """The path of this view for this row. It never expires."""
    return reverse(view, args=[signing.dumps(pk, salt=_salt(view))])


def pk_of(view: str, signed: str) -> int:
    """The row that such a link names; 0, which no row has, where the link is none."""
    try:
        return signing.loads(signed, salt=_salt(view))
    except signing.BadSignature:
        return 0


def _salt(view: str) -> str:
    return f"ratings.notices.{view.removeprefix('notices_')}"  # mails that were sent have "….off"
