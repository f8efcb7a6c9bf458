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

    class Meta:
        ordering = ["-signed_in_at", "session_key"]

    @classmethod
    def get_session_store_class(cls):
        return import_module(settings.SESSION_ENGINE).SessionStore  # which is made of this model


class SuperuserByGroup(models.Model):
    """A superuser whom a group of the sign-in provider made, so that it is taken back with the group."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
