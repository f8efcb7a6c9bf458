"""Formats: text <-> rows, one module a format, without a database or a request.

A reader takes a Source and yields rows (rows.py) with their line numbers, and a Refusal in place of a wrong row.
registry.py lists the formats.
"""
