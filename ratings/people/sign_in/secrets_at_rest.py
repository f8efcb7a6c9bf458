"""Encrypt the secrets of second factors for the database, by Fernet with a key derived from SECRET_KEY.

A person who has only the database, or a backup of it, cannot make codes.
"""

import base64
import hmac
import logging

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

log = logging.getLogger(__name__)

SECRET_NAMES = {"secret", "seed"}  # names in the data of a factor
ENCRYPTED_MARK = "fernet:"  # of an encrypted secret; those of former versions have none


class Unreadable(Exception):
    """The secret was encrypted with another SECRET_KEY."""


def encrypt(text: str) -> str:
    return ENCRYPTED_MARK + keys().encrypt(text.encode()).decode()


def decrypt(text: str) -> str:
    """The plain secret of a stored one. Raises Unreadable if it was encrypted with another SECRET_KEY."""
    if not text.startswith(ENCRYPTED_MARK):  # a former version stored it without encryption
        return text
    try:
        return keys().decrypt(text.removeprefix(ENCRYPTED_MARK).encode()).decode()
    except InvalidToken as error:
        log.error(
            "A second factor cannot be decrypted, because SECRET_KEY has changed. Name the former key in "
            "SECRET_KEY_FORMER, or remove the factor by the command remove_second_factor."
        )
        raise Unreadable from error


def is_readable(data: dict) -> bool:
    """Whether the secrets in the data of a factor can be decrypted with the present keys."""
    try:
        for name in SECRET_NAMES & data.keys():
            if data[name].startswith(ENCRYPTED_MARK):
                keys().decrypt(data[name].removeprefix(ENCRYPTED_MARK).encode())
    except InvalidToken:
        return False
    return True


def renew(data: dict) -> None:
    """Encrypt the secrets in the data of a factor with the current key, so that former keys become needless."""
    data.update({name: encrypt(decrypt(data[name])) for name in SECRET_NAMES & data.keys()})


def keys() -> MultiFernet:
    """The key of SECRET_KEY, which encrypts, and those of former ones, which only decrypt."""
    return MultiFernet(
        [Fernet(key_of(secret)) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]
    )


def key_of(secret: str) -> bytes:
    return base64.urlsafe_b64encode(hmac.digest(secret.encode(), b"idealist: second factors at rest", "sha256"))
