"""What must not stand in a log."""

import logging
import re

KEYS = re.compile(r"(/join/)[\w-]+")


class WithoutKeys(logging.Formatter):
    """Lines without the keys of invitations: whoever reads a log could join with one that is not used yet."""

    def format(self, record: logging.LogRecord) -> str:
        return KEYS.sub(r"\1…", super().format(record))
