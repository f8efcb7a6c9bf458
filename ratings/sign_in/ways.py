"""The module for the protocol of the provider in the settings."""

from types import ModuleType

from django.conf import settings

from . import oidc, saml


def provider_module() -> ModuleType | None:
    """The module, which has an `ID`, `address_to_sign_in` and `address_to_sign_out`; None without a provider."""
    return saml if settings.SAML else oidc if settings.OIDC else None
