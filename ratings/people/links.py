"""The links of new invitations: mailed, or shown once, since only their hashes are stored."""

from collections.abc import Sequence
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from ..models import Collection, Invitation
from ..web.pages import frame
from . import mail


class Link(NamedTuple):
    """The link of an invitation, and the address that opens a mail with it."""

    name: str
    address: str
    mailto: str


def links_page(
    request: HttpRequest, collection: Collection, invitations: Sequence[tuple[Invitation, str]]
) -> HttpResponse:
    """Mail the new invitations whose name is an address, and show the links of the others.

    `invitations`: (invitation, its key).
    """
    paths = [(invitation, reverse("join", args=[key])) for invitation, key in invitations]
    mailed = mail.send_invitations(paths)
    links = [_link(request, invitation, path) for invitation, path in paths if invitation not in mailed]
    roles = {invitation.role for invitation, _ in invitations}
    first, _ = invitations[0]
    context = frame(collection, "people") | {
        "links": links,
        "sent": mailed,
        "until": first.expires_at,
        "same_role": roles.pop() if len(roles) == 1 else "",
        "file": "".join(f"{link.name}\t{link.address}\r\n" for link in links),
    }
    return render(request, "ratings/invited.html", context)


def _link(request: HttpRequest, invitation: Invitation, path: str) -> Link:
    address = request.build_absolute_uri(path)
    return Link(invitation.name, address, mail.mailto_of(invitation, address))
