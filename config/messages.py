"""Storage of messages for the next page, in a cookie with the prefix of all other cookies."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.messages.storage.fallback import FallbackStorage
from django.contrib.messages.storage.session import SessionStorage


class Cookie(CookieStorage):
    cookie_name = settings.COOKIE_PREFIX + CookieStorage.cookie_name


class Messages(FallbackStorage):
    """Messages in a cookie, or in the session where they are too long, as by default in Django."""

    storage_classes = (Cookie, SessionStorage)
