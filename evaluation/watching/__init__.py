"""Watches: a search is asked night after night, scored, and compared with baselines by a test of all nights."""
