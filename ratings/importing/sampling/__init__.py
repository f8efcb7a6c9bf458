"""Queries from a log of searches: counted, drawn with known chances, and kept with them."""
