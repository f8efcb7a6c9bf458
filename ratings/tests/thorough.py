"""How much a test tries that tries much: a little each time, and far more with `--thorough`."""

import os

MORE = 20


def examples(usual: int) -> int:
    """`usual`, or twenty times as many with `--thorough`, of which conftest.py tells."""
    return usual * MORE if "IDEALIST_THOROUGH" in os.environ else usual
