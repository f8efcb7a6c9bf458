"""Recovery codes: ten, shown once, of which the database has hashes alone.

allauth computes its codes from a seed, which anybody with the database and SECRET_KEY could do, too. These have
120 random bits, so that a plain hash is enough: nobody finds a code by trying.
"""

import base64
import hashlib
import secrets

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

NUMBER = 10
BYTES = 15  # 24 characters in Base32
HASHES = "hashes"  # the name in the data of a factor


def make_anew(user: AbstractBaseUser) -> list[str]:
    """New codes in place of all former ones, as people write them. `user` must have a row of codes."""
    codes = [base64.b32encode(secrets.token_bytes(BYTES)).decode() for _ in range(NUMBER)]
    # allauth takes no code of a row with this empty list, and needs no seed.
    data = {"migrated_codes": [], HASHES: [hashed(code) for code in codes]}
    Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).update(data=data)
    return ["-".join(code[at : at + 4] for at in range(0, len(code), 4)) for code in codes]


@transaction.atomic
def used(user: AbstractBaseUser, typed: str) -> Authenticator | None:
    """The row of the codes, without the code that was typed; None where it is none of them. A code works once."""
    rows = Authenticator.objects.select_for_update().filter(user=user, type=Authenticator.Type.RECOVERY_CODES)
    row, digest = rows.first(), hashed(typed)
    if row is None or digest not in row.data.get(HASHES, ()):
        return None
    row.data[HASHES].remove(digest)
    row.save(update_fields=["data"])
    return row


def left(user: AbstractBaseUser) -> int:
    """How many codes the person can still use. One database query."""
    row = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    return len(row.data.get(HASHES, ())) if row else 0


def hashed(code: str) -> str:
    """Hyphens, spaces and small letters change nothing."""
    return hashlib.sha256("".join(filter(str.isalnum, code)).upper().encode()).hexdigest()
