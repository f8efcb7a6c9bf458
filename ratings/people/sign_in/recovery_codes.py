"""Recovery codes. A person gets ten, which are shown once; the database has only their hashes.

allauth computes its codes from a seed, which anybody with the database and SECRET_KEY could do, too. These have
120 random bits, so that a simple hash suffices: nobody can find a code by trying.
"""

import base64
import hashlib
import secrets

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.db import transaction

CODES_PER_PERSON = 10
BYTES_PER_CODE = 15  # 24 characters in Base32
HASHES_KEY = "hashes"  # the name in the data of a factor


def renew(user: User) -> list[str]:
    """Replace all codes and return the new ones, as people write them. `user` must have a row of codes."""
    codes = [base64.b32encode(secrets.token_bytes(BYTES_PER_CODE)).decode() for _ in range(CODES_PER_PERSON)]
    # With this empty list allauth itself accepts no code of the row, and needs no seed.
    data = {"migrated_codes": [], HASHES_KEY: [hashed(code) for code in codes]}
    Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).update(data=data)
    return ["-".join(code[at : at + 4] for at in range(0, len(code), 4)) for code in codes]


@transaction.atomic
def use(user: User, typed: str) -> Authenticator | None:
    """Use up the typed code and return the row of codes; None if it is not one of them."""
    rows = Authenticator.objects.select_for_update().filter(user=user, type=Authenticator.Type.RECOVERY_CODES)
    row = rows.first()
    digest = hashed(typed)
    if row is None or digest not in row.data.get(HASHES_KEY, ()):
        return None
    row.data[HASHES_KEY].remove(digest)
    row.save(update_fields=["data"])
    return row


def remaining(user: User) -> int:
    """The number of codes that the person can still use. One database query."""
    row = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    return len(row.data.get(HASHES_KEY, ())) if row else 0


def hashed(code: str) -> str:
    """The hash of a code, for which hyphens, spaces and letter case do not matter."""
    return hashlib.sha256("".join(filter(str.isalnum, code)).upper().encode()).hexdigest()
