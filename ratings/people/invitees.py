"""The list of people to invite: one name or address a line, each line looked at before anybody is invited."""

import re
from collections.abc import Iterator, Mapping

from django.core.exceptions import ValidationError
from django.utils import timezone

from ..models import Collection
from .members import UNUSED
from .names import folded

MOST_INVITED = 500  # people at once
LONGEST_NAME = 150  # characters
SHOWN_CHARACTERS = 40  # of a line, in a refusal
# A NUL, a byte order mark, and a blank without width: a table that removes them.
INVISIBLE_CHARACTERS = str.maketrans("", "", "\x00\ufeff\u200b")
AROUND_A_NAME = re.compile(r"^[\s,;]+|[\s,;]+$")
SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
ADDRESS = re.compile(r"<([^<>]+)>")  # of “Frida <f@example.org>”


def invitees(text: str, collection: Collection) -> list[str]:
    """The names and addresses of the text, one a line, each once.

    Raises ValidationError with a sentence for each line at which nobody can be invited, and its cure. Two queries.
    """
    # Characters that nobody sees are removed, and so are blanks and separators at the ends of a line.
    cleaned = [AROUND_A_NAME.sub("", line.translate(INVISIBLE_CHARACTERS)) for line in text.splitlines()]
    lines = [(number, line) for number, line in enumerate(cleaned, 1) if line]
    names = list(dict.fromkeys(line for _, line in lines))  # each once, in their order
    if not names:
        raise ValidationError("Write at least one name.")
    if len(names) > MOST_INVITED:
        raise ValidationError(f"{len(names)} names are too many at once: at most {MOST_INVITED}.")
    problems = list(_problems(lines, _refusals(collection)))
    if problems:
        raise ValidationError(["Nobody was invited.", *problems])
    return names


def _problems(lines: list[tuple[int, str]], refusals: Mapping[str, str]) -> Iterator[str]:
    """Yields a sentence for each line at which nobody can be invited.

    `lines`: (line number, name). `refusals`: key of a person → why they cannot be invited, from `_refusals`. A
    name has several keys, of which one is enough to recognise the person.
    """
    first_lines: dict[str, tuple[int, str]] = {}  # key of a person → the first (line number, name) with it
    for number, name in lines:
        keys = _keys(name)
        reason = next((refusals[key] for key in keys if key in refusals), None)
        # The line that named the person first, which is this one if no earlier line has one of the keys.
        first_number, first_name = next((first_lines[key] for key in keys if key in first_lines), (number, name))
        if problem := _problem_of_line(name):
            shown = name if len(name) <= SHOWN_CHARACTERS else f"{name[:SHOWN_CHARACTERS]}…"
            yield f"Line {number}: “{shown}” {problem}"
        elif reason:
            yield f"Line {number}: {name} {reason}"
        elif name != first_name:  # a line with the same text is no problem: `invitees` leaves it out
            yield f"Line {number}: {name} is on line {first_number} already, as {first_name}. Keep one of them."
        for key in keys:
            first_lines.setdefault(key, (number, name))


def _problem_of_line(name: str) -> str:
    """Why the line is not the name or the address of one person, and the cure; "" if it is."""
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters. Shorten it."
    for separator, words in SEPARATORS.items():
        if separator in name:
            return f"has {words}. Write several people on a line each, and one person without it."
    addresses = {folded(part.strip("<>")) for part in name.split() if "@" in part}
    return f"has {len(addresses)} addresses. Write each on a line of its own." if len(addresses) > 1 else ""


def _refusals(collection: Collection) -> dict[str, str]:
    """Key of a person who has an open invitation or is a member → why they are not invited, and the cure."""
    refusals = {}
    for invitation in collection.invitations.filter(UNUSED, expires_at__gt=timezone.now()):
        until = f"{invitation.expires_at:%-d %b %Y}"
        reason = f"is invited already, until {until}. Remove the line, or withdraw that invitation first."
        for key in _keys(invitation.name):
            refusals[key] = reason
    for member in collection.memberships.select_related("user"):
        reason = f"is a member already, as {member.role}. Remove the line; the member's page changes the role."
        # A member without full name or address adds the key "", which no visible name has.
        for name in (member.user.get_username(), member.user.get_full_name(), member.user.email):
            refusals[folded(name)] = reason
    return refusals


def _keys(name: str) -> list[str]:
    """What identifies a person, regardless of case: the whole name, and the addresses in it."""
    return [folded(name), *(folded(address) for address in ADDRESS.findall(name))]
