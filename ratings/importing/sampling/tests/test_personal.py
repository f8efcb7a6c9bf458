"""Which queries look personal, and which do not."""

import time

import pytest

from ratings.formats import values
from ratings.importing.sampling.personal import CARD, EMAIL, NAME, PHONE, looks_personal


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("mail anna@example.org", EMAIL),
        ("anna.smith (at) example.org", EMAIL),
        ("4111 1111 1111 1111", CARD),
        ("visa 5500-0000-0000-0004 valid", CARD),
        ("+49 170 1234567", PHONE),
        ("call 0170/1234567", PHONE),
        ("(555) 123-4567", PHONE),
        ("0041 44 123 45 67", PHONE),
        ("anna müller 48213", NAME),
        ("Robert Miller member 123456", NAME),
    ],
)
def test_personal(text, what):
    assert looks_personal(text) == what


@pytest.mark.parametrize(
    "text",
    [
        "red shoes",
        "iphone 14 128gb",
        "4111 1111 1111 1112",  # the last digit is wrong
        "@home office chair",
        "din a4 210 x 297",
        "james bond 1962",
        "anna 48213",
        "lego 42100",
        "resistor 0.47 ohm",
        "2024-12-24",
        "9783161484101",
        "1000000 euro",
    ],
)
def test_not_personal(text):
    assert looks_personal(text) == ""


@pytest.mark.parametrize("piece", ["a", "a(at)", "a(at)b.", "+", "(0", "0", "1234 ", "a@", "a@b."])
def test_the_longest_query_takes_no_time(piece):
    """20,000 letters took 11 seconds of the worker, and a log can have many such lines."""
    text = (piece * values.QUERY_TEXT_LENGTH)[: values.QUERY_TEXT_LENGTH]
    begun = time.process_time()
    looks_personal(text)
    assert time.process_time() - begun < 1
