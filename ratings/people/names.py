"""Names of accounts, which of them look like one person's, and pseudonyms."""

import unicodedata

from django.contrib.auth import get_user_model
from django.utils.crypto import salted_hmac


def stored(name: str) -> str:
    """The name as accounts store it, where no two have the same."""
    return unicodedata.normalize("NFKC", name).strip()


def folded(name: str) -> str:
    """The name regardless of case, as in Unicode: Anna and anna look like one person, and so do Änna and änna."""
    return stored(name).casefold()


def is_taken(name: str) -> bool:
    """Whether an account has this name or one that is the same when folded.

    SQLite ignores case of ASCII alone and PostgreSQL does as its locale says, so the names are compared here.
    """
    names = get_user_model().objects.values_list("username", flat=True)
    return folded(name) in {folded(each) for each in names.iterator()}


def pseudonym(pk: int) -> str:
    """A pseudonym of a rater for pages without names: a keyed hash, always the same."""
    return f"rater {salted_hmac('evaluation.agreement', str(pk)).hexdigest()[:6]}"
