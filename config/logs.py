"""Log lines without secrets."""

import logging
import re

KEYS = re.compile(r"(/join/|idl_|look=)[\w-]+")


class WithoutKeys(logging.Formatter):
    """Removes the keys of invitations, tokens and the sample, which a reader of the log could use."""

    def format(self, record: logging.LogRecord) -> str:
        return KEYS.sub(r"\1…", super().format(record))
