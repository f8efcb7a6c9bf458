"""The list of people to invite: one name or address a line, each line looked at before anybody is invited."""

import re
from collections.abc import Iterator, Mapping

from django.core.exceptions import ValidationError
from django.utils import timezone

from ..models import Collection
from ..words import counted
from .members import OPEN
from .names import folded

MOST_INVITED = 500  # at once
LONGEST_NAME = 150
LONGEST_SHOWN = 40
MOST_TOLD = 20  # lines that a refusal names
NOT_SEEN = str.maketrans("", "", "\x00\ufeff\u200b")  # a NUL, a byte order mark, and a blank without width
SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
ADDRESS = re.compile(r"<([^<>]+)>")  # of “Frida <f@example.org>”


def invitees(text: str, collection: Collection) -> list[str]:
    """The names of the list. The same line again counts once.

    Raises ValidationError with a sentence for each line at which nobody can be invited, and its cure. Two queries.
    """
    # Without characters that nobody sees, and without separators at the ends.
    cleaned = (line.translate(NOT_SEEN).strip().strip(",; \t") for line in text.splitlines())
    lines = [(number, line) for number, line in enumerate(cleaned, 1) if line]
    names = list(dict.fromkeys(line for _, line in lines))
    if not names:
        raise ValidationError("Write at least one name.")
    if len(names) > MOST_INVITED:
        raise ValidationError(f"{len(names)} names are too many at once: at most {MOST_INVITED}.")
    if problems := list(_problems(lines, _known(collection))):
        more = len(problems) - MOST_TOLD
        told = problems[:MOST_TOLD]
        if more > 0:
            told.append(f"{counted(more, 'more line has', 'more lines have')} such a problem.")
        raise ValidationError(["Nobody was invited.", *told])
    return names


def _problems(lines: list[tuple[int, str]], known: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each line at which nobody can be invited. `known`: folded name → why, and the cure."""
    first: dict[str, tuple[int, str]] = {}
    for number, name in lines:
        where = f"Line {number}"
        if problem := _not_one(name):
            shown = name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…"
            yield f"{where}: “{shown}” {problem}"
        elif why := next((known[key] for key in _keys(name) if key in known), None):
            yield f"{where}: {name} {why}"
        else:
            other, as_written = next((first[key] for key in _keys(name) if key in first), (number, name))
            if as_written != name:
                yield f"{where}: {name} is on line {other} already, as {as_written}. Keep one of them."
        for key in _keys(name):
            first.setdefault(key, (number, name))


def _not_one(name: str) -> str:
    """Why the line is not the name or the address of one person, and the cure; "" if it is."""
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters. Shorten it."
    if sign := next((words for sign, words in SEPARATORS.items() if sign in name), None):
        return f"has {sign}. Write several people on a line each, and one person without it."
    addresses = {folded(part.strip("<>")) for part in name.split() if "@" in part}
    return f"has {len(addresses)} addresses. Write each on a line of its own." if len(addresses) > 1 else ""


def _known(collection: Collection) -> dict[str, str]:
    """Folded name or address → why nobody of this name is invited: they are invited already, or members."""
    known = {}
    for invitation in collection.invitations.filter(OPEN, expires_at__gt=timezone.now()):
        until = f"{invitation.expires_at:%-d %b %Y}"
        why = f"is invited already, until {until}. Remove the line, or withdraw that invitation first."
        known |= dict.fromkeys(_keys(invitation.name), why)
    for member in collection.memberships.select_related("user"):
        why = f"is a member already, as {member.role}. Remove the line; the member's page changes the role."
        known |= {folded(name): why for name in (member.user.get_username(), member.user.email) if name}
    return known


def _keys(name: str) -> list[str]:
    """What tells one person: the whole name, and the address in it, regardless of case."""
    return [folded(name), *(folded(address) for address in ADDRESS.findall(name))]
