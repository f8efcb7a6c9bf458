"""Log lines without secrets."""

import logging
import re

KEYS = re.compile(r"(/join/|/accounts/link/|/accounts/forgotten/\w+/|idl_|look=|[?&]code=)[\w~.%-]+")


class WithoutKeys(logging.Formatter):
    """Removes the keys of invitations, links, tokens and the sample, and codes, which a reader could use."""

    def format(self, record: logging.LogRecord) -> str:
        return KEYS.sub(r"\1…", super().format(record))
