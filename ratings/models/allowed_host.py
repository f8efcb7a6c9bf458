"""The hosts that requests may go to: those of the operator's setting, and those that superusers allow on pages."""

import re
from urllib.parse import urlsplit

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models

from .constraints import known_value

# The last label begins with a letter, so that no address of IPv4, and none of IPv6, is a name. An address or a
# network could open private ones, which only the operator may do.
NAME = r"([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?(:[1-9][0-9]{0,4})?"


def host_in(address: str) -> str:
    """The host of a web address, with its port where it has one."""
    return urlsplit(address).netloc.rpartition("@")[2]


def is_public_name(host: str) -> bool:
    """Whether a superuser may allow this host, with or without a port: whether it is a name, and no address."""
    return re.fullmatch(NAME, host.lower()) is not None


class AllowedHost(models.Model):
    """A host that a superuser allowed for one purpose. Requests go only to public addresses of it."""

    class Purpose(models.TextChoices):
        PICTURES = "pictures", "pictures"
        ENGINES = "engines", "search engines"
        WEBHOOKS = "webhooks", "webhooks"

    host = models.CharField(
        max_length=255,
        validators=[
            RegexValidator(
                rf"\A{NAME}\Z",
                "Write the name of a public host, such as images.example.org or es.example.org:9243.",
            )
        ],
        help_text="Its name in small letters; with a port, for that port alone.",
    )
    purpose = models.CharField(max_length=8, choices=Purpose.choices)
    allowed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    allowed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["host"]
        constraints = [
            models.UniqueConstraint(fields=["purpose", "host"], name="one_allowed_host_per_purpose"),
            known_value("purpose", ["pictures", "engines", "webhooks"], "purpose_of_host_is_known"),
        ]

    def __str__(self) -> str:
        return self.host


def hosts_allowed_for(purpose: str) -> list[str]:
    """The names, addresses and networks of the operator's setting, and the names of superusers. One query."""
    names = AllowedHost.objects.filter(purpose=purpose).values_list("host", flat=True)
    return list(dict.fromkeys([*settings.PULL_HOSTS, *names]))
