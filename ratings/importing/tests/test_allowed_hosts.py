"""Hosts that superusers allow on pages: names of public hosts alone, each for one purpose."""

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from ratings.importing.pull import allowing, checked_place
from ratings.models import AllowedHost, AuditEvent, hosts_allowed_for
from ratings.tests.cast import make_collection

pytestmark = pytest.mark.django_db
Purpose = AllowedHost.Purpose


def test_a_purpose_has_the_hosts_of_the_setting_and_its_own(settings, admin_user):
    settings.PULL_HOSTS = ["cdn.example.org", "10.0.0.0/8"]
    allowing.allow(" Images.Example.org. ", Purpose.PICTURES, admin_user)
    allowing.allow("cdn.example.org", Purpose.PICTURES, admin_user)
    allowing.allow("es.example.org:9243", Purpose.ENGINES, admin_user)
    assert hosts_allowed_for(Purpose.PICTURES) == ["cdn.example.org", "10.0.0.0/8", "images.example.org"]
    assert hosts_allowed_for(Purpose.ENGINES) == ["cdn.example.org", "10.0.0.0/8", "es.example.org:9243"]


def test_each_allowance_and_its_end_are_in_the_audit(admin_client, admin_user):
    make_collection()
    allowed = allowing.allow("a.example.org", Purpose.PICTURES, admin_user)
    allowing.allow("a.example.org", Purpose.PICTURES, admin_user)
    admin_client.post(reverse("end_picture_host", args=["hills", allowed.pk]))
    rows = AuditEvent.objects.order_by("pk").values_list("act", "about", "detail")
    assert list(rows) == [
        ("host.allowed", "a.example.org", {"purpose": "pictures"}),
        ("host.ended", "a.example.org", {"purpose": "pictures"}),
    ]
    assert not AllowedHost.objects.exists()


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1",
        "10.0.0.0/8",
        "127.1",
        "[::1]:80",
        "fe80::1",
        "0x7f.0x1",
        "localhost",
        "a.example.org:0",
        "a b.org",
        "",
    ],
)
def test_what_could_be_a_private_address_is_no_name_of_a_host(host, admin_user):
    with pytest.raises(ValidationError):
        allowing.allow(host, Purpose.PICTURES, admin_user)
    assert not AllowedHost.objects.exists()


def test_a_name_at_a_private_address_is_not_asked(settings, monkeypatch, admin_user):
    allowing.allow("inside.example.org", Purpose.PICTURES, admin_user)
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(0, 0, 0, "", ("10.0.0.7", 443))])
    with pytest.raises(ValueError, match="no public address"):
        checked_place("https://inside.example.org/1.png", hosts_allowed_for(Purpose.PICTURES))
