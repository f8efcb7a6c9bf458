"""Who somebody is, as a provider says it: what OpenID Connect and SAML have in common."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any


class Refused(Exception):
    """The provider's answer does not hold."""


class Away(Exception):
    """The provider does not answer, or not as a provider does."""


@dataclass(frozen=True, kw_only=True)
class Person:
    """What the provider says of a person, and where they wanted to go."""

    provider: str  # "oidc" or "saml"
    issuer: str
    subject: str
    name: str  # that the provider suggests
    address: str  # that the provider has verified, or ""
    groups: frozenset[str]
    second_factor: bool = False  # whether the provider says that it asked for one
    session: str = ""  # the name of the session there
    signs_out_as: str = ""  # the person's name in a sign-out, where it is not the subject
    hint: Any = None  # what the provider wants to hear at a sign-out here
    next: str = ""

    @property
    def uid(self) -> str:
        """Unique among all providers: the same subject of another issuer is another person."""
        return digest(self.issuer, self.subject)

    @property
    def to_sign_out(self) -> tuple[str, str, str, Any]:
        """What a session keeps, so that the provider can end it, and that it ends there, too."""
        session = self.session and digest(self.issuer, self.session)
        return digest(self.issuer, self.signs_out_as or self.subject), session, self.provider, self.hint


def digest(issuer: str, name: str) -> str:
    """64 characters for a name that an issuer gave: of a person, or of a session."""
    return hashlib.sha256(json.dumps([issuer, name]).encode()).hexdigest()
