"""Text <-> rows, one file a format. Pure: no database, no request.

Every reader takes a Source and yields rows (rows.py) that carry their line number, or a Refusal in place of a row.
known.py lists the formats.
"""
