"""How much a test tries that tries much: a little each time, and far more with `--thorough`."""

import os

MORE = 20


def is_thorough() -> bool:
    """Whether the tests run with `--thorough`, of which conftest.py tells."""
    return "IDEALIST_THOROUGH" in os.environ


def examples(usual: int) -> int:
    """`usual`, or twenty times as many with `--thorough`."""
    return usual * MORE if is_thorough() else usual
