"""Passwords that are too easy to guess on this server, in addition to those that are weak everywhere."""

import hashlib
import io
import logging
import re
from bisect import bisect_left
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext

log = logging.getLogger(__name__)

SERVER_WORDS = {
    "idealist", "relevance", "rating", "ratings", "rater", "analyst", "admin", "superuser", "judgment", "ndcg",
}  # fmt: skip
FEW_LETTERS = 4  # fewer letters are too few for a password, and for a word of a host name


class NotOurWords:
    """A password validator that refuses passwords made of words of this server, such as rater-admin-2026!"""

    def validate(self, password: str, user: User | None = None) -> None:
        letters = "".join(re.findall("[a-z]", password.lower()))
        other_letters = re.sub("|".join(sorted(words(), key=len, reverse=True)), "", letters)
        if other_letters != letters and len(other_letters) < FEW_LETTERS:
            made_of_words = gettext("This password is made of names of this server or of roles. Choose another.")
            raise ValidationError(made_of_words)

    def get_help_text(self) -> str:
        return gettext("Your password cannot be made of names of this server or of roles.")


def words() -> set[str]:
    """The words, and the parts of the server's host names, in lower case."""
    parts = {part for host in settings.ALLOWED_HOSTS for part in re.findall("[a-z]+", host.lower())}
    return SERVER_WORDS | {part for part in parts if len(part) >= FEW_LETTERS}


class NotBreached:
    """A password validator that refuses passwords on the operator's list of breached ones, if there is a list."""

    def validate(self, password: str, user: User | None = None) -> None:
        path = settings.BREACHED_PASSWORDS
        digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
        try:
            if path and is_listed(path, digest.encode()):
                known = gettext("This password became known in a breach of another service. Choose another.")
                raise ValidationError(known)
        except OSError as error:
            log.error("IDEALIST_BREACHED_PASSWORDS: %s cannot be read: %s", path, error)
            unread = gettext("No password can be set now: the list of breached ones cannot be read.")
            raise ValidationError(unread) from error

    def get_help_text(self) -> str:
        return gettext("Your password cannot be one that became known in a breach.")


def is_listed(path: Path, digest: bytes) -> bool:
    """Whether a line of the file begins with this hash. The lines are sorted, so a binary search finds it.

    Lines differ in length, so the search is not over lines but over the positions of bytes in the file.
    """
    with path.open("rb") as file:

        def hash_from(position: int) -> bytes:
            """The hash of the first line that begins at this byte or after it; after the last line, b"~"."""
            # `readline` skips the rest of the line that has the byte before the position. If a line begins at the
            # position, that rest is a line end alone. At 0 there is nothing to skip.
            file.seek(max(position - 1, 0))
            if position:
                file.readline()
            return file.readline()[: len(digest)].upper() or b"~"  # which sorts after every hash

        size = file.seek(0, io.SEEK_END)
        # The first position whose hash is not below `digest`: if the file has `digest`, it is read from there.
        position = bisect_left(range(size), digest, key=hash_from)
        return hash_from(position) == digest
