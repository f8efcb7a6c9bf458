"""Log lines without secrets."""

import logging
import re
import unicodedata

KEYS = re.compile(r"(/join/|idl_|look=)[\w-]+")


class WithoutKeys(logging.Formatter):
    """Removes the keys of invitations, tokens and the sample, which a reader of the log could use.

    A message is one line: what came from outside can make no line that looks like another's. Below it stands the
    traceback, if there is one.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return "".join(map(escaped, super().formatMessage(record)))

    def format(self, record: logging.LogRecord) -> str:
        return KEYS.sub(r"\1…", super().format(record))


def escaped(sign: str) -> str:
    r"""The sign; one that ends a line or steers a terminal as \n or \x1b."""
    steers = unicodedata.category(sign) in {"Cc", "Zl", "Zp"}
    return sign.encode("unicode_escape").decode() if steers else sign
