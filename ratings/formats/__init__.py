"""Text <-> rows, one file a format. Pure: no database, no request.

Every reader takes a Source and yields rows that carry their line number, or a Refusal in place of a row.
"""
