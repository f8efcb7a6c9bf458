"""Sign-in beside the password: a provider of OpenID Connect or SAML, roles by its groups, and second factors."""

from django.conf import settings


def provider() -> dict | None:
    """The settings of the provider at which people sign in, with its `name`; None if there is none."""
    return settings.OIDC or settings.SAML
