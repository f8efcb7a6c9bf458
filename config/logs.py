"""What must not stand in a log."""

import logging
import re

KEYS = re.compile(r"(/join/|idl_)[\w-]+")


class WithoutKeys(logging.Formatter):
    """Lines without keys of invitations and tokens: who reads a log could join with one, or act with the other."""

    def format(self, record: logging.LogRecord) -> str:
        return KEYS.sub(r"\1…", super().format(record))
