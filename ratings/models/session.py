"""Sessions of signed-in browsers."""

from importlib import import_module

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models


class Session(AbstractBaseSession):
    """Django's session with its owner, so that people can see and end their own."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="sessions")
    signed_in_at = models.DateTimeField(null=True)
    browser = models.CharField(max_length=60, default="")
    # Digests of names at the provider through which it was opened, so that the provider can end it.
    provider_person = models.CharField(max_length=64, default="")
    provider_session = models.CharField(max_length=64, default="")

    class Meta:
        ordering = ["-signed_in_at", "session_key"]
        indexes = [
            models.Index(
                fields=[name], condition=~models.Q((name, "")), name=f"session_by_{name.partition('_')[2]}"
            )
            for name in ("provider_person", "provider_session")
        ]

    @classmethod
    def get_session_store_class(cls):
        return import_module(settings.SESSION_ENGINE).SessionStore  # it uses this model


class AccountLanguage(models.Model):
    """The language that a person chose for pages and mail."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="language"
    )
    code = models.CharField(max_length=10)


class SuperuserByGroup(models.Model):
    """A superuser by a group of the sign-in provider. The right is taken back with the group."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
