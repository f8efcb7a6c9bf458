"""Passwords that are too easy to guess on this server, in addition to those that are weak everywhere."""

import re

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError

WORDS = {
    "idealist",
    "relevance",
    "rating",
    "ratings",
    "rater",
    "analyst",
    "admin",
    "superuser",
    "judgment",
    "ndcg",
}
FEW = 4  # letters


class NotOurWords:
    """A password validator that refuses passwords made of words of this server, such as rater-admin-2026!"""

    def validate(self, password: str, user: AbstractBaseUser | None = None) -> None:
        letters = "".join(re.findall("[a-z]", password.lower()))
        rest = re.sub("|".join(sorted(words(), key=len, reverse=True)), "", letters)
        if rest != letters and len(rest) < FEW:
            raise ValidationError("This password is made of names of this server or of roles. Choose another.")

    def get_help_text(self) -> str:
        return "Your password cannot be made of names of this server or of roles."


def words() -> set[str]:
    """The words, and the parts of the server's host names, in lower case."""
    parts = {part for host in settings.ALLOWED_HOSTS for part in re.findall("[a-z]+", host.lower())}
    return WORDS | {part for part in parts if len(part) >= FEW}
