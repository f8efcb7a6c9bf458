"""Dates in Arabic."""

DATE_FORMAT = "j F Y"
DATETIME_FORMAT = "j F Y، H:i"
