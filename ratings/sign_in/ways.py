"""Which protocol the provider of the settings speaks."""

from types import ModuleType

from django.conf import settings

from . import oidc, saml


def offered() -> ModuleType | None:
    """The module that speaks it: both have an `ID`, `address_to_sign_in` and `address_to_sign_out`."""
    return saml if settings.SAML else oidc if settings.OIDC else None
