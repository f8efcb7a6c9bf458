"""The links of new invitations: mailed, or shown once, since only their hashes are stored."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from ..models import Collection, Invitation
from ..web.pages import frame
from . import mail


def links_page(
    request: HttpRequest, collection: Collection, invitations: Sequence[tuple[Invitation, str]]
) -> HttpResponse:
    """Mail the new invitations whose name is an address, and return the page with the links of the others.

    `invitations`: (invitation, its key), at least one.
    """
    with_paths = [(invitation, reverse("join", args=[key])) for invitation, key in invitations]
    mailed = mail.send_invitations(with_paths)
    links = []
    for invitation, path in with_paths:
        if invitation not in mailed:
            address = request.build_absolute_uri(path)
            mailto = mail.mailto_of(invitation, address)  # opens a mail with the link in the admin's program
            links.append({"name": invitation.name, "address": address, "mailto": mailto})
    roles = list({invitation.role for invitation, _ in invitations})
    last_days = sorted({timezone.localdate(invitation.expires_at) for invitation, _ in invitations})
    context = frame(collection, "people") | {
        "links": links,
        "sent": mailed,
        "last_days": last_days,  # several, since a new link lasts as many days as the former one
        "same_role": roles[0] if len(roles) == 1 else "",  # "" where they differ
        # The text of a file to save: a line for each person, with a tab between name and link.
        "file": "".join(f"{link['name']}\t{link['address']}\r\n" for link in links),
    }
    return render(request, "ratings/invited.html", context)
