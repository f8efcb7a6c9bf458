"""Where a request comes from: behind so many proxies, whatever a client_address writes into the headers."""

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from config.proxies import Proxies, client_address

PEER = "10.0.0.1"  # who calls the server: the innermost proxy


@pytest.mark.parametrize(
    ("forwarded", "proxies", "found"),
    [
        ("", 0, PEER),
        ("192.0.2.1", 0, PEER),  # nobody who could be believed has written it
        ("192.0.2.1", 1, "192.0.2.1"),
        ("6.6.6.6, 192.0.2.1", 1, "192.0.2.1"),
        ("6.6.6.6,192.0.2.1 , 10.0.0.2", 2, "192.0.2.1"),
        ("10.0.0.2", 2, PEER),  # it came round the outer proxy
        ("", 1, PEER),
        ("192.0.2.1:4711", 1, "192.0.2.1"),
        ("[2001:db8::1]:4711", 1, "2001:db8::1"),
        ("[2001:db8::1]", 1, "2001:db8::1"),
        ("2001:db8::1", 1, "2001:db8::1"),
        ("2001:0DB8:0::1", 1, "2001:db8::1"),
        ("6.6.6.6, unknown", 1, PEER),
        ("6.6.6.6, ", 1, PEER),
        ("6.6.6.6, _hidden", 1, PEER),
        ("6.6.6.6, [", 1, PEER),
        ("6.6.6.6, 999.0.2.1:80", 1, PEER),
        ("6.6.6.6, 192.0.2.1:80:90", 1, PEER),
    ],
)
def test_the_visitor_is_who_called_the_outermost_proxy(forwarded, proxies, found):
    assert client_address(forwarded, PEER, proxies) == found


@given(written=st.text(max_size=60), proxies=st.integers(1, 3))
def test_what_a_visitor_writes_changes_nothing(written, proxies):
    added = ", ".join(["192.0.2.1:4711", "10.0.0.3", "10.0.0.2"][:proxies])
    assert client_address(f"{written},{added}", PEER, proxies) == "192.0.2.1"


def seen(**facts):
    """The request as the views see it."""
    kept = []
    Proxies(lambda request: kept.append(request) or HttpResponse())(RequestFactory().get("/", **facts))
    return kept[0]


@pytest.mark.parametrize(
    ("said", "proxies", "secure"),
    [
        ("https", 0, False),
        ("https", 1, True),
        ("http", 1, False),
        ("https, http", 1, False),  # the client_address wrote https, the proxy was called by http
        ("http, https", 1, True),
        ("https", 2, True),  # the inner proxy passes on what the outer one said
        ("http, https, http", 2, True),
        ("", 1, False),
    ],
)
def test_tls_is_what_the_outermost_proxy_says(settings, said, proxies, secure):
    settings.PROXIES, settings.SECURE_PROXY_SSL_HEADER = proxies, ("HTTP_X_FORWARDED_PROTO", "https")
    assert seen(HTTP_X_FORWARDED_PROTO=said).is_secure() is secure


def test_no_other_header_names_the_visitor_or_the_host(settings):
    settings.PROXIES = 1
    request = seen(
        REMOTE_ADDR=PEER,
        HTTP_FORWARDED="for=6.6.6.6;host=evil.example;proto=https",
        HTTP_X_REAL_IP="6.6.6.6",
        HTTP_X_FORWARDED_HOST="evil.example",
    )
    assert request.META["REMOTE_ADDR"] == PEER
    assert request.get_host() == "testserver"
    assert not request.is_secure()
