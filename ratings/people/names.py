"""Names of accounts and of people, which of them look like one person's, and pseudonyms."""

import re
import unicodedata

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.utils.crypto import salted_hmac


def stored(name: str) -> str:
    """The name as accounts store it, where no two have the same."""
    return unicodedata.normalize("NFKC", name).strip()


def folded(name: str) -> str:
    """The name regardless of case, as in Unicode: Anna and anna look like one person, and so do Änna and änna.

    Several blanks look like one.
    """
    return " ".join(stored(name).casefold().split())


def is_taken(name: str) -> bool:
    """Whether an account has this name or one that is the same when folded.

    SQLite ignores case of ASCII alone and PostgreSQL does as its locale says, so the names are compared here.
    """
    names = get_user_model().objects.values_list("username", flat=True)
    return folded(name) in {folded(each) for each in names.iterator()}


def shown(user: User) -> str:
    """The name by which others know the person: their own if they gave it, or else that of the account."""
    return user.get_full_name() or user.get_username()


def of_invited(written: str) -> str:
    """The name of a person in a line of a list, which may have an address: “Frida Kahlo <f@example.org>”."""
    return " ".join(part for part in written.split() if "@" not in part)


def proposed(written: str) -> str:
    """The username proposed for a line of a list: frida.kahlo, or what stands before the @ of an address."""
    words = of_invited(written) or re.sub(r"[<>]|@.*", "", written)
    return ".".join(re.findall(r"[\w+-]+", stored(words).lower()))


def pseudonym(pk: int) -> str:
    """A pseudonym of a rater for pages without names: a keyed hash, always the same."""
    return f"rater {salted_hmac('evaluation.agreement', str(pk)).hexdigest()[:6]}"
