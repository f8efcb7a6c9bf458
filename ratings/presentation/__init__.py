"""How documents and queries are shown: an ordered list of parts, in versions like the guidelines."""
