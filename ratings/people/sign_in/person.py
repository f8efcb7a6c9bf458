"""A person as the provider describes them, by OpenID Connect."""

import hashlib
import json
from dataclasses import dataclass


class Refused(Exception):
    """The provider's answer is not valid."""


class Cancelled(Refused):
    """The person cancelled at the provider, or may not use this server. Providers have one error for both."""


class Away(Exception):
    """The provider does not answer, or its answer is none of a provider."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """What the provider says of a person, and the page to which they wanted to go."""

    issuer: str
    subject: str
    name: str  # suggested by the provider
    address: str  # verified by the provider, or ""
    groups: frozenset[str]
    second_factor: bool = False  # whether the provider says that it asked for one
    fresh: bool = False  # whether they showed it just now who they are
    session: str = ""  # the name of the session at the provider
    id_token: str = ""  # which the provider is sent when the person signs out here
    next: str = ""  # the address of the page to which they wanted to go

    @property
    def uid(self) -> str:
        """An id that is unique among all providers: the same subject of another issuer is another person."""
        return digest(self.issuer, self.subject)

    @property
    def to_sign_out(self) -> tuple[str, str, str]:
        """What a session keeps for sign-outs: (digest of the person, digest of their session or "", ID token).

        By the digests a sign-out at the provider finds the sessions to end here. A sign-out here sends the ID
        token to the provider.
        """
        session = self.session and digest(self.issuer, self.session)
        return digest(self.issuer, self.subject), session, self.id_token


def digest(issuer: str, name: str) -> str:
    """64 characters that stand for the name of a person or a session at an issuer."""
    return hashlib.sha256(json.dumps([issuer, name]).encode()).hexdigest()
